//! `undo`: takes back the last restore of a task, with the folder if files were restored.

use milepost::restore::PendingRestore;
use milepost::{Engine, Error, ErrorKind, Task};
use milepost_api::{RestoredForm, TaskForm};
use milepost_workspace::{Choices, RestoreReport};

use super::left_files::Left;
use super::{needed, restore, workspace_args};
use crate::args;
use crate::backend::{Backend, Local, folders, hints, recovery};
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, printable, words};

/// Message of an undo of the state.
const DONE: &str = "the last restore or switch is undone";

pub fn run(source: &dyn Backend, args: &args::Undo, out: &mut Out) -> Result<()> {
    match source.engine() {
        Some(engine) => here(engine, args, out),
        None => there(source, args, out),
    }
}

/// Undoes through the program that has the store open. That program undoes its own restores.
fn there(source: &dyn Backend, args: &args::Undo, out: &mut Out) -> Result<()> {
    if args.files.is_some() || args.options.is_given() {
        needed(source, "`undo` of files")?;
    }
    let task = source.task(&args.task)?;
    let name = words::encode(&task.id);
    let restored = source.undo(&task);
    let restored = restored.map_err(|failure| match failure.kind() {
        Some(ErrorKind::Invalid | ErrorKind::NotFound) => failure.hint(as_they_are(&name)),
        _ => failure,
    })?;
    went(source, &task, &restored, out)
}

/// Prints the lineage that a task continues on after an undo of the state.
fn went(
    source: &dyn Backend,
    had: &TaskForm,
    restored: &RestoredForm,
    out: &mut Out,
) -> Result<()> {
    let name = words::encode(&had.id);
    let left = Left::of(source, had, format!("{name}/{}", restored.lineage.id));
    let hint =
        format!("lineage {} stays: `milepost redo {name}` takes the undo back", left.lineage);
    restore::print(restored, DONE, Some(&left), &hint, out)
}

fn here(engine: &Engine, args: &args::Undo, out: &mut Out) -> Result<()> {
    let task = hints::task(engine, &args.task)?;
    let left = task.lineage().id();
    let name = words::encode(task.id());
    if args.options.dry_run {
        recovery::none(engine, &task)?;
    }
    if engine.undo(task.id()).restores_files()? {
        let Some((went, place)) = with_folder(engine, &task, args, out)? else {
            return Ok(());
        };
        let note = format!("the last restore is undone, with the files of {place}");
        let hint =
            format!("lineage {left} stays: `milepost rollback {name}/{left}` goes there again");
        return workspace_args::went(&went, &note, &hint, out);
    }
    if args.files.is_some() || args.options.is_given() {
        recovery::none(engine, &task)?;
        let task = printable(task.id());
        return Err(Failure::new(format!("the last restore of {task} took no files back"))
            .code_of(USAGE)
            .hint(format!("`milepost undo {name}` takes it back")));
    }
    not_another(recovery::recover(engine, &task, None)?, &name)?;
    let had = TaskForm::from(task.info()?);
    let task = engine.undo(task.id()).run().map_err(|error| failed(error, &name))?;
    went(&Local(engine), &had, &RestoredForm::of(&task)?, out)
}

/// Undoes the last restore with the folder. Returns `None` for a dry run.
fn with_folder(
    engine: &Engine,
    task: &Task,
    args: &args::Undo,
    out: &mut Out,
) -> Result<Option<(RestoreReport, String)>> {
    let name = words::encode(task.id());
    let failed = |error: Error| match error.kind() {
        ErrorKind::Invalid | ErrorKind::NotFound => failed(error, &name),
        _ => folders::failed(error),
    };
    let capture = workspace_args::captured_at(engine, &task.point(task.head()?.next)?)?;
    let workspace = workspace_args::open(
        (engine, task.id()),
        args.files.as_deref(),
        capture.as_ref(),
        args.options.anyway,
    )?;
    let choices: Choices = workspace_args::choices(&args.options.paths, args.options.moved)?;
    let choices = match args.options.take_ignored {
        true => choices.take_ignored(),
        false => choices,
    };
    if !args.options.dry_run {
        let named = Some((&workspace, &choices));
        not_another(recovery::recover(engine, task, named)?, &name)?;
        recovery::none(engine, task)?;
    }
    let plan = workspace.plan_undo(engine, task.id(), &choices);
    let plan = plan.map_err(failed)?;
    if args.options.dry_run {
        workspace_args::dry(&plan, out)?;
        return Ok(None);
    }
    workspace_args::check(&plan, out)?;
    let went = workspace.undo(engine, task.id(), &choices);
    Ok(Some((went.map_err(failed)?, folders::shown(&workspace))))
}

/// Fails if an interrupted restore was just undone: an undo would then undo the restore before that
/// one. An interrupted undo is done again.
fn not_another(taken_back: Option<PendingRestore>, name: &str) -> Result<()> {
    match taken_back {
        Some(pending) if pending.begun.undoes.is_none() => Err(Failure::conflict(
            "nothing more was undone: it would be the restore before that one",
        )
        .hint(format!(
            "`milepost lineages {name}` shows the active lineage; run it again to undo that \
             too"
        ))),
        _ => Ok(()),
    }
}

/// Adds a hint if there is nothing to undo, or if a cleanup dropped the lineage before.
fn failed(error: Error, name: &str) -> Failure {
    let refused = matches!(error.detail(), Some(milepost::Detail::Refused { .. }));
    let nothing = matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound) && !refused;
    let failure = Failure::from(error);
    match nothing {
        true => failure.hint(as_they_are(name)),
        false => failure,
    }
}

fn as_they_are(name: &str) -> String {
    format!("`milepost lineages {name}` shows the lineages as they are")
}
