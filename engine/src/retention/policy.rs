//! Retention policies.

use std::collections::BTreeSet;
use std::time::Duration;

use milepost_codec::{CheckpointId, LineageId, Offset};
use serde::{Serialize, Serializer};

use crate::history::point::Point;

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
    /// The checkpoints that go. An event of the removal has their number only.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "number")]
    pub(super) remove: Option<BTreeSet<CheckpointId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trim_before: Option<Floor>,
    pub(super) undo: u32,
    pub(super) marks_only: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) keep_lineages: bool,
    #[serde(skip)]
    pub(super) scope: Scope,
}

/// A point of a task's history before which events are not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Floor {
    pub(super) lineage: LineageId,
    pub(super) offset: Offset,
}

#[expect(clippy::ref_option, reason = "serde calls it")]
fn number<S: Serializer>(ids: &Option<BTreeSet<CheckpointId>>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(ids.as_ref().map_or(0, BTreeSet::len) as u64)
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
            remove: None,
            trim_before: None,
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

    /// Removes these checkpoints of a task and no others, but for those that are pinned or that
    /// another rule of the policy keeps. One that the task does not have is ignored: another
    /// cleanup may have removed it. A checkpoint that is marked while the caller chooses stays.
    ///
    /// ```
    /// use milepost::retention::Policy;
    /// use milepost::{Engine, Mark, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("essay", "ana")?;
    /// let marks = (0..3).map(|_| task.checkpoint(Mark::new()));
    /// let marks = marks.collect::<Result<Vec<_>, _>>()?;
    /// engine.retention().retain(&Policy::new().remove("essay", [marks[0].id, marks[2].id]))?;
    /// assert_eq!(task.checkpoints()?, 1);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    #[must_use]
    pub fn remove(
        mut self,
        task: impl Into<String>,
        checkpoints: impl IntoIterator<Item = CheckpointId>,
    ) -> Self {
        self.remove = Some(checkpoints.into_iter().collect());
        self.task(task)
    }

    /// Removes events before a point: in the history of the point, only checkpoints from it on are
    /// kept, with those that other rules of the policy keep. Checkpoints on lineages that the
    /// point does not inherit from stay. Events are removed up to the point, unless a kept
    /// checkpoint or a lineage that forks before it needs them.
    #[must_use]
    pub fn trim_before(mut self, point: &Point) -> Self {
        self.trim_before = Some(Floor { lineage: point.lineage, offset: point.offset });
        self.task(point.task.as_str())
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
        let others =
            self.younger_than.is_some() || self.remove.is_some() || self.trim_before.is_some();
        match self.keep {
            Some(keep) => keep,
            None if others => 0,
            None => KEEP,
        }
    }
}
