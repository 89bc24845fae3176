//! Recoveries: interrupted restores of folders, undone or abandoned.

use milepost::restore::PendingRestore;
use milepost::{Engine, ErrorKind};
use milepost_api::{Big, JobResult, RecoverRequest, RecoveriesForm, RecoveryForm, Remedy, micros};
use milepost_workspace::{Workspace, WorkspaceOptions};

use crate::jobs::failure::{JobFailure, Result};
use crate::jobs::folder::{captured_at, choices, named, not_named, place};
use crate::jobs::own::is_own;
use crate::jobs::recovery::{self, begun_in};

/// Recorded reason for an abandoned restore.
const GIVEN_UP: &str = "given up by the user";

/// Takes interrupted restores back, or gives them up.
pub(crate) fn run(engine: &Engine, asked: &RecoverRequest) -> Result<JobResult> {
    let id = match &asked.task {
        Some(id) => Some(engine.task(id)?.id().to_owned()),
        None => None,
    };
    let mut pending = engine.restores().pending()?;
    pending.retain(|pending| id.as_ref().is_none_or(|id| *id == pending.task));
    if let (true, Some(id), false) = (pending.is_empty(), &id, asked.give_up) {
        clear_up(engine, id, asked)?;
    }
    let (mut items, mut failed) = (Vec::with_capacity(pending.len()), None);
    for pending in &pending {
        let done = match asked.give_up {
            true => engine.restores().abandon(pending, GIVEN_UP).map_err(JobFailure::from),
            false => take_back(engine, pending, asked),
        };
        let outcome = match (&done, asked.give_up) {
            (Err(_), _) => "pending",
            (Ok(()), true) => "given_up",
            (Ok(()), false) => "undone",
        };
        items.push(RecoveryForm {
            task: pending.task.clone(),
            restore: pending.begun.restore,
            since: micros(pending.since_us),
            since_us: Big(pending.since_us),
            folder: begun_in(pending).map(|folder| named(&folder)),
            outcome: outcome.to_owned(),
        });
        if let Err(failure) = done {
            failed.get_or_insert(failure);
        }
    }
    let result = JobResult::Recover(RecoveriesForm { items });
    match failed {
        Some(failure) => Err(failure.result(result)),
        None => Ok(result),
    }
}

fn take_back(engine: &Engine, pending: &PendingRestore, asked: &RecoverRequest) -> Result<()> {
    let task = &pending.task;
    let is_own = is_own(engine, task)?;
    let begun_in = begun_in(pending);
    let name_begun = |folder| Remedy::NameBegun { task: task.clone(), folder };
    let Some(folder) = asked.files.folder.as_ref().or(begun_in.as_ref()) else {
        let text = "the restore does not say in which folder it was begun";
        return Err(JobFailure::new(ErrorKind::Invalid, text).remedy(name_begun(None)));
    };
    if asked.files.folder.is_none() && !is_own {
        return Err(not_named(engine, task, folder).remedy(name_begun(Some(named(folder)))));
    }
    if !folder.is_dir() {
        let text = format!("{} is no folder now", folder.display());
        return Err(JobFailure::new(ErrorKind::NotFound, text).remedy(name_begun(None)));
    }
    // The user accepted this folder when the restore began. Another folder is refused by its inode.
    let options = WorkspaceOptions::default().anyway(is_own || asked.files.anyway);
    let workspace = Workspace::open(folder, options)?;
    if !workspace.began(pending)? {
        let shown = workspace.folder().display();
        let text = format!("{shown} is another folder than the one that the restore was begun in");
        return Err(JobFailure::new(ErrorKind::Conflict, text).remedy(name_begun(None)));
    }
    let done = workspace.recover(engine, task, &choices(&asked.files));
    done.map(|_| ()).map_err(|error| recovery::failed(error, task))
}

/// Clears up after a restore that had ended when its process died.
fn clear_up(engine: &Engine, id: &str, asked: &RecoverRequest) -> Result<()> {
    let is_own = is_own(engine, id)?;
    let task = engine.task(id)?;
    let capture = captured_at(engine, &task.point(task.head()?.next)?)?;
    let known = capture.map(|capture| place(&capture.info().folder)).filter(|_| is_own);
    let folder = asked.files.folder.as_ref().or(known.as_ref());
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        return Ok(());
    };
    let options = WorkspaceOptions::default().anyway(is_own || asked.files.anyway);
    let workspace = Workspace::open(folder, options)?;
    workspace.recover(engine, id, &choices(&asked.files))?;
    Ok(())
}
