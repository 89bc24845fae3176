//! Changes of a workspace, as reported to hooks.

use std::collections::HashMap;
use std::path::PathBuf;

use parking_lot::Mutex;

/// The most tasks whose last change is kept.
const KEPT_MAX: usize = 4096;

/// State of a workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkspaceState {
    /// Nothing is under way.
    #[default]
    Idle,
    /// A capture is under way.
    Creating,
    /// A restore to a capture is under way.
    Restoring,
    /// The last capture or restore failed.
    Error,
}

impl WorkspaceState {
    /// Returns the name, as in documents of hooks and in the output of the command.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Creating => "creating",
            Self::Restoring => "restoring",
            Self::Error => "error",
        }
    }
}

/// A change of a workspace's state: a capture or restore began or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkspaceChange {
    /// The task.
    pub task: String,
    /// The folder.
    pub folder: PathBuf,
    /// The new state.
    pub state: WorkspaceState,
    /// The previous state.
    pub before: WorkspaceState,
    /// Files examined by the operation that ended.
    pub files: u64,
    /// Bytes in these files.
    pub bytes: u64,
    /// Files that had to be read.
    pub read: u64,
    /// Duration of the operation, in microseconds.
    pub took_us: u64,
    /// The time of the change, in microseconds since the Unix epoch; 0 until it is reported.
    pub time_us: u64,
    /// The reason of a failure.
    pub error: Option<String>,
}

impl WorkspaceChange {
    /// Creates a change between two states of a task's folder.
    pub fn new(
        task: impl Into<String>,
        folder: impl Into<PathBuf>,
        before: WorkspaceState,
        state: WorkspaceState,
    ) -> Self {
        Self {
            task: task.into(),
            folder: folder.into(),
            state,
            before,
            files: 0,
            bytes: 0,
            read: 0,
            took_us: 0,
            time_us: 0,
            error: None,
        }
    }
}

/// The last change of the workspace of each task, in this process.
#[derive(Debug, Default)]
pub(crate) struct LastChanges(Mutex<HashMap<String, WorkspaceChange>>);

impl LastChanges {
    /// Keeps a change. Of too many tasks, one whose workspace changed longest ago is dropped.
    pub(crate) fn keep(&self, change: WorkspaceChange) {
        let mut kept = self.0.lock();
        // The later one of two that are reported at once counts.
        if kept.get(&change.task).is_some_and(|last| last.time_us > change.time_us) {
            return;
        }
        kept.insert(change.task.clone(), change);
        if kept.len() > KEPT_MAX {
            let oldest = kept.values().min_by_key(|change| change.time_us);
            let oldest = oldest.map(|change| change.task.clone());
            oldest.map(|task| kept.remove(&task));
        }
    }

    pub(crate) fn of(&self, task: &str) -> Option<WorkspaceChange> {
        self.0.lock().get(task).cloned()
    }

    /// Drops the change of a task that was deleted: another one may have its id.
    pub(crate) fn forget(&self, task: &str) {
        self.0.lock().remove(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_change_of_each_task_is_kept_and_the_oldest_makes_room() {
        let changes = LastChanges::default();
        let of = |task: u64, state, time_us| {
            let before = WorkspaceState::Idle;
            let change = WorkspaceChange::new(format!("t{task}"), "/p", before, state);
            WorkspaceChange { time_us, ..change }
        };
        changes.keep(of(0, WorkspaceState::Creating, 1));
        changes.keep(of(0, WorkspaceState::Error, 2));
        assert_eq!(changes.of("t0").map(|change| change.state), Some(WorkspaceState::Error));
        for task in 1..=KEPT_MAX as u64 {
            changes.keep(of(task, WorkspaceState::Idle, 2 + task));
        }
        assert_eq!((changes.of("t0"), changes.of("t1").map(|it| it.time_us)), (None, Some(3)));
        changes.forget("t1");
        assert_eq!(changes.of("t1"), None);
    }
}
