//! Restores, and the folders that they may go to.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use milepost::LineageId;
use milepost_api::calls::{Folders, Redo, Switch};
use milepost_api::{FolderForm, FoldersForm, RestoredForm, micros};
use milepost_workspace::Snapshot;

use crate::error::OperationResult;
use crate::forms;
use crate::serve::Serve;
use crate::view::View;

impl Serve for Switch {
    fn serve(self, view: &View<'_>) -> OperationResult<RestoredForm> {
        let lineage = view.task(&self.task)?.lineage_named(LineageId(self.body.lineage))?;
        let switch = view.switch(&lineage).conditions(view.conditions());
        Ok(forms::restored(&switch.run()?)?)
    }
}

impl Serve for Redo {
    fn serve(self, view: &View<'_>) -> OperationResult<RestoredForm> {
        let redo = view.redo(&self.task).conditions(view.conditions());
        Ok(forms::restored(&redo.run()?)?)
    }
}

/// Maximum number of folders that are listed, and of captures that are looked at for them.
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
