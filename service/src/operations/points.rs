//! Points.

use milepost_api::calls::{Erase, FileChanges, Point};
use milepost_api::{ErasedForm, FileChangesForm, PointForm};
use milepost_workspace::Snapshot;

use crate::error::{Error, OperationResult};
use crate::forms;
use crate::serve::{Serve, ServeTagged, serve_tagged};
use crate::tag::Tag;
use crate::view::{Seen, View};

/// The maximum number of changes of files in an answer.
const CHANGES: usize = 10_000;

/// The number of differing files from which folders are not compared.
const COMPARED: u64 = 100_000;

serve_tagged!(Point, FileChanges);

impl ServeTagged for Point {
    type Seen = Seen;

    fn see(&self, view: &View<'_>) -> OperationResult<(Tag, Seen)> {
        let seen = Seen::at(view, &self.address)?;
        Ok((seen.tag.clone(), seen))
    }

    fn answer(&self, _: &View<'_>, seen: Seen) -> OperationResult<PointForm> {
        Ok(seen.form())
    }
}

impl ServeTagged for FileChanges {
    type Seen = [Snapshot; 2];

    fn see(&self, view: &View<'_>) -> OperationResult<(Tag, [Snapshot; 2])> {
        let captured = |address: &str| view.captured(&view.point(address)?);
        let (before, after) = (captured(&self.address)?, captured(&self.other)?);
        let tag = Tag::new(before.info().root).and(after.info().root);
        Ok((tag, [before, after]))
    }

    fn answer(
        &self,
        _: &View<'_>,
        [before, after]: [Snapshot; 2],
    ) -> OperationResult<FileChangesForm> {
        if before.count_differences(&after, COMPARED)? >= COMPARED {
            return Err(Error::TooMuch(
                "more than 100,000 files differ: `milepost diff --files` compares them",
            ));
        }
        Ok(forms::file_changes(before.diff(&after)?, CHANGES))
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
