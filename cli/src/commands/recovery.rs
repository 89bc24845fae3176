//! Restores that were cut short: a command that writes to their task takes them back first, where
//! it can.
//!
//! What was begun in a folder is taken back where the folder still is, and nothing that somebody
//! changed since stands in the way. Else the task stays held up, and `milepost recover` is for
//! that. Commands that only look touch no folder.

use std::path::{Path, PathBuf};

use milepost::{Data, Engine, Error, ErrorKind, PendingRestore, Task};
use milepost_workspace::{Choices, PathBytes, Workspace, WorkspaceOptions};

use super::{own, words, workspace_args};
use crate::error::{Failure, Result};
use crate::output::{note, printable};

/// The name under which a folder takes part in a restore.
const WORKSPACE: &str = "workspace";

/// Takes back the restore that holds up a task, and says so on standard error. `named`: the folder
/// that the command is about, and what was decided about its paths; what a restore that had ended
/// left there is cleared up.
///
/// In a store that is not trusted, and of a task that was imported, nothing is taken back unasked.
///
/// Gives the restore. Nothing where there was none, or where it stays pending: then whatever
/// appends to the task says that it is held up.
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
        // Another participant is with the program that it is of.
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
            failed(error, task.id(), None).at("a restore that was cut short cannot be taken back")
        })?;
        let shown = workspace_args::shown(workspace);
        note(&format!("the restore of {shown} that was interrupted is taken back"));
    } else if let Some((workspace, choices)) = named
        && own::is_own(engine, task.id())?
    {
        let shown = workspace_args::shown(workspace);
        match workspace.recover(engine, task.id(), choices) {
            Ok(recovery) if recovery.finished => {
                note(&format!("the restore of {shown} that was interrupted is finished"))
            }
            Ok(_) => {}
            // It holds nothing up.
            Err(error) => {
                note(&format!("what a restore left in {shown} is not cleared up yet: {error}"))
            }
        }
    }
    Ok(pending)
}

/// Nothing may be planned while a restore is half done: its folder is neither here nor there.
pub fn none(engine: &Engine, task: &Task) -> Result<()> {
    if pending(engine, task)?.is_none() {
        return Ok(());
    }
    let name = words::encode(task.id());
    Err(Failure::new(format!(
        "a restore of {} was cut short: the folder is neither as it was nor as it should be",
        printable(task.id())
    ))
    .hint(format!("`milepost recover {name}` takes it back")))
}

/// Why a restore could not be taken back, and what can be done about it. `files`: the folder, where
/// it was named.
pub fn failed(error: Error, task: &str, files: Option<&Path>) -> Failure {
    let kind = error.kind();
    let failure = workspace_args::failed(error);
    match kind {
        ErrorKind::Conflict => failure.hint(decide(&words::encode(task), files)),
        ErrorKind::Unavailable => failure.hint(
            "the restore stays pending: mend what it says, or wait for the other, and ask again",
        ),
        _ => failure,
    }
}

/// What a path can be decided to be where somebody changed it since.
fn decide(name: &str, files: Option<&Path>) -> String {
    let files = files.map(|files| format!(" --files {}", files.display()));
    let files = files.unwrap_or_default();
    format!(
        "`milepost recover {name}{files} --keep-mine PATH` leaves what is there, `--theirs PATH` puts back \
         what was there before; `milepost recover {name} --give-up` leaves the folder as it is; all other \
         paths are back"
    )
}

/// The folder in which a restore was begun, as it was recorded.
pub fn begun_in(pending: &PendingRestore) -> Option<PathBuf> {
    let mut parts = pending.begun.parts.iter();
    let part = parts.find(|part| part.participant == WORKSPACE)?;
    match &part.place {
        Data::Json(place) => Some(PathBuf::from(place.value().ok()?.as_str()?)),
        Data::Bytes(place) => Some(workspace_args::place(&PathBytes::from(place.as_slice()))),
    }
}

/// That folder, where it is there and still the same one.
fn where_it_was(pending: &PendingRestore) -> Option<Workspace> {
    // It was insisted on when the restore was begun; another folder than that one is told by its
    // inode.
    let options = WorkspaceOptions::default().anyway(true);
    let workspace = Workspace::open(begun_in(pending)?, options).ok()?;
    matches!(workspace.began(pending), Ok(true)).then_some(workspace)
}

fn pending(engine: &Engine, task: &Task) -> Result<Option<PendingRestore>> {
    let mut pending = engine.pending_restores()?.into_iter();
    Ok(pending.find(|pending| pending.task == task.id()))
}
