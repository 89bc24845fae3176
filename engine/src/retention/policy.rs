//! What is to be kept.

use std::time::Duration;

use serde::Serialize;

/// Checkpoints that are kept where nothing else is said.
const KEEP: usize = 10;

/// Restores that can be undone behind a cleanup, where nothing else is said.
const UNDO: u32 = 3;

/// Which checkpoints are kept, of which tasks.
///
/// ```
/// use std::time::Duration;
/// use milepost::Retention;
///
/// // Of each of ana's tasks the newest 5, and whatever is of the last day.
/// let policy = Retention::new().keep(5).younger_than(Duration::from_secs(86_400)).user("ana");
/// # let _ = policy;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Retention {
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

/// Which tasks a policy is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Scope {
    #[default]
    All,
    User(String),
    Task(String),
}

impl Default for Retention {
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

impl Retention {
    /// The newest 10 checkpoints of every task.
    pub fn new() -> Self {
        Self::default()
    }

    /// The newest so many of each task.
    #[must_use]
    pub fn keep(mut self, checkpoints: usize) -> Self {
        self.keep = Some(checkpoints);
        self
    }

    /// Those that are younger, in whole seconds, by the engine's clock; and the newest, where
    /// [`Retention::keep`] says how many.
    #[must_use]
    pub fn younger_than(mut self, age: Duration) -> Self {
        self.younger_than = Some(age.as_secs());
        self
    }

    /// How many of the last restores can still be undone. Default: 3.
    #[must_use]
    pub fn undo(mut self, restores: u32) -> Self {
        self.undo = restores;
        self
    }

    /// Removes marks and keeps all events. Default: events go that nothing needs.
    #[must_use]
    pub fn marks_only(mut self, marks_only: bool) -> Self {
        self.marks_only = marks_only;
        self
    }

    /// Keeps every lineage, also one that no kept checkpoint and no undo needs. Default: those go.
    #[must_use]
    pub fn keep_lineages(mut self, keep: bool) -> Self {
        self.keep_lineages = keep;
        self
    }

    /// Only the tasks of this user.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.scope = Scope::User(user.into());
        self
    }

    /// Only this task, whatever was said of a user.
    #[must_use]
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.scope = Scope::Task(task.into());
        self
    }

    /// How many of the newest are kept.
    pub(super) fn newest(&self) -> usize {
        match (self.keep, self.younger_than) {
            (Some(keep), _) => keep,
            (None, Some(_)) => 0,
            (None, None) => KEEP,
        }
    }
}
