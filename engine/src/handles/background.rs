//! The snapshotter, a background thread that makes due snapshots, and those that an index built
//! anew does not have. A failed snapshot is made again when the next one is due, since it is a
//! cache.

use std::collections::VecDeque;
use std::sync::Arc;

use milepost_codec::{LogId, LogKind, Offset, Result, Seq, TaskNo};
use milepost_replay::{Reducer, RunReducer};
use milepost_store::index::keys::{self, KeyKind};
use milepost_store::index::{LogHead, SnapshotNote, TaskEntry};
use milepost_store::metrics::Meters;
use milepost_store::sync::channel::Receiver;

use crate::commit::committer::{BackgroundJob, SnapshotDue};
use crate::history::catalog::Catalog;
use crate::history::events::Ancestry;
use crate::history::state::{DynReducer, is_usable};

/// Maximum number of queued jobs. A snapshot that finds no room is made when a fold is slow.
pub(crate) const JOBS: usize = 2048;

/// Number of queued jobs above which the thread no longer waits for a pause of the writers.
const HURRY: usize = 1024;

/// Maximum number of lineages whose missing snapshots are queued.
const MISSING_MAX: usize = 1 << 16;

/// The state of the thread.
pub(crate) struct Snapshotter<'a> {
    catalog: &'a Catalog,
    reducers: &'a [Arc<dyn DynReducer>],
    meters: &'a Meters,
    /// Lineages that may lack snapshots.
    missing: VecDeque<LogId>,
    /// The last missing snapshot that was made. The next one of its lineage is at a later offset,
    /// if any: offsets are estimates, so that the same place could be found again.
    tried: Option<(LogId, Offset)>,
    /// The last commit when the writers were found to pause.
    paused_at: Seq,
}

impl<'a> Snapshotter<'a> {
    pub(crate) fn new(
        catalog: &'a Catalog,
        reducers: &'a [Arc<dyn DynReducer>],
        meters: &'a Meters,
    ) -> Self {
        Self { catalog, reducers, meters, missing: VecDeque::new(), tried: None, paused_at: 0 }
    }

    /// Runs until the channel ends or has the job to stop.
    pub(crate) fn run(mut self, jobs: &Receiver<BackgroundJob>) {
        if self.catalog.log().opened().index_rebuilt {
            match self.lineages() {
                Ok(all) => self.missing = all,
                // A slow fold asks for the snapshots of its lineage.
                Err(error) => tracing::warn!("snapshots are not made again: {error}"),
            }
        }
        loop {
            let waiting = jobs.len();
            // Due snapshots come first, and a stop does not wait for missing ones.
            if let Some(log) = self.missing.front()
                && waiting == 0
            {
                let log = *log;
                if !self.make_missing(log).unwrap_or(false) {
                    self.missing.pop_front();
                }
                continue;
            }
            let Ok(job) = jobs.recv() else {
                return;
            };
            match job {
                BackgroundJob::Stop => return,
                BackgroundJob::Missing(log) => {
                    if self.missing.len() < MISSING_MAX && !self.missing.contains(&log) {
                        self.missing.push_back(log);
                    }
                }
                BackgroundJob::Snapshot(due) => {
                    self.settle(jobs);
                    self.make(due);
                }
            }
        }
    }

    /// Waits for a pause of the writers, unless many jobs are queued.
    fn settle(&mut self, jobs: &Receiver<BackgroundJob>) {
        let log = self.catalog.log();
        if self.paused_at != log.seq() {
            log.settle(&|| jobs.len() >= HURRY);
            self.paused_at = log.seq();
        }
    }

    /// Makes a snapshot by each reducer. Returns `true` if one was made.
    fn make(&self, due: SnapshotDue) -> bool {
        let mut any = false;
        for reducer in self.reducers {
            // A failure is ignored: states are then folded from an earlier snapshot.
            let made = reducer.snapshot(self.catalog, due.log, due.at, due.bytes);
            let made = made.unwrap_or(false);
            self.meters.snapshots.add(u64::from(made));
            any |= made;
        }
        any
    }

    /// Returns all lineages of all tasks.
    fn lineages(&self) -> Result<VecDeque<LogId>> {
        let mut all = VecDeque::new();
        self.catalog.log().walk(&keys::all(KeyKind::Task), &mut |key, value| {
            let task = TaskNo(keys::first_u64(key));
            if TaskEntry::decode(value)?.deleted_us.is_none() {
                let lineages = self.catalog.lineages(task)?.into_iter();
                all.extend(lineages.map(|(lineage, _)| LogId::lineage(task, lineage)));
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Makes the first snapshot that a lineage lacks. Returns `true` if it may lack more.
    fn make_missing(&mut self, log: LogId) -> Result<bool> {
        let Some((at, bytes)) = self.first_missing(log)? else {
            return Ok(false);
        };
        if self.tried.is_some_and(|(tried, before)| tried == log && at <= before) {
            self.tried = None;
            return Ok(false);
        }
        self.tried = Some((log, at));
        Ok(self.make(SnapshotDue { log, at, bytes }))
    }

    /// Finds the first place where the distance between two snapshots of a lineage is too long. Its
    /// offset is estimated, as if all events had the same size. Returns the offset and the
    /// lineage's own record bytes before it.
    fn first_missing(&self, log: LogId) -> Result<Option<(Offset, u64)>> {
        let catalog = self.catalog;
        let (LogKind::Lineage(lineage), Some(head)) = (log.kind, catalog.log().head(log)?) else {
            return Ok(None);
        };
        let prefix = keys::snapshots(log.task, lineage, RunReducer.name(), RunReducer.version());
        let end = keys::after_prefix(&prefix);
        let notes = catalog.log().scan(&prefix, &end, false, usize::MAX)?;
        let ancestry = Ancestry::of(catalog, log.task, lineage)?;
        let notes = notes.iter().map(|(_, note)| SnapshotNote::decode(note));
        let mut notes = notes.collect::<Result<Vec<_>>>()?;
        notes.retain(|note| is_usable(catalog, log.task, &ancestry, note));
        notes.sort_by_key(|note| note.log_bytes);
        let begin = ancestry.begin().max(head.start);
        let mut last = 0;
        // Trimmed events have no state, and the beginning of a log needs no snapshot.
        while offset_at(&head, last + catalog.snapshot_distance(log)).is_some_and(|at| at <= begin)
        {
            last += catalog.snapshot_distance(log);
        }
        for note in notes {
            if note.log_bytes > last + catalog.snapshot_distance(log) {
                break;
            }
            catalog.snapshot_made(log, note.size);
            last = last.max(note.log_bytes);
        }
        let due = last + catalog.snapshot_distance(log);
        Ok(offset_at(&head, due).filter(|at| *at > begin).map(|at| (at, due)))
    }
}

/// Estimates the offset at which a log has this many own record bytes; `None` past its head.
fn offset_at(head: &LogHead, bytes: u64) -> Option<Offset> {
    if bytes >= head.bytes {
        return None;
    }
    let events = head.head.next.saturating_sub(head.start);
    let before = u128::from(events) * u128::from(bytes) / u128::from(head.bytes);
    Some(head.start + u64::try_from(before).ok()?)
}

#[cfg(test)]
mod tests {
    use milepost_codec::{Hash, Head};

    use super::*;

    #[test]
    fn an_offset_is_estimated_by_bytes_and_never_past_the_head() {
        let head = Head { next: 110, hash: Hash::ZERO };
        let head = LogHead { head, bytes: 1000, start: 10 };
        assert_eq!(offset_at(&head, 500), Some(60));
        assert_eq!(offset_at(&head, 999), Some(109));
        assert_eq!(offset_at(&head, 1000), None);
        assert_eq!(offset_at(&head, 1), Some(10), "no event is before it");
        assert_eq!(offset_at(&head, u64::MAX), None);
    }
}
