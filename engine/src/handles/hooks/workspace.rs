//! What a workspace is doing, as hooks are told of it.

use std::path::PathBuf;

use crate::handles::engine::Engine;

/// What a workspace is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkspaceState {
    /// Nothing.
    #[default]
    Idle,
    /// It is being captured.
    Creating,
    /// It is being brought back to a capture.
    Restoring,
    /// The last of both failed.
    Error,
}

impl WorkspaceState {
    /// Its name, as hooks and the command tell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Creating => "creating",
            Self::Restoring => "restoring",
            Self::Error => "error",
        }
    }
}

/// A workspace does something else now: it began to be captured or brought back, or that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkspaceChange {
    /// The task it is done for.
    pub task: String,
    /// The folder.
    pub folder: PathBuf,
    /// What it does now.
    pub state: WorkspaceState,
    /// What it did before.
    pub before: WorkspaceState,
    /// Files that were looked at in what ended.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Those of them that had to be read.
    pub read: u64,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// Why it failed.
    pub error: Option<String>,
}

impl WorkspaceChange {
    /// One of this state to that, of a folder that is worked on for a task.
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

impl Engine {
    /// Tells all hooks what a workspace does, and counts captures: for whoever keeps one. The crate
    /// `milepost-workspace` does so.
    pub fn tell_workspace(&self, change: &WorkspaceChange) {
        let ended = (change.before, change.state);
        if ended == (WorkspaceState::Creating, WorkspaceState::Idle) {
            let meters = &self.inner.meters;
            meters.captures.add(1);
            meters.capture_files.add(change.files);
            meters.capture_files_read.add(change.read);
            meters.capture_us.record(change.took_us);
        }
        let hooks = &self.inner.options.hooks;
        hooks.tell("a workspace", |hook| hook.on_workspace(change));
    }
}
