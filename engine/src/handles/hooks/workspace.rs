//! Changes of a workspace, as reported to hooks.

use std::path::PathBuf;

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
            error: None,
        }
    }
}
