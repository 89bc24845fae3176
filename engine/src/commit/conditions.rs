//! Conditions of operations other than appends: an idempotency key, and the expected head.

use milepost_codec::{
    Activated, ActivationCause, Body, Control, Detail, Error, ErrorKind, Head, LineageId,
    LineageOpened, LineageType, LogId, Offset, Result, Scope, TEXT_MAX, TaskNo, check_size,
};
use milepost_store::index::{KeyEntry, keys};

use crate::history::catalog::Catalog;
use crate::history::checkpoint::PendingMark;
use crate::history::events::{Ancestry, Cursor, event};
use crate::history::point::Point;

/// Conditions of a checkpoint ([`Mark::conditions`](crate::Mark::conditions)), of a restore, an
/// undo, a switch or a redo ([`Restore::conditions`](crate::Restore::conditions)), and of a branch
/// ([`BranchOptions`](crate::restore::BranchOptions)). An append has its own.
///
/// The event of the operation keeps the key, as with an append. If an operation is repeated with
/// the same key, nothing is done twice: a checkpoint is the one that was marked, a restore returns
/// the lineage that it opened, and an undo, a switch and a redo the lineage that it made active.
/// The same key for a different operation is a `Conflict`. Keys of events that were deleted or
/// removed by retention are forgotten.
///
/// ```
/// use milepost::calls::Conditions;
/// use milepost::{Engine, Mark, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("essay", "ana")?;
/// let once = Conditions::new().key("request-17");
/// let draft = Mark::new().label("draft").conditions(once);
/// let marked = task.checkpoint(draft.clone())?;
/// let again = task.checkpoint(draft)?;
/// assert_eq!((marked.id, task.checkpoints()?), (again.id, 1));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    key: Option<String>,
    expect: Option<Offset>,
}

impl Conditions {
    /// Creates an empty set of conditions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the idempotency key, 1 to 1,024 bytes.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Requires the lineage to be marked, or the active lineage, to have its head at `head`.
    /// Otherwise the operation fails with `Conflict` and the actual head.
    #[must_use]
    pub fn expect_head(mut self, head: Offset) -> Self {
        self.expect = Some(head);
        self
    }

    /// Returns the idempotency key, if there is one.
    pub fn key_given(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Returns the expected head, if there is one.
    pub fn expected(&self) -> Option<Offset> {
        self.expect
    }

    /// Returns the same expected head, without a key.
    pub(crate) fn without_key(&self) -> Self {
        Self { key: None, ..*self }
    }

    /// Returns the same key, without an expected head.
    pub(crate) fn without_head(&self) -> Self {
        Self { expect: None, ..self.clone() }
    }

    /// Returns the key, after a check of its length.
    pub(crate) fn checked_key(&self) -> Result<Option<&str>> {
        let key = self.key.as_deref();
        key.map_or(Ok(()), check_key).map(|()| key)
    }

    /// Returns the expected head as a condition of a commit to a lineage.
    pub(crate) fn heads(&self, task: TaskNo, lineage: LineageId) -> Vec<(LogId, Offset)> {
        let head = self.expect.map(|head| (LogId::lineage(task, lineage), head));
        head.into_iter().collect()
    }

    /// Checks the expected head where nothing is committed.
    pub(crate) fn check_head(&self, head: Head) -> Result<()> {
        match self.expect {
            Some(expected) if expected != head.next => {
                let text = format!("expected the head at {expected}, it is at {}", head.next);
                Err(Error::new(ErrorKind::Conflict, text).with_detail(Detail::Head(head)))
            }
            _ => Ok(()),
        }
    }
}

/// Checks the length of a key.
pub(crate) fn check_key(key: &str) -> Result<()> {
    check_size("a key", key.len(), TEXT_MAX)?;
    match key.is_empty() {
        true => Err(Error::invalid("a key has at least one byte")),
        false => Ok(()),
    }
}

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

    /// Returns the first event under a key that `take` takes. Those of dropped lineages are none.
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
