//! Interrupted restores. A command that writes to a task first undoes the interrupted restore of
//! the task.
//!
//! A restore is undone if its folder is still in place, and no later change conflicts with
//! that. Otherwise the task stays blocked, until `milepost recover` ends the restore. Commands that
//! only read touch no folder.

use std::path::{Path, PathBuf};

use milepost::events::Data;
use milepost::restore::PendingRestore;
use milepost::{Engine, Error, ErrorKind, Task};
use milepost_workspace::{Choices, PathBytes, Workspace, WorkspaceOptions};

use super::{folders, own};
use crate::error::{Failure, Result};
use crate::output::{note, printable, words};

/// Name of a folder as a participant of a restore.
const WORKSPACE: &str = "workspace";

/// Takes back the restore that blocks a task, and prints a note. `named` is the folder of the
/// command, with the choices for its paths. Leftovers of a restore that had ended there are cleared
/// up.
///
/// In a store that is not trusted, and for an imported task, nothing is taken back without a
/// request.
///
/// Returns the restore; `None` if there was none, or if it stays pending. An append to the task
/// then reports that the task is blocked.
pub fn recover(
    engine: &Engine,
    task: &Task,
    named: Option<(&Workspace, &Choices)>,
) -> Result<Option<PendingRestore>> {
    let pending = pending(engine, task)?;
    if pending.is_some() && !own::is_own(engine, task.id())? {
        return Ok(None);
    }
    if let Some(pending) = &pending {
        // Another participant belongs to its own program.
        let parts = &pending.begun.parts;
        if parts.iter().any(|part| part.participant != WORKSPACE) {
            return Ok(None);
        }
        let none = Choices::default();
        let found;
        let (workspace, choices) = match named {
            Some((workspace, choices)) if workspace.began(pending)? => (workspace, choices),
            _ => {
                let Some(there) = where_it_was(pending) else {
                    return Ok(None);
                };
                found = there;
                (&found, &none)
            }
        };
        let done = workspace.recover(engine, task.id(), choices);
        done.map_err(|error| {
            failed(error, task.id(), None).at("an interrupted restore cannot be undone")
        })?;
        let shown = folders::shown(workspace);
        note(&format!("the interrupted restore of {shown} is undone"));
    } else if let Some((workspace, choices)) = named
        && own::is_own(engine, task.id())?
    {
        let shown = folders::shown(workspace);
        match workspace.recover(engine, task.id(), choices) {
            Ok(recovery) if recovery.finished => {
                note(&format!("the interrupted restore of {shown} is finished"))
            }
            Ok(_) => {}
            // The task is not blocked by it.
            Err(error) => {
                note(&format!("what a restore left in {shown} is not cleared up yet: {error}"))
            }
        }
    }
    Ok(pending)
}

/// Fails while a restore is pending: its folder is in no defined state, and cannot be planned from.
pub fn none(engine: &Engine, task: &Task) -> Result<()> {
    if pending(engine, task)?.is_none() {
        return Ok(());
    }
    let name = words::encode(task.id());
    Err(Failure::new(format!(
        "a restore of {} was interrupted: the folder is neither as it was nor as it should be",
        printable(task.id())
    ))
    .hint(format!("`milepost recover {name}` takes it back")))
}

/// Converts the error of taking back a restore, with a hint. `files` is the folder, if it was
/// named.
pub fn failed(error: Error, task: &str, files: Option<&Path>) -> Failure {
    let kind = error.kind();
    let failure = folders::failed(error);
    match kind {
        ErrorKind::Conflict => failure.hint(decide(&words::encode(task), files)),
        ErrorKind::Unavailable => failure.hint(
            "the restore stays pending: mend what it says, or wait for the other, and ask again",
        ),
        _ => failure,
    }
}

/// Returns a hint with the choices for a path that was changed since.
fn decide(name: &str, files: Option<&Path>) -> String {
    let files = files.map(|files| format!(" --files {}", files.display()));
    let files = files.unwrap_or_default();
    format!(
        "`milepost recover {name}{files} --keep-mine PATH` leaves what is there, `--theirs PATH` \
         puts back what was there before; `milepost recover {name} --give-up` leaves the folder as \
         it is; all other paths are back"
    )
}

/// Returns the recorded folder in which a restore began.
pub fn begun_in(pending: &PendingRestore) -> Option<PathBuf> {
    let mut parts = pending.begun.parts.iter();
    let part = parts.find(|part| part.participant == WORKSPACE)?;
    match &part.place {
        Data::Json(place) => Some(PathBuf::from(place.value().ok()?.as_str()?)),
        Data::Bytes(place) => Some(folders::place(&PathBytes::from(place.as_slice()))),
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
