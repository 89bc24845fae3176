//! Restores of more than the log. While one is pending, nothing is appended to the lineages of its
//! task. Each participant finds its own changes outside the log again.

use milepost_codec::{
    BodyForm, Control, Data, Detail, Error, ErrorKind, LogId, Offset, RestoreBegun, RestoreEnded,
    RestoreId, RestorePart, Result, TaskNo, printable,
};
use milepost_store::index::PendingEntry;
use milepost_store::index::keys::{self, KeyKind};

use super::events::Cursor;
use crate::history::catalog::Catalog;

/// A restore that began and has not ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PendingRestore {
    /// The task.
    pub task: String,
    /// Start time, in microseconds since the Unix epoch.
    pub since_us: u64,
    /// The recorded beginning of the restore.
    pub begun: RestoreBegun,
    pub(crate) no: TaskNo,
}

/// A restore of more than the log, and its end.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RestoreRecord {
    /// Start time, in microseconds since the Unix epoch.
    pub since_us: u64,
    /// The recorded beginning of the restore.
    pub begun: RestoreBegun,
    /// The recorded end; `None` while the restore is pending.
    pub ended: Option<RestoreEnded>,
}

impl Catalog {
    /// Returns the restores that began and have not ended.
    pub(crate) fn pending_restores(&self) -> Result<Vec<PendingRestore>> {
        let mut found = Vec::new();
        self.log().walk(&keys::all(KeyKind::Pending), &mut |key, value| {
            found.push((TaskNo(keys::first_u64(key)), PendingEntry::decode(value)?));
            Ok(())
        })?;
        let pending = |(no, entry)| self.pending_restore(no, &entry);
        found.into_iter().map(pending).collect()
    }

    /// Returns the restores of a task that restored more than the log, oldest first.
    pub(crate) fn restores_of(&self, task: TaskNo) -> Result<Vec<RestoreRecord>> {
        let log = LogId::control(task);
        let mut cursor = Cursor::new(self.log(), log, 0);
        let mut all: Vec<RestoreRecord> = Vec::new();
        while cursor
            .next_record(|_, record| {
                let header = record.header()?;
                if record.form != BodyForm::Inline {
                    return Ok(());
                }
                match Control::decode(header.kind, record.payload)? {
                    Control::RestoreBegun(begun) => {
                        all.push(RestoreRecord { since_us: header.time_us, begun, ended: None })
                    }
                    Control::RestoreEnded(ended) => {
                        let same = |past: &&mut RestoreRecord| past.begun.restore == ended.restore;
                        if let Some(past) = all.iter_mut().rev().find(same) {
                            past.ended = Some(ended);
                        }
                    }
                    _ => {}
                }
                Ok(())
            })?
            .is_some()
        {}
        Ok(all)
    }
}

/// Returns `true` for an error of the store, which a reopen may resolve; `false` for one of a
/// request or a single task, such as a pending restore of the task.
pub(crate) fn is_of_the_store(error: &Error) -> bool {
    let pending = matches!(error.detail(), Some(Detail::Pending { .. }));
    matches!(error.kind(), ErrorKind::Poisoned | ErrorKind::Unavailable) && !pending
}

impl Catalog {
    /// Returns the restore that blocks a task.
    pub(crate) fn pending(&self, task: TaskNo) -> Result<Option<PendingEntry>> {
        let entry = self.log().get(&keys::pending(task))?;
        entry.map(|bytes| PendingEntry::decode(&bytes)).transpose()
    }

    /// Checks that no restore blocks a task; the error is `Unavailable`.
    pub(crate) fn goes_on(&self, task: TaskNo) -> Result<()> {
        match self.pending(task)? {
            Some(entry) => Err(self.held_up_by(task, &entry)),
            None => Ok(()),
        }
    }

    /// Returns the error for an append to a blocked task.
    pub(crate) fn held_up_by(&self, task: TaskNo, entry: &PendingEntry) -> Error {
        let restore = entry.restore;
        let (name, place) = match self.pending_restore(task, entry) {
            Ok(pending) => (pending.task, places(&pending.begun)),
            Err(_) => (format!("#{}", task.0), "a place that cannot be read".to_owned()),
        };
        let message = format!(
            "task `{name}` is blocked by restore {restore} of {place}, which began and has not \
             ended: recover it, or open the store with what takes part in it"
        );
        Error::new(ErrorKind::Unavailable, message).with_detail(Detail::Pending {
            restore,
            task: name,
            since_us: entry.time_us,
            place,
        })
    }

    pub(crate) fn pending_restore(
        &self,
        task: TaskNo,
        entry: &PendingEntry,
    ) -> Result<PendingRestore> {
        let begun = self.restore_begun(task, entry.begun, entry.restore)?;
        Ok(PendingRestore { task: self.task(task)?.name, since_us: entry.time_us, begun, no: task })
    }

    fn restore_begun(
        &self,
        task: TaskNo,
        offset: Offset,
        restore: RestoreId,
    ) -> Result<RestoreBegun> {
        let log = LogId::control(task);
        let mut cursor = Cursor::new(self.log(), log, offset);
        let read = cursor
            .next_record(|_, record| Control::decode(record.header()?.kind, record.payload))?;
        match read {
            Some(Control::RestoreBegun(begun)) if begun.restore == restore => Ok(begun),
            _ => Err(Error::corrupt(
                format!("{log} at offset {offset}"),
                format!("the beginning of restore {restore}"),
                "something else",
            )),
        }
    }
}

/// Describes the places that a restore changes.
fn places(begun: &RestoreBegun) -> String {
    let part = |part: &RestorePart| match &part.place {
        Data::Json(place) => format!("{} {}", part.participant, place.text()),
        Data::Bytes(place) => format!("{} {}", part.participant, printable(place)),
    };
    let all: Vec<String> = begun.parts.iter().map(part).collect();
    all.join(", ")
}
