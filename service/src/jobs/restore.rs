//! Restores of a folder to a point, and undos.

use milepost::{Detail, Engine, Error, ErrorKind, Scope, Task};
use milepost_api::{FilesAsked, FilesForm, JobResult, Remedy, RestoredForm, UndoAsked};
use milepost_workspace::{Plan, RestoreReport, Workspace};

use crate::forms;
use crate::jobs::Told;
use crate::jobs::failure::{JobFailure, Result};
use crate::jobs::folder::{self, captured_at, choices, named};
use crate::jobs::progress::watched;
use crate::jobs::recovery::{self, Recovered};

/// Restores a folder to a point: its files, or all.
pub(crate) fn run(engine: &Engine, asked: &FilesAsked, told: Told<'_>) -> Result<JobResult> {
    if asked.scope == Scope::State {
        let text = "a job restores a folder: `scope` is `files` or `all`";
        return Err(JobFailure::new(ErrorKind::Invalid, text));
    }
    let to = engine.point(&asked.to)?;
    let task = engine.task(&to.task)?;
    let capture = captured_at(engine, &to)?.ok_or_else(|| {
        let text = format!("no folder was captured before {}", asked.to);
        let remedy = Remedy::Capture { task: to.task.clone() };
        JobFailure::new(ErrorKind::NotFound, text).remedy(remedy)
    })?;
    let workspace = folder::of_task(engine, &to.task, &asked.files, Some(&capture))?;
    let choices = choices(&asked.files);
    if asked.files.dry_run {
        recovery::none(engine, &task)?;
        let plan = workspace.plan(engine, &to, &choices)?;
        refuse_conflicts(&task, &workspace, &plan, JobResult::Restore)?;
        return planned(&task, &workspace, &plan, Recovered::default()).map(JobResult::Restore);
    }
    folder::make(&workspace)?;
    let recovered = recovery::recover(engine, &task, Some((&workspace, &choices)))?;
    recovery::none(engine, &task)?;
    // All conflicts are known before anything is recorded.
    let plan = workspace.plan(engine, &to, &choices)?;
    refuse_conflicts(&task, &workspace, &plan, JobResult::Restore)?;
    let description = asked.description.as_deref();
    let restore = || workspace.restore(engine, &to, asked.scope, description, &choices);
    let went = watched(&workspace, "restore", told, restore).map_err(in_the_way)?;
    restored(&workspace, went, recovered).map(JobResult::Restore)
}

/// Undoes the last restore or switch of a task, with the folder if it restored one.
pub(crate) fn undo(engine: &Engine, asked: &UndoAsked, told: Told<'_>) -> Result<JobResult> {
    let task = engine.task(&asked.task)?;
    if asked.files.dry_run {
        recovery::none(engine, &task)?;
    }
    match engine.undo(task.id()).restores_files()? {
        true => with_folder(engine, &task, asked, told),
        false => state_only(engine, &task, asked),
    }
}

/// Undoes a restore of the state.
fn state_only(engine: &Engine, task: &Task, asked: &UndoAsked) -> Result<JobResult> {
    let id = task.id();
    if asked.files.is_given() {
        recovery::none(engine, task)?;
        let text = format!("the last restore of {id} took no files back");
        let remedy = Remedy::UndoState { task: id.to_owned() };
        return Err(JobFailure::new(ErrorKind::Invalid, text).remedy(remedy));
    }
    let recovered = recovery::recover(engine, task, None)?;
    refuse_another(&recovered, id)?;
    let now = engine.undo(id).run().map_err(|error| nothing(error, id))?;
    Ok(JobResult::Undo(FilesForm {
        task: id.to_owned(),
        folder: None,
        files: None,
        restored: Some(forms::restored(&now)?),
        recovered: recovered.folder,
    }))
}

/// Undoes a restore of a folder.
fn with_folder(
    engine: &Engine,
    task: &Task,
    asked: &UndoAsked,
    told: Told<'_>,
) -> Result<JobResult> {
    let id = task.id();
    let capture = captured_at(engine, &task.point(task.head()?.next)?)?;
    let workspace = folder::of_task(engine, id, &asked.files, capture.as_ref())?;
    let choices = choices(&asked.files);
    if !asked.files.dry_run {
        folder::make(&workspace)?;
    }
    let recovered = match asked.files.dry_run {
        true => Recovered::default(),
        false => recovery::recover(engine, task, Some((&workspace, &choices)))?,
    };
    refuse_another(&recovered, id)?;
    recovery::none(engine, task)?;
    let plan = workspace.plan_undo(engine, id, &choices).map_err(|error| nothing(error, id))?;
    refuse_conflicts(task, &workspace, &plan, JobResult::Undo)?;
    if asked.files.dry_run {
        return planned(task, &workspace, &plan, recovered).map(JobResult::Undo);
    }
    let undo = || workspace.undo(engine, id, &choices);
    let went = watched(&workspace, "undo", told, undo).map_err(in_the_way)?;
    restored(&workspace, went, recovered).map(JobResult::Undo)
}

/// Fails if an interrupted restore was just undone: an undo would then revert the restore before
/// that one. An interrupted undo is done again.
fn refuse_another(recovered: &Recovered, task: &str) -> Result<()> {
    match &recovered.pending {
        Some(pending) if pending.begun.undoes.is_none() => {
            let text = "nothing more was undone: it would be the restore before that one";
            let remedy = Remedy::LookAgain { task: task.to_owned() };
            let form = FilesForm {
                task: task.to_owned(),
                folder: None,
                files: None,
                restored: None,
                recovered: recovered.folder.clone(),
            };
            let failure = JobFailure::new(ErrorKind::Conflict, text).remedy(remedy);
            Err(failure.result(JobResult::Undo(form)))
        }
        _ => Ok(()),
    }
}

/// Converts the error of an undo: there is nothing to undo, or a cleanup dropped the lineage.
fn nothing(error: Error, task: &str) -> JobFailure {
    let refused = matches!(error.detail(), Some(Detail::Refused { .. }));
    match error.kind() {
        ErrorKind::Invalid | ErrorKind::NotFound if !refused => {
            JobFailure::from(error).remedy(Remedy::LookAgain { task: task.to_owned() })
        }
        _ => in_the_way(error),
    }
}

/// Converts the error of a restore that another change preceded.
fn in_the_way(error: Error) -> JobFailure {
    let is_told = matches!(error.detail(), Some(Detail::Refused { .. } | Detail::Active { .. }));
    match error.kind() {
        ErrorKind::Conflict if !is_told => JobFailure::from(error).remedy(Remedy::Choose),
        _ => error.into(),
    }
}

/// Fails if a plan has conflicts, with the plan as the result.
fn refuse_conflicts(
    task: &Task,
    workspace: &Workspace,
    plan: &Plan,
    result: fn(FilesForm) -> JobResult,
) -> Result<()> {
    if plan.conflicts.is_empty() {
        return Ok(());
    }
    let text = format!("{} in {}", plan.summary(), workspace.folder().display());
    let form = planned(task, workspace, plan, Recovered::default())?;
    let failure = JobFailure::new(ErrorKind::Conflict, text).remedy(Remedy::Choose);
    Err(failure.result(result(form)))
}

/// Returns a plan of which nothing was done.
fn planned(
    task: &Task,
    workspace: &Workspace,
    plan: &Plan,
    recovered: Recovered,
) -> Result<FilesForm> {
    Ok(FilesForm {
        task: task.id().to_owned(),
        folder: Some(named(workspace.folder())),
        files: Some(forms::files_plan(plan)?),
        restored: None,
        recovered: recovered.folder,
    })
}

/// Returns a restore that was done.
fn restored(workspace: &Workspace, went: RestoreReport, recovered: Recovered) -> Result<FilesForm> {
    let form = planned(&went.task, workspace, &went.plan, recovered)?;
    let restored = RestoredForm { kept: Some(went.kept), ..forms::restored(&went.task)? };
    Ok(FilesForm { restored: Some(restored), ..form })
}
