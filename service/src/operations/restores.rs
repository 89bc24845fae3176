//! Restores, and the folders that they may go to.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use milepost::state::Changes;
use milepost::{Detail, Error, ErrorKind, LineageId, Point, Scope};
use milepost_api::calls::{Folders, PlanRestore, PlanUndo, Redo, Restore, Switch, Undo};
use milepost_api::{
    ChangesForm, FolderForm, FoldersForm, RestoreAsked, RestorePlanForm, RestoredForm,
    UndoFolderAsked, micros,
};
use milepost_workspace::{Plan, RestoreReport, Snapshot};

use super::workspace_folder::WorkspaceFolder;
use crate::error::OperationResult;
use crate::forms;
use crate::serve::Serve;
use crate::view::View;

/// The maximum number of state changes of a plan.
const CHANGES: usize = 1000;

/// Resolves the point to restore, the scope and the folder.
fn resolve<'a>(
    asked: &RestoreAsked,
    view: &View<'a>,
) -> OperationResult<(Point, Scope, Option<WorkspaceFolder<'a>>)> {
    if !asked.has_files() {
        if asked.folder.is_some() || asked.choices.is_some() {
            let text = "`folder` and `choices` are for the scopes `files` and `all`";
            return Err(Error::invalid(text).into());
        }
        return Ok((view.point(&asked.to)?, Scope::State, None));
    }
    let engine = view.whole("files go back for admins: `state` is for all")?;
    let Some(folder) = &asked.folder else {
        return Err(Error::invalid("name the folder whose files go back in `folder`").into());
    };
    let point = view.point(&asked.to)?;
    let choices = forms::choices(asked.choices.clone().unwrap_or_default());
    let folder = WorkspaceFolder::of(engine, &point, folder, choices)?;
    Ok((point, asked.scope.unwrap_or(Scope::State), Some(folder)))
}

/// Returns the effects of a restore to a point on the state, with those on files.
fn planned(
    view: &View<'_>,
    to: Point,
    scope: Scope,
    files: Option<&Plan>,
) -> OperationResult<RestorePlanForm> {
    let from = view.present(&to)?;
    let changes = match scope {
        Scope::Files => Changes::default(),
        Scope::State | Scope::All => {
            view.changes(&[view.run_state(&from)?, view.run_state(&to)?], CHANGES)?
        }
    };
    let ChangesForm { items: changes, more } = forms::changes(changes);
    let (task, hashes) = (to.task.clone(), (view.hash_at(&from)?, view.hash_at(&to)?));
    let (from, to) = (forms::place(from, hashes.0), forms::place(to, hashes.1));
    let files = files.map(forms::files_plan).transpose()?;
    Ok(RestorePlanForm { task, scope, from, to, changes, more, files })
}

/// Returns the answer of a restore with files.
fn with_files(report: RestoreReport) -> milepost::Result<RestoredForm> {
    forms::with_files(forms::restored(&report.task)?, &report.plan, report.kept)
}

impl Serve for PlanRestore {
    fn serve(self, view: &View<'_>) -> OperationResult<RestorePlanForm> {
        let (point, scope, folder) = resolve(&self.body, view)?;
        let files = folder.map(|folder| folder.plan(&point)).transpose()?;
        planned(view, point, scope, files.as_ref())
    }
}

impl Serve for Restore {
    fn serve(self, view: &View<'_>) -> OperationResult<RestoredForm> {
        let (point, scope, folder) = resolve(&self.body, view)?;
        let description = self.body.description.as_deref();
        if let Some(folder) = folder {
            return Ok(with_files(folder.restore(&point, scope, description)?)?);
        }
        let restore = view.restore(&point).conditions(view.conditions().clone());
        let restored = match description {
            Some(description) => restore.description(description).run(),
            None => restore.run(),
        };
        Ok(forms::restored(&restored?)?)
    }
}

/// Error for callers of an undo with files who are no admins.
const UNDO_FILES: &str = "an undo that takes files back is for admins";

/// Returns the folder of an undo, which has to be one with files.
fn undo_folder<'a>(
    asked: UndoFolderAsked,
    view: &View<'a>,
    (target, takes_files): (&Point, bool),
) -> OperationResult<Option<WorkspaceFolder<'a>>> {
    if !asked.has_files() {
        return Ok(None);
    }
    let engine = view.whole(UNDO_FILES)?;
    if !takes_files {
        let text = "the last restore took no files back: an undo leaves them";
        return Err(Error::invalid(text).into());
    }
    let Some(folder) = asked.folder else {
        let text = "`choices` are about a folder: name it in `folder`";
        return Err(Error::invalid(text).into());
    };
    let choices = forms::choices(asked.choices.unwrap_or_default());
    Ok(Some(WorkspaceFolder::of(engine, target, &folder, choices)?))
}

impl Serve for PlanUndo {
    fn serve(self, view: &View<'_>) -> OperationResult<RestorePlanForm> {
        let undo = view.undo(&self.task);
        let (to, takes_files) = (undo.target()?, undo.restores_files()?);
        if takes_files {
            view.whole(UNDO_FILES)?;
        }
        let folder = undo_folder(self.body, view, (&to, takes_files))?;
        let files = folder.map(|folder| folder.plan_undo(&self.task)).transpose()?;
        let scope = if takes_files { Scope::All } else { Scope::State };
        planned(view, to, scope, files.as_ref())
    }
}

impl Serve for Undo {
    fn serve(self, view: &View<'_>) -> OperationResult<RestoredForm> {
        let undo = view.undo(&self.task).conditions(view.conditions().clone());
        let takes_files = undo.restores_files()?;
        if self.body.has_files()
            && let Some(folder) = undo_folder(self.body, view, (&undo.target()?, takes_files))?
        {
            return Ok(with_files(folder.undo(&self.task)?)?);
        }
        let undo = match view.whole(UNDO_FILES) {
            Err(forbidden) if takes_files => return Err(forbidden),
            // Another restore may come first.
            Err(_) => undo.scope(Scope::State),
            Ok(_) => undo,
        };
        let done = undo.run().map_err(|error| {
            // A retry does not help without the location of the files.
            let waits = matches!(error.detail(), Some(Detail::Pending { .. }));
            match error.kind() {
                ErrorKind::Unavailable if takes_files && !waits => {
                    Error::new(ErrorKind::Conflict, error.to_string())
                }
                _ => error,
            }
        });
        let form = forms::restored(&done?)?;
        Ok(if takes_files { form.with_files() } else { form })
    }
}

impl Serve for Switch {
    fn serve(self, view: &View<'_>) -> OperationResult<RestoredForm> {
        let lineage = view.task(&self.task)?.lineage_named(LineageId(self.body.lineage))?;
        let switch = view.switch(&lineage).conditions(view.conditions().clone());
        Ok(forms::restored(&switch.run()?)?)
    }
}

impl Serve for Redo {
    fn serve(self, view: &View<'_>) -> OperationResult<RestoredForm> {
        let redo = view.redo(&self.task).conditions(view.conditions().clone());
        Ok(forms::restored(&redo.run()?)?)
    }
}

/// Maximum number of folders that are listed, and of captures that are examined for them.
const FOLDERS: usize = 100;
const CAPTURES: usize = 10_000;

/// A capture that cannot be read is left out.
impl Serve for Folders {
    fn serve(self, view: &View<'_>) -> OperationResult<FoldersForm> {
        let engine = view.whole("folders of the service's machine are for admins")?;
        let captures = engine.query().captures(&self.task, CAPTURES)?;
        let mut more = captures.len() == CAPTURES;
        let handle = engine.task(&self.task)?;
        let mut items: Vec<FolderForm> = Vec::new();
        for capture in captures {
            let Ok(snapshot) = Snapshot::of(engine, capture.root) else {
                continue;
            };
            let folder = &snapshot.info().folder;
            if items.iter().any(|item| item.folder == *folder) {
                continue;
            }
            if items.len() == FOLDERS {
                more = true;
                break;
            }
            let at = handle.lineage_named(capture.lineage)?.point(capture.offset)?;
            items.push(FolderForm {
                at: at.to_string(),
                time: Some(capture.time_us).filter(|time_us| *time_us > 0).map(micros),
                exists: Path::new(OsStr::from_bytes(folder.as_bytes())).is_dir(),
                folder: folder.clone(),
            });
        }
        Ok(FoldersForm { items, more })
    }
}
