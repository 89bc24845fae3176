//! Points.

use milepost_api::calls::{Erase, FileChanges, Point};
use milepost_api::{ErasedForm, FileChangesForm, PointForm};
use milepost_workspace::Snapshot;

use crate::error::{Error, OperationResult};
use crate::forms;
use crate::serve::Serve;
use crate::tag::Tag;
use crate::view::{Seen, View};

/// The maximum number of changes of files in an answer.
const CHANGES: usize = 10_000;

/// The number of differing files from which folders are not compared.
const COMPARED: u64 = 100_000;

impl Serve for Point {
    fn serve(self, view: &View<'_>) -> OperationResult<PointForm> {
        Ok(Seen::at(view, &self.address)?.form())
    }

    fn tag(&self, view: &View<'_>) -> OperationResult<Option<Tag>> {
        Ok(Some(Seen::at(view, &self.address)?.tag))
    }
}

/// Returns the folders captured at two points.
fn captured(view: &View<'_>, call: &FileChanges) -> milepost::Result<(Snapshot, Snapshot)> {
    let captured = |address: &str| view.captured(&view.point(address)?);
    Ok((captured(&call.address)?, captured(&call.other)?))
}

impl Serve for FileChanges {
    fn serve(self, view: &View<'_>) -> OperationResult<FileChangesForm> {
        let (before, after) = captured(view, &self)?;
        if before.count_differences(&after, COMPARED)? >= COMPARED {
            return Err(Error::TooMuch(
                "more than 100,000 files differ: `milepost diff --files` compares them",
            ));
        }
        Ok(forms::file_changes(before.diff(&after)?, CHANGES))
    }

    fn tag(&self, view: &View<'_>) -> OperationResult<Option<Tag>> {
        let (before, after) = captured(view, self)?;
        Ok(Some(Tag::new(before.info().root).and(after.info().root)))
    }
}

impl Serve for Erase {
    fn serve(self, view: &View<'_>) -> OperationResult<ErasedForm> {
        let point = view.point(&self.address)?;
        let event = forms::event(view.event(&point)?.0);
        let erased = ErasedForm::of(&point.task, event);
        if !erased.was_erased {
            view.erase(&point, self.body.reason.as_deref())?;
        }
        Ok(erased)
    }
}
