//! Restores, and the folders that they may go to.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use milepost::state::Changes;
use milepost::{Detail, Engine, Error, ErrorKind, LineageId, Point, Scope};
use milepost_api::calls::{Folders, PlanRestore, PlanUndo, Redo, Restore, Switch, Undo};
use milepost_api::{
    ChangesForm, ChoicesRequest, FilesRequest, FolderForm, FolderRequest, FoldersForm,
    RestorePlanForm, RestoreRequest, RestoredForm, UndoFolderRequest, micros,
};
use milepost_workspace::Snapshot;

use crate::error::OperationResult;
use crate::forms;
use crate::jobs::{FolderRestore, took_no_files};
use crate::serve::Serve;
use crate::view::View;

/// The maximum number of state changes of a plan.
const CHANGES: usize = 1000;

/// Resolves the point to restore, and the folder's part of the request unless files stay.
fn resolve<'a>(
    asked: &RestoreRequest,
    view: &View<'a>,
) -> OperationResult<(Point, Option<(&'a Engine, FilesRequest)>)> {
    if !asked.has_files() {
        if asked.folder.is_some() || asked.choices.is_some() {
            let text = "`folder` and `choices` are for the scopes `files` and `all`";
            return Err(Error::invalid(text).into());
        }
        return Ok((view.point(&asked.to)?, None));
    }
    let engine = view.whole("files go back for admins: `state` is for all")?;
    if asked.folder.is_none() {
        return Err(Error::invalid("name the folder whose files go back in `folder`").into());
    }
    let files = FilesRequest {
        to: asked.to.clone(),
        scope: asked.scope.unwrap_or(Scope::State),
        files: folder_asked(asked.folder.clone(), asked.choices.clone()),
        description: asked.description.clone(),
    };
    Ok((view.point(&asked.to)?, Some((engine, files))))
}

/// Returns a folder of a request. Home folders need `--anyway`, which only the command line has.
fn folder_asked(folder: Option<PathBuf>, choices: Option<ChoicesRequest>) -> FolderRequest {
    FolderRequest { folder, choices: choices.unwrap_or_default(), ..FolderRequest::default() }
}

/// Returns the effects of a restore to a point on the state, with those on files.
fn planned(
    view: &View<'_>,
    to: Point,
    scope: Scope,
    mut folder: Option<FolderRestore<'_>>,
) -> OperationResult<RestorePlanForm> {
    let files = folder.as_mut().map(FolderRestore::plan).transpose()?;
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
    let files = files.as_ref().map(forms::files_plan).transpose()?;
    let recovers = folder.and_then(|folder| folder.recovers);
    Ok(RestorePlanForm { task, scope, from, to, changes, more, files, recovers })
}

/// Restores with a folder, and answers.
fn with_files(view: &View<'_>, mut folder: FolderRestore<'_>) -> OperationResult<RestoredForm> {
    let report = folder.run(&|_| {})?;
    let form = forms::with_files(view.restored(&report.task)?, &report.plan, report.kept)?;
    Ok(RestoredForm { recovered: folder.recovered, ..form })
}

impl Serve for PlanRestore {
    fn serve(self, view: &View<'_>) -> OperationResult<RestorePlanForm> {
        let (point, files) = resolve(&self.body, view)?;
        let Some((engine, asked)) = files else {
            return planned(view, point, Scope::State, None);
        };
        let folder = FolderRestore::to(engine, point.clone(), &asked)?;
        planned(view, point, asked.scope, Some(folder))
    }
}

impl Serve for Restore {
    fn serve(self, view: &View<'_>) -> OperationResult<RestoredForm> {
        let (point, files) = resolve(&self.body, view)?;
        if let Some((engine, asked)) = files {
            return with_files(view, FolderRestore::to(engine, point, &asked)?);
        }
        let restore = view.restore(&point).conditions(view.conditions().clone());
        let restored = match self.body.description {
            Some(description) => restore.description(description).run(),
            None => restore.run(),
        };
        Ok(view.restored(&restored?)?)
    }
}

/// Error for callers of an undo with files who are no admins.
const UNDO_FILES: &str = "an undo that takes files back is for admins";

/// Returns the undo with the folder of a request.
fn undo_folder<'a>(
    asked: UndoFolderRequest,
    view: &View<'a>,
    (task, takes_files): (&str, bool),
) -> OperationResult<Option<FolderRestore<'a>>> {
    if !asked.has_files() {
        return Ok(None);
    }
    let engine = view.whole(UNDO_FILES)?;
    if !takes_files {
        return Err(took_no_files(engine, &engine.task(task)?).into());
    }
    if asked.folder.is_none() {
        let text = "`choices` are about a folder: name it in `folder`";
        return Err(Error::invalid(text).into());
    }
    let files = folder_asked(asked.folder, asked.choices);
    Ok(Some(FolderRestore::undo(engine, engine.task(task)?, &files)?))
}

impl Serve for PlanUndo {
    fn serve(self, view: &View<'_>) -> OperationResult<RestorePlanForm> {
        let undo = view.undo(&self.task);
        let (to, takes_files) = (undo.target()?, undo.restores_files()?);
        if takes_files {
            view.whole(UNDO_FILES)?;
        }
        let folder = undo_folder(self.body, view, (&self.task, takes_files))?;
        let scope = if takes_files { Scope::All } else { Scope::State };
        planned(view, to, scope, folder)
    }
}

impl Serve for Undo {
    fn serve(self, view: &View<'_>) -> OperationResult<RestoredForm> {
        let undo = view.undo(&self.task).conditions(view.conditions().clone());
        let takes_files = undo.restores_files()?;
        if let Some(folder) = undo_folder(self.body, view, (&self.task, takes_files))? {
            return with_files(view, folder);
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
        let form = view.restored(&done?)?;
        Ok(if takes_files { form.with_files() } else { form })
    }
}

impl Serve for Switch {
    fn serve(self, view: &View<'_>) -> OperationResult<RestoredForm> {
        let lineage = view.task(&self.task)?.lineage_named(LineageId(self.body.lineage))?;
        let switch = view.switch(&lineage).conditions(view.conditions().clone());
        Ok(view.restored(&switch.run()?)?)
    }
}

impl Serve for Redo {
    fn serve(self, view: &View<'_>) -> OperationResult<RestoredForm> {
        let redo = view.redo(&self.task).conditions(view.conditions().clone());
        Ok(view.restored(&redo.run()?)?)
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
