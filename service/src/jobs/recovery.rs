//! The interrupted restore of a task. Work that writes to a task first undoes it.
//!
//! A restore is undone if its folder is still in place, and no later change conflicts with that.
//! Otherwise the task stays blocked, until a recovery ends the restore. A restore with a folder
//! undoes only one that began in the same folder.

use std::path::PathBuf;

use milepost::events::Data;
use milepost::restore::PendingRestore;
use milepost::{Engine, ErrorKind, Task};
use milepost_api::{RecoveredFolder, Remedy};
use milepost_workspace::{Choices, PathBytes, Workspace, WorkspaceOptions};

use crate::jobs::failure::{JobFailure, Result};
use crate::jobs::folder::{self, is_gone, named, place};
use crate::jobs::own::is_own;

/// Name of a folder as a participant of a restore.
const WORKSPACE: &str = "workspace";

/// Restores that were interrupted before a job.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The restore that was pending, if it was undone.
    pub pending: Option<PendingRestore>,
    /// The work that was done in its folder.
    pub folder: Option<RecoveredFolder>,
}

/// Undoes the restore that blocks a task. Remains of a restore that had ended in the job's folder
/// are removed.
///
/// In a store that is not trusted, and for an imported task, nothing is undone without a request.
/// `at`: the folder of the work, with the choices for its paths.
///
/// # Errors
///
/// `Conflict`: another process changed paths since. Errors of a read.
pub fn recover(
    engine: &Engine,
    task: &Task,
    at: Option<(&Workspace, &Choices)>,
) -> Result<Recovered> {
    if !is_own(engine, task.id())? {
        return Ok(Recovered::default());
    }
    let pending = pending(engine, task)?;
    let (none, found) = (Choices::default(), pending.as_ref().and_then(where_it_was));
    let at = match (&pending, at) {
        (Some(restore), _) if !is_of_folder_only(restore) => None,
        (Some(restore), Some((workspace, _))) if workspace.began(restore)? => at,
        (Some(_), _) => found.as_ref().map(|workspace| (workspace, &none)),
        (None, at) => at,
    };
    match at {
        Some(at) => recover_at(engine, task, pending, at),
        None => Ok(Recovered::default()),
    }
}

/// Undoes the restore of a task that was interrupted in the folder of a restore, given by
/// [`first`], as [`recover`] does. A missing folder is created.
///
/// # Errors
///
/// As [`recover`].
pub(crate) fn recover_in(
    engine: &Engine,
    task: &Task,
    pending: Option<PendingRestore>,
    at: (&Workspace, &Choices),
) -> Result<Recovered> {
    folder::make(at.0)?;
    match is_own(engine, task.id())? {
        true => recover_at(engine, task, pending, at),
        false => Ok(Recovered::default()),
    }
}

/// Undoes the restore that was interrupted in a folder. Without one, remains of a restore that had
/// ended there are removed: they do not block the task.
fn recover_at(
    engine: &Engine,
    task: &Task,
    pending: Option<PendingRestore>,
    (workspace, choices): (&Workspace, &Choices),
) -> Result<Recovered> {
    let folder = named(workspace.folder());
    let done = |undone, error| Some(RecoveredFolder { folder, undone, error });
    let folder = match workspace.recover(engine, task.id(), choices) {
        Ok(recovery) if !recovery.undone && !recovery.finished => None,
        Ok(recovery) => done(recovery.undone, None),
        Err(error) if pending.is_none() => done(false, Some(error.to_string())),
        Err(error) => {
            let failure = failed(error, task.id());
            let error = failure.error.at("an interrupted restore cannot be undone");
            return Err(JobFailure { error, ..failure });
        }
    };
    Ok(Recovered { pending, folder })
}

/// Returns the interrupted restore that a restore of a folder undoes first: one that began there.
///
/// # Errors
///
/// `Unavailable`: it began in another folder, or is not undone without a request.
pub(crate) fn first(
    engine: &Engine,
    task: &Task,
    workspace: Option<&Workspace>,
) -> Result<Option<PendingRestore>> {
    let Some(restore) = pending(engine, task)? else {
        return Ok(None);
    };
    let is_here = match workspace.filter(|workspace| !is_gone(workspace.folder())) {
        Some(workspace) => workspace.began(&restore)?,
        None => false,
    };
    match is_here && is_of_folder_only(&restore) && is_own(engine, task.id())? {
        true => Ok(Some(restore)),
        false => Err(blocked(engine, &restore)?),
    }
}

/// Returns the failure of work that does not undo a pending restore: names its folder and the next
/// step.
pub(crate) fn blocked(engine: &Engine, restore: &PendingRestore) -> Result<JobFailure> {
    let task = &restore.task;
    let name = |folder| Remedy::NameBegun { task: task.clone(), folder };
    let recover = Remedy::Recover { task: task.clone() };
    let folder = begun_in(restore);
    let shown = folder.as_ref().map_or_else(String::new, |it| format!(" in {}", it.display()));
    let (why, remedy) = match folder {
        Some(folder) if !folder.is_dir() => (", which is no folder now", name(None)),
        Some(folder) if !is_own(engine, task)? => {
            (", and is undone only on request", name(Some(named(&folder))))
        }
        Some(_) if where_it_was(restore).is_none() => (", which is another folder now", name(None)),
        _ => ("", recover),
    };
    let text = format!("a restore of {task} was interrupted{shown}{why}");
    Ok(JobFailure::new(ErrorKind::Unavailable, text).remedy(remedy))
}

/// Returns `true` if nothing but a folder took part. Another participant belongs to its own
/// program.
fn is_of_folder_only(restore: &PendingRestore) -> bool {
    restore.begun.parts.iter().all(|part| part.participant == WORKSPACE)
}

/// Converts the error of undoing a restore.
pub(crate) fn failed(error: milepost::Error, task: &str) -> JobFailure {
    let conflict = error.kind() == ErrorKind::Conflict;
    let failure = JobFailure::from(error);
    match conflict {
        true => failure.remedy(Remedy::Recover { task: task.to_owned() }),
        false => failure,
    }
}

/// Returns the recorded folder in which a restore began.
pub fn begun_in(pending: &PendingRestore) -> Option<PathBuf> {
    let mut parts = pending.begun.parts.iter();
    let part = parts.find(|part| part.participant == WORKSPACE)?;
    match &part.place {
        Data::Json(place) => Some(PathBuf::from(place.value().ok()?.as_str()?)),
        Data::Bytes(bytes) => Some(place(&PathBytes::from(bytes.as_slice()))),
    }
}

/// Opens that folder, if it exists and is still the same one.
fn where_it_was(pending: &PendingRestore) -> Option<Workspace> {
    // The user accepted this folder when the restore began. Another folder is recognized by its
    // inode.
    let options = WorkspaceOptions::default().anyway(true);
    let workspace = Workspace::open(begun_in(pending)?, options).ok()?;
    matches!(workspace.began(pending), Ok(true)).then_some(workspace)
}

fn pending(engine: &Engine, task: &Task) -> Result<Option<PendingRestore>> {
    let mut pending = engine.restores().pending()?.into_iter();
    Ok(pending.find(|pending| pending.task == task.id()))
}
