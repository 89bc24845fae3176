//! Conditions of operations: an idempotency key, and the expected head.

use milepost_codec::{
    Detail, Error, ErrorKind, Head, LineageId, LogId, Offset, Result, TEXT_MAX, TaskNo, check_size,
};

/// Conditions of a checkpoint ([`Mark::conditions`](crate::Mark::conditions)), of a restore, an
/// undo, a switch or a redo ([`Restore::conditions`](crate::Restore::conditions)), of a branch
/// ([`Branch::conditions`](crate::restore::Branch::conditions)), and of an append
/// ([`Append::conditions`](crate::Append::conditions)).
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
