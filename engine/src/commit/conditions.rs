//! Earlier uses of the keys of operations other than appends.

use milepost_codec::{
    Activated, ActivationCause, Body, Control, Error, ErrorKind, LineageId, LineageOpened,
    LineageType, LogId, Offset, Result, Scope, TaskNo,
};
use milepost_store::index::{KeyEntry, keys};

use crate::history::catalog::Catalog;
use crate::history::checkpoint::PendingMark;
use crate::history::events::{Ancestry, Cursor, event};
use crate::history::point::Point;

/// Returns `true` if an operation keeps its key in this event: one that starts a task, branches it
/// or restores one.
pub(crate) fn keeps_key(body: &Body) -> bool {
    match body {
        Body::LineageOpened(opened) => {
            opened.parent.is_none() || opened.lineage_type == LineageType::Branch
        }
        Body::Restored(_) => true,
        _ => false,
    }
}

/// Returns `true` if an operation keeps its key in this control event: an undo, a switch or a redo.
pub(crate) fn control_keeps_key(control: &Control) -> bool {
    use ActivationCause::{Chosen, Undone};
    matches!(control, Control::Activated(to) if matches!(to.cause, Undone | Chosen))
}

pub(crate) fn used_otherwise(key: &str, at: impl std::fmt::Display) -> Error {
    let text = format!("the key `{key}` was used for something else, {at}");
    Error::new(ErrorKind::Conflict, text)
}

impl Catalog {
    /// Returns `true` if an event with this key and this initial state started the task.
    pub(crate) fn started_under(
        &self,
        task: TaskNo,
        key: &str,
        initial: Option<&milepost_codec::Json>,
    ) -> Result<bool> {
        let found = self.event_of_key(task, LineageId(0), 0, key)?;
        Ok(match found {
            Some(Body::LineageOpened(opened)) => opened.initial.as_ref() == initial,
            _ => false,
        })
    }

    /// Returns the lineage that a branch under a key opened, unless it was dropped.
    pub(crate) fn branched_under(
        &self,
        task: TaskNo,
        key: &str,
    ) -> Result<Option<(LineageId, LineageOpened)>> {
        self.find_under(task, key, |lineage, body| match body {
            Body::LineageOpened(opened) if opened.parent.is_some() => Ok(Some((lineage, opened))),
            _ => Ok(None),
        })
    }

    /// Returns the first event under a key that `take` accepts. Events of dropped lineages do not
    /// count.
    fn find_under<T>(
        &self,
        task: TaskNo,
        key: &str,
        take: impl Fn(LineageId, Body) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let prefix = keys::uses_of_key(task, key);
        let end = keys::after_prefix(&prefix);
        for (name, value) in self.log().scan(&prefix, &end, true, usize::MAX)? {
            let (lineage, entry) = (keys::tail_lineage(&name), KeyEntry::decode(&value)?);
            if self.lineage(task, lineage).is_ok()
                && let Some(body) = self.event_of_key(task, lineage, entry.first, key)?
                && let Some(taken) = take(lineage, body)?
            {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    /// Returns the lineage that a restore under a key opened, if it restored the same point. Fails
    /// with `Conflict` if it restored another one.
    pub(crate) fn restored_under(
        &self,
        key: &str,
        to: &Point,
        scope: Scope,
    ) -> Result<Option<LineageId>> {
        self.find_under(to.no, key, |lineage, body| {
            let Body::Restored(restored) = body else {
                return Ok(None);
            };
            // The same point may be named on a descendant lineage.
            let owner = |lineage, offset| -> Result<_> {
                Ok(Ancestry::of(self, to.no, lineage)?.hash_owner(offset))
            };
            let went = (restored.offset, restored.checkpoint);
            let same = went == (to.offset, to.checkpoint)
                && restored.scope == scope
                && owner(restored.lineage, restored.offset)? == owner(to.lineage, to.offset)?;
            if !same {
                let at = format!("a restore to @{} of lineage {}", went.0, restored.lineage);
                return Err(used_otherwise(key, at));
            }
            Ok(Some(lineage))
        })
    }

    /// Returns the activation by an undo under a key, or by a switch or redo under one.
    /// Fails with `Conflict` if the activation under the key has another cause.
    pub(crate) fn activated_under(
        &self,
        task: TaskNo,
        key: &str,
        cause: ActivationCause,
    ) -> Result<Option<Activated>> {
        let mut found = None;
        let mut cursor = Cursor::new(self.log(), LogId::control(task), 0);
        while let Some(()) = cursor.next_record(|_, record| {
            let header = record.header()?;
            if header.key.as_deref() == Some(key)
                && let Control::Activated(to) = Control::decode(header.kind, record.payload)?
            {
                found = Some(to);
            }
            Ok(())
        })? {}
        match found {
            Some(to) if to.cause != cause => {
                Err(used_otherwise(key, format!("activation {}", to.epoch)))
            }
            found => Ok(found),
        }
    }

    /// Returns the offset of the mark made under a key, on a lineage or its ancestors before the
    /// forks. Fails with `Conflict` if the key was used for something else.
    pub(crate) fn marked_under(
        &self,
        task: TaskNo,
        lineage: LineageId,
        key: &str,
        draft: &PendingMark,
    ) -> Result<Option<(LineageId, Offset)>> {
        let Some(used) = self.keyed(task, lineage, key)? else {
            return Ok(None);
        };
        // The mark is alone, or follows the captures made for it.
        let places = [used.first, used.end()].into_iter();
        for at in places.filter(|at| *at < used.to) {
            if used.trimmed.is_none() && self.marked_behind(task, used.owner, at, draft)? {
                return Ok(Some((used.owner, at)));
            }
        }
        let at = format!("at offset {} of lineage {}", used.first, used.owner);
        Err(used_otherwise(key, at))
    }

    /// Returns the body of an event that has this key.
    pub(crate) fn event_of_key(
        &self,
        task: TaskNo,
        lineage: LineageId,
        at: Offset,
        key: &str,
    ) -> Result<Option<Body>> {
        let log = LogId::lineage(task, lineage);
        if Ancestry::of(self, task, lineage)?.begin() > at {
            return Ok(None);
        }
        let mut cursor = Cursor::new(self.log(), log, at);
        let found = cursor.next_record(|_, record| {
            let header = record.header()?;
            if header.key.as_deref() != Some(key) {
                return Ok(None);
            }
            event(self.log(), lineage, at, record, false).map(|event| event.body)
        })?;
        Ok(found.flatten())
    }
}
