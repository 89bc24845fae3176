//! A handle on a workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost::hooks::{WorkspaceChange, WorkspaceState};
use milepost::{Engine, Error, Result};
use parking_lot::{Mutex, MutexGuard};

use crate::error;
use crate::options::WorkspaceOptions;
use crate::root_checks;
use crate::scan::ScanState;
use crate::status::{States, StatusFeed, WorkspaceStatus};

/// Returns `true` if nothing is at a path.
pub(crate) fn is_gone(folder: &Path) -> bool {
    std::fs::symlink_metadata(folder).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
}

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
    scan_state: ScanState,
    /// Serializes captures: the folder's lock would refuse a second one within the process.
    busy: Mutex<()>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.states.close();
    }
}

impl Workspace {
    /// Opens a folder as a workspace. Nothing is read or written yet.
    ///
    /// # Errors
    ///
    /// `NotFound`: the path does not exist. `Invalid`: the path is not a folder, is inside a `.git`
    /// or a bare repository, or is the user's home, `/` or a folder above the home without
    /// [`WorkspaceOptions::anyway`]. `Unavailable`: the folder cannot be opened.
    pub fn open(folder: impl AsRef<Path>, options: WorkspaceOptions) -> Result<Self> {
        let folder = match options.may_be_gone && is_gone(folder.as_ref()) {
            true => {
                std::path::absolute(&folder).map_err(|e| error::io("find", folder.as_ref(), &e))?
            }
            false => root_checks::check(folder.as_ref(), options.anyway)?.0,
        };
        let inner = Inner {
            folder,
            options,
            states: Arc::default(),
            scan_state: ScanState::default(),
            busy: Mutex::new(()),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the folder's path, absolute and without symlinks.
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    /// Returns `true` if the folder does not exist, and counts as empty.
    pub(crate) fn is_gone(&self) -> bool {
        self.inner.options.may_be_gone && is_gone(self.folder())
    }

    pub(crate) fn options(&self) -> &WorkspaceOptions {
        &self.inner.options
    }

    /// Returns the state kept between scans, if the folder is watched.
    pub(crate) fn scan_state(&self) -> Option<&ScanState> {
        self.inner.options.watch.then_some(&self.inner.scan_state)
    }

    /// Returns the number of folders watched for the next capture, with
    /// [`WorkspaceOptions::watch`]. `None` before the first capture, or if watching is impossible.
    pub fn watching(&self) -> Option<usize> {
        self.scan_state()?.folders()
    }

    /// Locks the workspace for one capture.
    pub(crate) fn busy(&self) -> MutexGuard<'_, ()> {
        self.inner.busy.lock()
    }

    pub(crate) fn states(&self) -> &Arc<States> {
        &self.inner.states
    }

    /// Changes the state and notifies feeds and hooks.
    pub(crate) fn go(
        &self,
        engine: &Engine,
        task: &str,
        state: WorkspaceState,
        error: Option<&Error>,
    ) -> Result<()> {
        let transition = self.inner.states.go(state, error)?;
        let mut change = WorkspaceChange::new(task, self.folder(), transition.before, state);
        change.files = transition.files;
        change.bytes = transition.bytes;
        change.read = transition.read;
        change.took_us = transition.took_us;
        change.error = error.map(ToString::to_string);
        engine.captures().report(&change);
        Ok(())
    }

    /// Ends an operation: `Idle` on success, `Error` otherwise.
    pub(crate) fn ends(&self, engine: &Engine, task: &str, error: Option<&Error>) -> Result<()> {
        let state = match error {
            None => WorkspaceState::Idle,
            Some(_) => WorkspaceState::Error,
        };
        self.go(engine, task, state, error)
    }

    /// Returns the current status.
    pub fn status(&self) -> WorkspaceStatus {
        self.inner.states.status()
    }

    /// Returns a feed of status changes from now on.
    pub fn statuses(&self) -> StatusFeed {
        StatusFeed::of(&self.inner.states)
    }

    /// Acknowledges an error: the state returns to idle.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the state is not `Error`.
    pub fn clear(&self) -> Result<()> {
        self.inner.states.go(WorkspaceState::Idle, None).map(|_| ())
    }
}
