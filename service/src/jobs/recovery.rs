//! The interrupted restore of a task. Work that writes to a task first takes it back.
//!
//! A restore is undone if its folder is still in place, and no later change conflicts with that.
//! Otherwise the task stays blocked, until a recovery ends the restore.

use std::path::PathBuf;

use milepost::events::Data;
use milepost::restore::PendingRestore;
use milepost::{Engine, ErrorKind, Task};
use milepost_api::{RecoveredFolder, Remedy};
use milepost_workspace::{Choices, PathBytes, Workspace, WorkspaceOptions};

use crate::jobs::failure::{JobFailure, Result};
use crate::jobs::folder::{named, place};
use crate::jobs::own::is_own;

/// Name of a folder as a participant of a restore.
const WORKSPACE: &str = "workspace";

/// Restores that were interrupted before a job.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The restore that blocked the task, also if it stays pending.
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
    let pending = pending(engine, task)?;
    if !is_own(engine, task.id())? {
        return Ok(Recovered { pending: None, folder: None });
    }
    let Some(restore) = &pending else {
        let folder = at.and_then(|at| clear_up(engine, task, at));
        return Ok(Recovered { pending, folder });
    };
    // Another participant belongs to its own program.
    let parts = &restore.begun.parts;
    if parts.iter().any(|part| part.participant != WORKSPACE) {
        return Ok(Recovered { pending: None, folder: None });
    }
    let none = Choices::default();
    let found;
    let (workspace, choices) = match at {
        Some((workspace, choices)) if workspace.began(restore)? => (workspace, choices),
        _ => match where_it_was(restore) {
            Some(there) => {
                found = there;
                (&found, &none)
            }
            None => return Ok(Recovered { pending: None, folder: None }),
        },
    };
    workspace.recover(engine, task.id(), choices).map_err(|error| {
        let failure = failed(error, task.id());
        let error = failure.error.at("an interrupted restore cannot be undone");
        JobFailure { error, ..failure }
    })?;
    let folder =
        RecoveredFolder { folder: named(workspace.folder()), taken_back: true, error: None };
    Ok(Recovered { pending, folder: Some(folder) })
}

/// Clears up the remains of a restore that had ended in a folder. The task is not blocked by them.
fn clear_up(
    engine: &Engine,
    task: &Task,
    (workspace, choices): (&Workspace, &Choices),
) -> Option<RecoveredFolder> {
    let error = match workspace.recover(engine, task.id(), choices) {
        Ok(recovery) if recovery.finished => None,
        Ok(_) => return None,
        Err(error) => Some(error.to_string()),
    };
    Some(RecoveredFolder { folder: named(workspace.folder()), taken_back: false, error })
}

/// Fails while a restore is pending: its folder is in no defined state, and cannot be planned from.
pub(crate) fn none(engine: &Engine, task: &Task) -> Result<()> {
    if pending(engine, task)?.is_none() {
        return Ok(());
    }
    let task = task.id();
    let text = format!(
        "a restore of {task} was interrupted: the folder is neither as it was nor as it should be"
    );
    let remedy = Remedy::Recover { task: task.to_owned() };
    Err(JobFailure::new(ErrorKind::Unavailable, text).remedy(remedy))
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
