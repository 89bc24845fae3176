//! `recover`: takes back interrupted restores of folders.

use std::os::unix::ffi::OsStrExt;

use milepost::Engine;
use milepost::restore::PendingRestore;
use milepost_workspace::{Choices, PathBytes, Workspace, WorkspaceOptions};
use serde_json::json;

use super::workspace_args;
use crate::args;
use crate::backend::recovery::{self, begun_in};
use crate::backend::{folders, hints, own};
use crate::error::{Failure, Result};
use crate::output::{Out, printable, time, time_short, words};

/// Recorded reason for a restore that was given up.
const GIVEN_UP: &str = "given up by `milepost recover`";

pub fn run(engine: &Engine, args: &args::Recover, out: &mut Out) -> Result<()> {
    let id = match &args.task {
        Some(id) => Some(hints::task_id(engine, id)?),
        None => None,
    };
    let choices = workspace_args::choices(&args.paths, false)?;
    let mut pending = engine.restores().pending()?;
    pending.retain(|pending| id.as_ref().is_none_or(|id| *id == pending.task));
    if let (true, Some(id), false) = (pending.is_empty(), &id, args.give_up) {
        clear_up(engine, id, args, &choices)?;
    }
    let mut done_for = Vec::with_capacity(pending.len());
    let mut failed = None;
    for pending in &pending {
        let done = match args.give_up {
            true => engine.restores().abandon(pending, GIVEN_UP).map_err(Failure::from),
            false => take_back(engine, pending, args, &choices),
        };
        let outcome = match (&done, args.give_up) {
            (Err(_), _) => "pending",
            (Ok(()), true) => "given_up",
            (Ok(()), false) => "undone",
        };
        match out.json {
            true => done_for.push(form(pending, outcome)),
            false => out.line(line(pending, outcome))?,
        }
        if let Err(failure) = done {
            failed.get_or_insert(failure);
        }
    }
    if out.json {
        out.json(&done_for)?;
    } else if pending.is_empty() {
        out.line("nothing is pending: no restore was interrupted")?;
    }
    failed.map_or(Ok(()), Err)
}

fn take_back(
    engine: &Engine,
    pending: &PendingRestore,
    args: &args::Recover,
    choices: &Choices,
) -> Result<()> {
    let asked = args.files.as_deref();
    let is_own = own::is_own(engine, &pending.task)?;
    let name = words::encode(&pending.task);
    let begun_in = begun_in(pending);
    let Some(folder) = asked.or(begun_in.as_deref()) else {
        return Err(Failure::new("the restore does not say in which folder it was begun")
            .hint(no_way_back(&name)));
    };
    if asked.is_none() && !is_own {
        return Err(own::not_taken_back(engine, &pending.task, folder));
    }
    if !folder.is_dir() {
        let shown = folder.display();
        return Err(Failure::new(format!("{shown} is no folder now")).hint(no_way_back(&name)));
    }
    // The user accepted this folder when the restore began. Another folder is refused by its inode.
    let options = WorkspaceOptions::default().anyway(is_own || args.anyway);
    let workspace = Workspace::open(folder, options)?;
    if !workspace.began(pending)? {
        let shown = folders::shown(&workspace);
        return Err(Failure::conflict(format!(
            "{shown} is another folder than the one that the restore was begun in"
        ))
        .hint(no_way_back(&name)));
    }
    let done = workspace.recover(engine, &pending.task, choices);
    done.map(|_| ()).map_err(|error| recovery::failed(error, &pending.task, asked))
}

/// Clears up after a restore that had ended when its process died.
fn clear_up(engine: &Engine, id: &str, args: &args::Recover, choices: &Choices) -> Result<()> {
    let asked = args.files.as_deref();
    let is_own = own::is_own(engine, id)?;
    let task = engine.task(id)?;
    let capture = workspace_args::captured_at(engine, &task.point(task.head()?.next)?)?;
    let known = capture.map(|capture| folders::place(&capture.info().folder));
    let known = known.as_deref().filter(|_| is_own);
    let Some(folder) = asked.or(known).filter(|folder| folder.is_dir()) else {
        return Ok(());
    };
    let options = WorkspaceOptions::default().anyway(is_own || args.anyway);
    let workspace = Workspace::open(folder, options)?;
    let done = workspace.recover(engine, id, choices);
    done.map(|_| ()).map_err(folders::failed)
}

fn no_way_back(name: &str) -> String {
    format!(
        "`milepost recover {name} --files DIR` where the folder was moved; `milepost recover \
         {name} --give-up` ends it and leaves the folder as it is"
    )
}

fn form(pending: &PendingRestore, outcome: &str) -> serde_json::Value {
    let folder = begun_in(pending);
    let folder = folder.map(|folder| PathBytes::from(folder.as_os_str().as_bytes()));
    json!({
        "task": pending.task,
        "restore": pending.begun.restore,
        "since": time(pending.since_us),
        "folder": folder,
        "outcome": outcome,
    })
}

fn line(pending: &PendingRestore, outcome: &str) -> String {
    let folder = begun_in(pending).map_or_else(
        || "an unknown folder".to_owned(),
        |folder| printable(&folder.display().to_string()).into_owned(),
    );
    let what = match outcome {
        "undone" => "was undone",
        "given_up" => "was given up, and the folder left as it is",
        _ => "is still pending",
    };
    format!(
        "{}: the restore of {folder} that was begun at {} {what}",
        printable(&pending.task),
        time_short(pending.since_us)
    )
}
