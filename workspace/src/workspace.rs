//! A handle on a workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost::{Engine, Error, Mark, Result, Task, WorkspaceChange, WorkspaceState};
use parking_lot::Mutex;

use crate::capture::{self, CaptureReport};
use crate::options::WorkspaceOptions;
use crate::root_checks;
use crate::scan::Kept;
use crate::status::{States, StatusFeed, WorkspaceStatus};

/// A folder of files that a task works on. Cheap to clone, `Send` and `Sync`.
///
/// ```
/// use milepost::{Engine, Options};
/// use milepost_workspace::{Workspace, WorkspaceOptions};
///
/// # let dir = tempfile::tempdir()?;
/// # let folder = dir.path();
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("essay", "ana")?;
/// let workspace = Workspace::open(folder, WorkspaceOptions::default())?;
/// let first = workspace.capture(&engine, &task, None)?;
/// assert!(first.appended.is_some());
/// let second = workspace.capture(&engine, &task, None)?;
/// assert_eq!((second.root, second.appended), (first.root, None)); // nothing changed
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Workspace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    options: WorkspaceOptions,
    states: Arc<States>,
    kept: Kept,
    /// One capture after another: within a process the folder's lock would say no.
    busy: Mutex<()>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.states.close();
    }
}

impl Workspace {
    /// Takes a folder for a workspace. Nothing is read or written yet.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is nothing of this name. `Invalid`: it is no folder, it is the user's
    /// home, `/` or a folder above the home and [`WorkspaceOptions::anyway`] does not insist, or it
    /// is inside a `.git` or a bare repository. `Unavailable`: it cannot be opened.
    pub fn open(folder: impl AsRef<Path>, options: WorkspaceOptions) -> Result<Self> {
        let (folder, _) = root_checks::check(folder.as_ref(), options.anyway)?;
        let inner = Inner {
            folder,
            options,
            states: Arc::default(),
            kept: Kept::default(),
            busy: Mutex::new(()),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The folder, absolute and without links.
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    pub(crate) fn options(&self) -> &WorkspaceOptions {
        &self.inner.options
    }

    /// What is kept from look to look, where that is wanted.
    pub(crate) fn kept(&self) -> Option<&Kept> {
        self.inner.options.watch.then_some(&self.inner.kept)
    }

    /// How many folders are watched for the next capture, with [`WorkspaceOptions::watch`]; nothing
    /// where none is: before the first capture, or where it is not possible.
    pub fn watching(&self) -> Option<usize> {
        self.kept()?.folders()
    }

    pub(crate) fn states(&self) -> &Arc<States> {
        &self.inner.states
    }

    /// Captures the folder: stores what it holds, and appends to the task that it did, with a
    /// checkpoint in the same commit where one is asked for. Where the folder is as the lineage
    /// says already, there is nothing to append but the checkpoint.
    ///
    /// Files are taken as they are at some moment while this runs, each for itself. What was left
    /// out is listed in the capture: see [`Snapshot::skips`](crate::Snapshot::skips).
    ///
    /// # Errors
    ///
    /// `Unavailable`: somebody else has the folder locked, the folder or the store cannot be read
    /// or written to, or the store is closed. `Invalid`: the folder is inside the store, or a hook
    /// refuses the checkpoint. `Conflict`: the task goes on elsewhere since the handle was taken.
    /// `Poisoned`: an earlier write to the store failed. Nothing is appended then.
    pub fn capture(
        &self,
        engine: &Engine,
        task: &Task,
        mark: Option<Mark>,
    ) -> Result<CaptureReport> {
        engine.check_writable()?;
        let inner = &*self.inner;
        let _busy = inner.busy.lock();
        self.go(engine, task.id(), WorkspaceState::Creating, None)?;
        let done = capture::take(self, engine, task, mark);
        self.ends(engine, task.id(), done.as_ref().err())?;
        done
    }

    /// Goes on to what it does now, for a task, and tells whoever wants to know.
    pub(crate) fn go(
        &self,
        engine: &Engine,
        task: &str,
        state: WorkspaceState,
        error: Option<&Error>,
    ) -> Result<()> {
        let went = self.inner.states.go(state, error)?;
        let mut change = WorkspaceChange::new(task, self.folder(), went.before, state);
        change.files = went.files;
        change.bytes = went.bytes;
        change.read = went.read;
        change.took_us = went.took_us;
        change.error = error.map(ToString::to_string);
        engine.tell_workspace(&change);
        Ok(())
    }

    /// What was under way has ended.
    pub(crate) fn ends(&self, engine: &Engine, task: &str, error: Option<&Error>) -> Result<()> {
        let state = match error {
            None => WorkspaceState::Idle,
            Some(_) => WorkspaceState::Error,
        };
        self.go(engine, task, state, error)
    }

    /// What it is doing.
    pub fn status(&self) -> WorkspaceStatus {
        self.inner.states.status()
    }

    /// What it is doing from now on.
    pub fn statuses(&self) -> StatusFeed {
        StatusFeed::of(&self.inner.states)
    }

    /// Goes from an error that was seen back to doing nothing.
    ///
    /// # Errors
    ///
    /// `Unavailable`: it is not in error.
    pub fn clear(&self) -> Result<()> {
        self.inner.states.go(WorkspaceState::Idle, None).map(|_| ())
    }
}
