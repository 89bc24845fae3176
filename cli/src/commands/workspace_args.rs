//! Functions that the commands which restore a folder share: the folder, choices for its paths, and
//! output.

use std::path::Path;

use milepost::{Engine, ErrorKind, Point};
use milepost_api::RestoredForm;
use milepost_workspace::{
    Choices, ConflictWhy, PathBytes, PathConflict, Plan, RestoreReport, Snapshot, Workspace,
    WorkspaceOptions,
};
use serde_json::{Value, json};

use super::{captured_files, restore};
use crate::args;
use crate::backend::folders::{CHOOSE, place};
use crate::backend::own;
use crate::error::{Failure, Result};
use crate::output::{Out, count, printable_lines};

/// Returns the choices of the arguments.
pub fn choices(paths: &args::Paths, moved: bool) -> Result<Choices> {
    let mut choices = Choices::default();
    for path in &paths.theirs {
        choices = choices.theirs(captured_files::tree_path(path)?);
    }
    for path in &paths.keep_mine {
        choices = choices.keep_mine(captured_files::tree_path(path)?);
    }
    Ok(match moved {
        true => choices.moved(),
        false => choices,
    })
}

/// Returns the capture that a point sees.
pub fn captured_at(engine: &Engine, point: &Point) -> Result<Option<Snapshot>> {
    match engine.workspace_at(point)? {
        Some(root) => Ok(Some(Snapshot::of(engine, root)?)),
        None => Ok(None),
    }
}

/// Opens the requested folder, or the captured one if this user captured it.
pub fn open(
    (engine, task): (&Engine, &str),
    asked: Option<&Path>,
    capture: Option<&Snapshot>,
    anyway: bool,
) -> Result<Workspace> {
    let known = capture.map(|capture| place(&capture.info().folder));
    let folder = match (asked, &known) {
        (Some(folder), _) => folder.to_owned(),
        (None, Some(known)) if !own::is_own(engine, task)? => {
            return Err(own::not_named(engine, task, known));
        }
        (None, Some(known)) if known.is_dir() => known.clone(),
        (None, Some(known)) => {
            let shown = known.display();
            return Err(Failure::new(format!("{shown}, which was captured, is no folder now"))
                .hint("`--files DIR --moved` names it where it was moved to"));
        }
        (None, None) => {
            return Err(Failure::new("no folder was captured, so none is known")
                .hint("name it with --files DIR"));
        }
    };
    let options = WorkspaceOptions::default().anyway(anyway);
    Workspace::open(&folder, options).map_err(|error| {
        let kind = error.kind();
        let is_missing = !folder.exists();
        let failure = Failure::from(error);
        match kind {
            ErrorKind::NotFound if is_missing => {
                failure.hint("check the name: `--files DIR` names a folder that is there")
            }
            ErrorKind::Invalid | ErrorKind::NotFound => failure.hint(
                "`--files DIR` names the folder that goes back: one that you work in; --anyway \
                     takes your home all the same",
            ),
            _ => failure.hint("give yourself leave to read the folder, and ask again"),
        }
    })
}

/// Fails if the plan has conflicts: prints the plan, and has a hint with the choices.
pub fn check(plan: &Plan, out: &mut Out) -> Result<()> {
    let Some(first) = plan.conflicts.first() else {
        return Ok(());
    };
    match out.json {
        true => out.json(&form(plan, Value::Null, &[]))?,
        false => print(plan, out)?,
    }
    let number = plan.conflicts.len() as u64;
    let verb = if number == 1 { "is" } else { "are" };
    let things = count(number, "thing");
    let message = format!("{things} {verb} in the way: nothing was done");
    // A conflict of the whole folder has to be resolved first.
    let whole = plan.conflicts.iter().find(|it| it.path.is_none());
    Err(Failure::conflict(message).hint(way_out(whole.unwrap_or(first))))
}

fn way_out(conflict: &PathConflict) -> &'static str {
    match conflict.why {
        ConflictWhy::OtherFolder => {
            "`--moved` says that it is the folder that was captured; `--files DIR` names another \
             one"
        }
        ConflictWhy::Locked => "wait for the other, or end it, and ask again",
        ConflictWhy::Space => "make room on the folder's disk, and ask again",
        ConflictWhy::Denied => "give yourself leave to write to it, and ask again",
        ConflictWhy::Missing | ConflictWhy::Case => {
            "`--keep-mine PATH` leaves what is there; `milepost repair --dry-run` says what is \
             damaged"
        }
        _ => CHOOSE,
    }
}

/// Prints a plan line by line.
pub fn print(plan: &Plan, out: &mut Out) -> Result<()> {
    for line in plan.to_string().lines() {
        out.line(printable_lines(line))?;
    }
    if plan.is_empty() && plan.conflicts.is_empty() {
        out.line("the files are as they were then")?;
    }
    Ok(())
}

/// Returns a plan and its result as JSON.
pub fn form(plan: &Plan, lineage: Value, kept: &[PathBytes]) -> Value {
    json!({ "plan": plan, "lineage": lineage, "kept": kept })
}

/// Prints a plan, and that nothing was done.
pub fn dry(plan: &Plan, out: &mut Out) -> Result<()> {
    check(plan, out)?;
    if out.json {
        return Ok(out.json(&form(plan, Value::Null, &[]))?);
    }
    print(plan, out)?;
    Ok(out.line("this was a dry run: nothing was done")?)
}

/// Prints a finished restore.
pub fn went(went: &RestoreReport, note: &str, hint: &str, out: &mut Out) -> Result<()> {
    if out.json {
        let lineage = restore::form(&RestoredForm::of(&went.task)?)?;
        return Ok(out.json(&form(&went.plan, lineage, &went.kept))?);
    }
    print(&went.plan, out)?;
    if !went.kept.is_empty() {
        let number = count(went.kept.len() as u64, "file");
        out.line(format!("{number} changed by others, and kept:"))?;
        for path in &went.kept {
            out.line(format!("  {path}"))?;
        }
    }
    restore::lines(&RestoredForm::of(&went.task)?, note, &[hint], out)
}
