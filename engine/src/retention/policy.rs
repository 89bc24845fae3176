//! Retention policies.

use std::time::Duration;

use serde::Serialize;

/// Default number of kept checkpoints.
const KEEP: usize = 10;

/// Default number of restores that can be undone after a cleanup.
const UNDO: u32 = 3;

/// A retention policy: the checkpoints to keep, and the tasks that it applies to.
///
/// ```
/// use std::time::Duration;
/// use milepost::retention::Policy;
///
/// // Of each of ana's tasks the newest 5, and whatever is of the last day.
/// let policy = Policy::new().keep(5).younger_than(Duration::from_secs(86_400)).user("ana");
/// # let _ = policy;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Policy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) keep: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "younger_than_seconds")]
    pub(super) younger_than: Option<u64>,
    pub(super) undo: u32,
    pub(super) marks_only: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) keep_lineages: bool,
    #[serde(skip)]
    pub(super) scope: Scope,
}

/// The tasks that a policy applies to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Scope {
    #[default]
    All,
    User(String),
    Task(String),
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            keep: None,
            younger_than: None,
            undo: UNDO,
            marks_only: false,
            keep_lineages: false,
            scope: Scope::All,
        }
    }
}

impl Policy {
    /// Creates a policy that keeps the newest 10 checkpoints of every task.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps this number of the newest checkpoints of each task.
    #[must_use]
    pub fn keep(mut self, checkpoints: usize) -> Self {
        self.keep = Some(checkpoints);
        self
    }

    /// Keeps checkpoints younger than `age`, in whole seconds by the engine's clock, and the newest
    /// ones if [`Policy::keep`] is set.
    #[must_use]
    pub fn younger_than(mut self, age: Duration) -> Self {
        self.younger_than = Some(age.as_secs());
        self
    }

    /// Sets the number of last restores that can still be undone. Default: 3.
    #[must_use]
    pub fn undo(mut self, restores: u32) -> Self {
        self.undo = restores;
        self
    }

    /// Removes marks and keeps all events. Default: unneeded events are removed.
    #[must_use]
    pub fn marks_only(mut self, marks_only: bool) -> Self {
        self.marks_only = marks_only;
        self
    }

    /// Keeps every lineage, even if no kept checkpoint and no undo needs it. Default: those are
    /// dropped.
    #[must_use]
    pub fn keep_lineages(mut self, keep: bool) -> Self {
        self.keep_lineages = keep;
        self
    }

    /// Applies the policy only to the tasks of this user.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.scope = Scope::User(user.into());
        self
    }

    /// Applies the policy only to this task, regardless of any user set before.
    #[must_use]
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.scope = Scope::Task(task.into());
        self
    }

    /// Returns the number of newest checkpoints to keep.
    pub(super) fn newest(&self) -> usize {
        match (self.keep, self.younger_than) {
            (Some(keep), _) => keep,
            (None, Some(_)) => 0,
            (None, None) => KEEP,
        }
    }
}
