//! The folder of a job: the one that the caller names, or the one that the store knows.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use milepost::{Engine, Error, ErrorKind, Point};
use milepost_api::{FolderRequest, Remedy};
use milepost_workspace::{Choices, PathBytes, Snapshot, Workspace, WorkspaceOptions};

use crate::forms;
use crate::jobs::failure::{JobFailure, Result};
use crate::jobs::own::{is_own, is_trusted};

/// Returns a path that a store names.
pub fn place(bytes: &PathBytes) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes.as_bytes()))
}

/// Returns a folder as forms name it.
pub(crate) fn named(folder: &Path) -> PathBytes {
    PathBytes::from(folder.as_os_str().as_bytes())
}

/// Returns the decisions about paths.
pub(crate) fn choices(asked: &FolderRequest) -> Choices {
    forms::choices(asked.choices.clone())
}

/// Returns the capture that a point sees.
pub(crate) fn captured_at(engine: &Engine, point: &Point) -> Result<Option<Snapshot>> {
    match engine.captures().at(point)? {
        Some(root) => Ok(Some(Snapshot::of(engine, root)?)),
        None => Ok(None),
    }
}

/// Opens the requested folder, or the captured one if this user captured it.
pub(crate) fn of_task(
    engine: &Engine,
    task: &str,
    asked: &FolderRequest,
    capture: Option<&Snapshot>,
) -> Result<Workspace> {
    let known = capture.map(|capture| place(&capture.info().folder));
    let options = WorkspaceOptions::default().anyway(asked.anyway);
    let folder = match (&asked.folder, known) {
        // A folder that was removed comes back: its path is the captured one.
        (Some(folder), Some(known)) if *folder == known && is_gone(folder) => {
            return open(folder, options.may_be_gone(true));
        }
        (Some(folder), _) => folder.clone(),
        (None, Some(known)) if !is_own(engine, task)? => {
            let remedy = Remedy::NameFolder { folder: Some(named(&known)) };
            return Err(not_named(engine, task, &known).remedy(remedy));
        }
        (None, Some(known)) if known.is_dir() => known,
        (None, Some(known)) => {
            let text = format!("{}, which was captured, is no folder now", known.display());
            return Err(JobFailure::new(ErrorKind::NotFound, text).remedy(Remedy::NameMoved));
        }
        (None, None) => {
            let text = "no folder was captured, so none is known";
            let remedy = Remedy::NameFolder { folder: None };
            return Err(JobFailure::new(ErrorKind::Invalid, text).remedy(remedy));
        }
    };
    open(&folder, options)
}

/// Returns `true` if nothing is at a path.
pub(crate) fn is_gone(folder: &Path) -> bool {
    std::fs::symlink_metadata(folder).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
}

/// Creates a missing folder, before a restore brings its contents back.
pub(crate) fn make(workspace: &Workspace) -> Result<()> {
    let folder = workspace.folder();
    match is_gone(folder) {
        true => std::fs::create_dir_all(folder).map_err(|error| {
            let text = format!("cannot make {} again: {error}", folder.display());
            JobFailure::new(ErrorKind::Unavailable, text).remedy(Remedy::Allow)
        }),
        false => Ok(()),
    }
}

/// Opens a folder that the caller accepts.
pub(crate) fn open(folder: &Path, options: WorkspaceOptions) -> Result<Workspace> {
    if !folder.is_absolute() {
        let text = format!("`folder` is an absolute path, not {}", folder.display());
        return Err(JobFailure::new(ErrorKind::Invalid, text));
    }
    Workspace::open(folder, options.clone()).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::NotFound if !folder.exists() => Remedy::NameExisting,
            ErrorKind::Invalid if Workspace::open(folder, options.anyway(true)).is_ok() => {
                Remedy::Anyway
            }
            ErrorKind::Invalid | ErrorKind::NotFound => Remedy::NameProject,
            _ => Remedy::Allow,
        };
        JobFailure::from(error).remedy(remedy)
    })
}

/// Returns the failure for a folder that only the store names: it is not touched.
pub(crate) fn not_named(engine: &Engine, task: &str, folder: &Path) -> JobFailure {
    let shown = folder.display();
    let text = match is_trusted(engine) {
        true => format!("{task} was imported, and only its history names the folder {shown}"),
        false => {
            format!("only the store names the folder {shown}, and you do not trust the store")
        }
    };
    Error::new(ErrorKind::Invalid, text).into()
}
