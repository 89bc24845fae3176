//! Conditions of what is done by a call that is no append: a key under which it is done once, and
//! the head that is expected.

use std::cell::RefCell;

use milepost_codec::{
    ActivationCause, Body, Control, Error, ErrorKind, Header, LineageId, LogId, Offset, Result,
    TEXT_MAX, TaskNo, check_size,
};
use milepost_store::index::{KeyEntry, keys};

use crate::history::catalog::Catalog;
use crate::history::checkpoint::PendingMark;
use crate::history::events::{Ancestry, Cursor, event};
use crate::history::point::Point;

thread_local! {
    static NOW: RefCell<Conditions> = const { RefCell::new(Conditions::NONE) };
}

/// Conditions of starts, checkpoints, restores and undos, for all that a thread does.
///
/// A key is kept by the event that does it, as the key of an append is: asked again with the same
/// key, a start gives the task that was started, a checkpoint the one that was marked, a restore
/// the lineage that it opened and an undo the lineage that it went back to, and nothing is done
/// twice. The same key for something else is `Conflict`. What a deletion, or retention, took away
/// is not known any more.
///
/// ```
/// use milepost::{Conditions, Engine, Mark, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("essay", "ana")?;
/// let once = || Conditions::new().key("request-17");
/// let marked = once().during(|| task.checkpoint(Mark::new().label("draft")))?;
/// let again = once().during(|| task.checkpoint(Mark::new().label("draft")))?;
/// assert_eq!((marked.id, task.checkpoints()?), (again.id, 1));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    key: Option<String>,
    expect: Option<Offset>,
}

impl Conditions {
    const NONE: Self = Self { key: None, expect: None };

    /// No conditions.
    pub fn new() -> Self {
        Self::NONE
    }

    /// CommitResult once under this key, 1 to 1,024 bytes.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Only if the head of the lineage that is marked, or that the task goes on with, is there
    /// still; else `Conflict` with the actual head. A start has none.
    #[must_use]
    pub fn expect_head(mut self, head: Offset) -> Self {
        self.expect = Some(head);
        self
    }

    /// Does `work` under these conditions.
    pub fn during<T>(self, work: impl FnOnce() -> T) -> T {
        let _back = Back(NOW.replace(self));
        work()
    }
}

/// Puts back what it was before, also behind a panic.
struct Back(Conditions);

impl Drop for Back {
    fn drop(&mut self) {
        NOW.set(std::mem::take(&mut self.0));
    }
}

/// The key that is said, where one is.
pub(crate) fn key() -> Result<Option<String>> {
    let key = NOW.with_borrow(|now| now.key.clone());
    if let Some(key) = &key {
        check_size("a key", key.len(), TEXT_MAX)?;
        if key.is_empty() {
            return Err(Error::invalid("a key has at least one byte"));
        }
    }
    Ok(key)
}

/// The head that is expected.
pub(crate) fn expected() -> Option<Offset> {
    NOW.with_borrow(|now| now.expect)
}

/// The key as a condition of a commit: a log that has the expected head still.
pub(crate) fn heads(task: TaskNo, lineage: LineageId) -> Vec<(LogId, Offset)> {
    let head = expected().map(|head| (LogId::lineage(task, lineage), head));
    head.into_iter().collect()
}

/// A header with the key, where the event is one that does what is asked for.
pub(crate) fn on_body(body: &Body, mut header: Header) -> Result<Header> {
    let does = match body {
        Body::LineageOpened(opened) => opened.parent.is_none(),
        Body::Restored(_) => true,
        _ => false,
    };
    if does {
        header.key = key()?;
        header.batch = u32::from(header.key.is_some());
    }
    Ok(header)
}

/// The same of an event of a control log.
pub(crate) fn on_control(control: &Control, mut header: Header) -> Result<Header> {
    if matches!(control, Control::Activated(to) if to.cause == ActivationCause::Undone) {
        header.key = key()?;
        header.batch = u32::from(header.key.is_some());
    }
    Ok(header)
}

fn used_otherwise(key: &str, at: impl std::fmt::Display) -> Error {
    let text = format!("the key `{key}` was used for something else, {at}");
    Error::new(ErrorKind::Conflict, text)
}

impl Catalog {
    /// Returns `true` where a task was started by an event with this key and this initial state.
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

    /// The lineage that a restore under a key opened to go back to a point; `Conflict` where it
    /// went back elsewhere.
    pub(crate) fn restored_under(&self, key: &str, to: &Point) -> Result<Option<LineageId>> {
        let prefix = keys::uses_of_key(to.no, key);
        let end = keys::after_prefix(&prefix);
        for (name, value) in self.log().scan(&prefix, &end, true, usize::MAX)? {
            let (lineage, entry) = (keys::tail_lineage(&name), KeyEntry::decode(&value)?);
            let found = self.event_of_key(to.no, lineage, entry.first, key)?;
            let Some(Body::Restored(restored)) = found else {
                continue;
            };
            // The same point may be named on a lineage that goes on from it.
            let owner = |lineage, offset| -> Result<_> {
                Ok(Ancestry::of(self, to.no, lineage)?.hash_owner(offset))
            };
            let went = (restored.offset, restored.checkpoint);
            let same = went == (to.offset, to.checkpoint)
                && owner(restored.lineage, restored.offset)? == owner(to.lineage, to.offset)?;
            if !same {
                let at = format!("a restore to @{} of lineage {}", went.0, restored.lineage);
                return Err(used_otherwise(key, at));
            }
            return Ok(Some(lineage));
        }
        Ok(None)
    }

    /// The lineage that an undo under a key went back to.
    pub(crate) fn undone_under(&self, task: TaskNo, key: &str) -> Result<Option<LineageId>> {
        let mut found = None;
        let mut cursor = Cursor::new(self.log(), LogId::control(task), 0);
        while let Some(()) = cursor.next_record(|_, record| {
            let header = record.header()?;
            if header.key.as_deref() == Some(key)
                && let Control::Activated(to) = Control::decode(header.kind, record.payload)?
            {
                found = Some(to.lineage);
            }
            Ok(())
        })? {}
        Ok(found)
    }

    /// The offset of the mark that was made under a key, on a lineage or its ancestors before the
    /// forks; `Conflict` where the key was used for something else.
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
        // Alone, or behind what was captured for it.
        let places = [used.first, used.end()].into_iter();
        for at in places.filter(|at| *at < used.to) {
            if used.trimmed.is_none() && self.marked_behind(task, used.owner, at, draft)? {
                return Ok(Some((used.owner, at)));
            }
        }
        let at = format!("at offset {} of lineage {}", used.first, used.owner);
        Err(used_otherwise(key, at))
    }

    /// What an event says that has this key.
    fn event_of_key(
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
