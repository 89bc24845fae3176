//! Restores of a folder to a point, and undos.

use milepost::restore::PendingRestore;
use milepost::{Detail, Engine, Error, ErrorKind, Point, Scope, Task};
use milepost_api::{
    FilesForm, FilesRequest, FolderRequest, JobResult, RecoveredFolder, Remedy, RestoredForm,
    UndoRequest,
};
use milepost_workspace::{Choices, PathBytes, Plan, RestoreReport, Snapshot, Workspace};

use crate::forms;
use crate::jobs::Told;
use crate::jobs::failure::{JobFailure, Result};
use crate::jobs::folder::{self, captured_at, choices, named};
use crate::jobs::progress::watched;
use crate::jobs::recovery;

/// Restores a folder to a point: its files, or all.
pub(crate) fn run(engine: &Engine, asked: &FilesRequest, told: Told<'_>) -> Result<JobResult> {
    if asked.scope == Scope::State {
        let text = "a job restores a folder: `scope` is `files` or `all`";
        return Err(JobFailure::new(ErrorKind::Invalid, text));
    }
    FolderRestore::to(engine, engine.point(&asked.to)?, asked)?.job(asked.files.dry_run, told)
}

/// Undoes the last restore or switch of a task, with the folder if it restored one.
pub(crate) fn undo(engine: &Engine, asked: &UndoRequest, told: Told<'_>) -> Result<JobResult> {
    let task = engine.task(&asked.task)?;
    match engine.undo(task.id()).restores_files()? {
        true => FolderRestore::undo(engine, task, &asked.files)?.job(asked.files.dry_run, told),
        false => state_only(engine, &task, asked),
    }
}

/// Undoes a restore of the state.
fn state_only(engine: &Engine, task: &Task, asked: &UndoRequest) -> Result<JobResult> {
    let id = task.id();
    if asked.files.is_given() {
        return Err(took_no_files(engine, task));
    }
    let recovered = recovery::recover(engine, task, None)?;
    let form = state_form(id, recovered.folder);
    let undone = match recovered.pending {
        Some(pending) if pending.begun.undoes.is_none() => Err(nothing_more(id)),
        _ => engine.undo(id).run().map_err(|error| nothing(error, id)),
    };
    match undone {
        Ok(now) => {
            let restored = Some(forms::restored(engine, &now)?);
            Ok(JobResult::Undo(FilesForm { restored, ..form }))
        }
        Err(failure) if form.recovered.is_some() => Err(failure.result(JobResult::Undo(form))),
        Err(failure) => Err(failure),
    }
}

/// The target of a restore with a folder.
enum Target<'a> {
    /// A point, with the scope and the purpose of the new lineage.
    Point(Point, Scope, Option<&'a str>),
    /// The lineage before the last restore.
    Before,
}

/// A restore with a folder, or the undo of one.
pub(crate) struct FolderRestore<'a> {
    engine: &'a Engine,
    task: Task,
    workspace: Workspace,
    choices: Choices,
    target: Target<'a>,
    /// The interrupted restore that was ended first.
    pub(crate) recovered: Option<RecoveredFolder>,
    /// The folder of a plan, if an interrupted restore is undone in it first.
    pub(crate) recovers: Option<PathBytes>,
}

impl<'a> FolderRestore<'a> {
    /// Finds the folder of a restore to a point.
    pub(crate) fn to(engine: &'a Engine, to: Point, asked: &'a FilesRequest) -> Result<Self> {
        let capture = captured_at(engine, &to)?.ok_or_else(|| {
            let text = format!("no folder was captured before {}", asked.to);
            let remedy = Remedy::Capture { task: to.task.clone() };
            JobFailure::new(ErrorKind::NotFound, text).remedy(remedy)
        })?;
        let task = engine.task(&to.task)?;
        let target = Target::Point(to, asked.scope, asked.description.as_deref());
        Self::of((engine, task), &asked.files, Some(&capture), target)
    }

    /// Finds the folder of the undo of a task's last restore, which restored files: the one that
    /// was captured before this restore, whichever was captured since; if it is gone, as one that
    /// was moved, that of the last capture.
    pub(crate) fn undo(engine: &'a Engine, task: Task, files: &FolderRequest) -> Result<Self> {
        let before = captured_at(engine, &engine.undo(task.id()).target()?)?;
        let is_there =
            |capture: &Snapshot| !folder::is_gone(&folder::place(&capture.info().folder));
        let capture = match before.filter(is_there) {
            Some(capture) => Some(capture),
            None => captured_at(engine, &task.point(task.head()?.next)?)?,
        };
        Self::of((engine, task), files, capture.as_ref(), Target::Before)
    }

    fn of(
        (engine, task): (&'a Engine, Task),
        files: &FolderRequest,
        capture: Option<&Snapshot>,
        target: Target<'a>,
    ) -> Result<Self> {
        let workspace = folder::of_task(engine, task.id(), files, capture)?;
        let (choices, recovered, recovers) = (choices(files), None, None);
        Ok(Self { engine, task, workspace, choices, target, recovered, recovers })
    }

    /// Returns the effects without changing anything.
    ///
    /// # Errors
    ///
    /// As [`FolderRestore::run`], but for conflicts, which are in the plan.
    pub(crate) fn plan(&mut self) -> Result<Plan> {
        if let Some(pending) = recovery::first(self.engine, &self.task, Some(&self.workspace))? {
            if self.is_of_another(&pending) {
                return Err(recovery::blocked(self.engine, &pending)?);
            }
            self.recovers = Some(named(self.workspace.folder()));
        }
        self.planned()
    }

    /// Restores. A restore that was interrupted in the folder is undone first.
    ///
    /// # Errors
    ///
    /// `Conflict`: paths are in the way; the result has the plan. `Unavailable`: a restore of the
    /// task was interrupted in another folder. Errors of the workspace and the engine. After a
    /// recovery, the result of each error names it.
    pub(crate) fn run(&mut self, told: Told<'_>) -> Result<RestoreReport> {
        self.choices.check()?;
        let pending = recovery::first(self.engine, &self.task, Some(&self.workspace))?;
        // A restore that is refused creates no folder.
        if folder::is_gone(self.workspace.folder()) {
            self.refuse_conflicts(&self.planned()?)?;
        }
        let at = (&self.workspace, &self.choices);
        let recovered = recovery::recover_in(self.engine, &self.task, pending, at)?;
        self.recovered = recovered.folder;
        let done = match recovered.pending {
            Some(pending) if self.is_of_another(&pending) => Err(nothing_more(self.task.id())),
            _ => self.done(told),
        };
        done.or_else(|failure| match &failure.result {
            None if self.recovered.is_some() => Err(failure.result(self.result(None)?)),
            _ => Err(failure),
        })
    }

    /// Does the restore as a job, or plans it.
    fn job(mut self, dry_run: bool, told: Told<'_>) -> Result<JobResult> {
        if dry_run {
            let plan = self.plan()?;
            self.refuse_conflicts(&plan)?;
            return self.result(Some((&plan, None)));
        }
        let RestoreReport { task, plan, kept, .. } = self.run(told)?;
        let restored = RestoredForm { kept: Some(kept), ..forms::restored(self.engine, &task)? };
        self.result(Some((&plan, Some(restored))))
    }

    fn planned(&self) -> Result<Plan> {
        let Self { engine, workspace, choices, .. } = self;
        match &self.target {
            Target::Point(to, ..) => Ok(workspace.plan(engine, to, choices)?),
            Target::Before => {
                let id = self.task.id();
                workspace.plan_undo(engine, id, choices).map_err(|error| nothing(error, id))
            }
        }
    }

    fn done(&self, told: Told<'_>) -> Result<RestoreReport> {
        // All conflicts are known before anything is recorded.
        self.refuse_conflicts(&self.planned()?)?;
        let Self { engine, workspace, choices, .. } = self;
        let done = match &self.target {
            Target::Point(to, scope, description) => watched(workspace, "restore", told, || {
                workspace.restore(engine, to, *scope, *description, choices)
            }),
            Target::Before => {
                watched(workspace, "undo", told, || workspace.undo(engine, self.task.id(), choices))
            }
        };
        done.or_else(|error| {
            let failure = in_the_way(error);
            match (&failure.remedy, self.planned()) {
                // A path was changed since the plan.
                (Some(Remedy::Choose), Ok(plan)) => {
                    Err(failure.result(self.result(Some((&plan, None)))?))
                }
                _ => Err(failure),
            }
        })
    }

    /// Returns `true` for an undo while a restore is pending: after its recovery, it would revert
    /// the restore before that one. An interrupted undo is done again.
    fn is_of_another(&self, pending: &PendingRestore) -> bool {
        matches!(self.target, Target::Before) && pending.begun.undoes.is_none()
    }

    /// Fails if a plan has conflicts, with the plan as the result.
    fn refuse_conflicts(&self, plan: &Plan) -> Result<()> {
        if plan.conflicts.is_empty() {
            return Ok(());
        }
        let text = format!("{} in {}", plan.summary(), self.workspace.folder().display());
        let failure = JobFailure::new(ErrorKind::Conflict, text).remedy(Remedy::Choose);
        Err(failure.result(self.result(Some((plan, None)))?))
    }

    /// Returns the result of a job: a plan, and the task after it if it was carried out.
    fn result(&self, plan: Option<(&Plan, Option<RestoredForm>)>) -> Result<JobResult> {
        let (plan, restored) = plan.unzip();
        let form = FilesForm {
            folder: Some(named(self.workspace.folder())),
            files: plan.map(forms::files_plan).transpose()?,
            restored: restored.flatten(),
            recovers: self.recovers.clone(),
            ..state_form(self.task.id(), self.recovered.clone())
        };
        Ok(match self.target {
            Target::Point(..) => JobResult::Restore(form),
            Target::Before => JobResult::Undo(form),
        })
    }
}

/// Returns the form of work without a folder, of which nothing was done.
fn state_form(task: &str, recovered: Option<RecoveredFolder>) -> FilesForm {
    let (task, folder, files, restored, recovers) = (task.to_owned(), None, None, None, None);
    FilesForm { task, folder, files, restored, recovered, recovers }
}

/// Returns the failure of an undo after the recovery of a restore.
fn nothing_more(task: &str) -> JobFailure {
    let text = "nothing more was undone: it would be the restore before that one";
    let remedy = Remedy::LookAgain { task: task.to_owned() };
    JobFailure::new(ErrorKind::Conflict, text).remedy(remedy)
}

/// Returns the failure of an undo with a folder of a restore that took no files. An interrupted
/// restore is named first.
pub(crate) fn took_no_files(engine: &Engine, task: &Task) -> JobFailure {
    match recovery::first(engine, task, None) {
        Err(blocked) => blocked,
        Ok(_) => restored_no_files(task.id()),
    }
}

/// Returns the failure of an undo with a folder after a restore without one.
fn restored_no_files(task: &str) -> JobFailure {
    let text = format!("the last restore of {task} took no files back");
    JobFailure::new(ErrorKind::Invalid, text).remedy(Remedy::UndoState { task: task.to_owned() })
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
