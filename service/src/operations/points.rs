//! Points.

use milepost::query::Condition;
use milepost::state::{ChangeLimits, diff_states_up_to};
use milepost_api::calls::{Bisect, Blame, Branch, Erase, FileChanges, Point};
use milepost_api::{
    Big, BisectedForm, BlamedForm, ErasedForm, FileChangesForm, LineageForm, PointForm,
};
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

serve_tagged!(Point, FileChanges, Blame, Bisect);

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
            view.retention().erase(&point, self.body.reason.as_deref())?;
        }
        Ok(erased)
    }
}

impl Serve for Branch {
    fn serve(self, view: &View<'_>) -> OperationResult<LineageForm> {
        let point = view.point(&self.address)?;
        let branch = view.branch(&point).description(self.body.description.as_deref());
        let branch = branch.activate(self.body.activate).conditions(view.conditions().clone());
        Ok(forms::lineage(branch.run()?.info()?))
    }
}

impl ServeTagged for Blame {
    type Seen = Seen;

    fn see(&self, view: &View<'_>) -> OperationResult<(Tag, Seen)> {
        let seen = Seen::at(view, &self.address)?;
        Ok((seen.tag.clone().erased(view.erased(&seen.point)?), seen))
    }

    fn answer(&self, view: &View<'_>, seen: Seen) -> OperationResult<BlamedForm> {
        let blamed = view.query().blame(&seen.point, &self.query.pointer, self.query.history)?;
        Ok(forms::blamed(&seen.point.task, &self.query.pointer, blamed))
    }
}

/// Maximum number and size of the changes that a found event shows.
const SHOWN: ChangeLimits = ChangeLimits { changes: 100, bytes: 1 << 20 };

impl ServeTagged for Bisect {
    type Seen = (Condition, Option<milepost::Point>, milepost::Point);

    fn see(&self, view: &View<'_>) -> OperationResult<(Tag, Self::Seen)> {
        let condition = self.query.when.parse::<Condition>()?;
        let bad = Seen::at(view, &self.address)?;
        let good = self.query.good.as_deref().map(|good| view.point(good)).transpose()?;
        let tag = bad.tag.clone().erased(view.erased(&bad.point)?);
        let tag = tag.and(blake3::hash(self.query.when.as_bytes()).to_hex());
        let tag = good.iter().fold(tag, |tag, good| tag.and(good.lineage).and(good.offset));
        Ok((tag, (condition, good, bad.point)))
    }

    fn answer(
        &self,
        view: &View<'_>,
        (condition, good, bad): Self::Seen,
    ) -> OperationResult<BisectedForm> {
        let search = view.query().first_where(good.as_ref(), &bad, &condition)?;
        let found = search.found();
        let found = found.ok_or_else(|| milepost::Error::invalid("no event was found"))?;
        let (event, hash) = view.event(&found)?;
        let (before, after) = (view.run_state(&found)?, view.run_state(&search.bad())?);
        let changes = diff_states_up_to(&before, &after, view.chunks().as_ref(), SHOWN)?;
        Ok(BisectedForm {
            found: found.to_string(),
            step: after.step.as_ref().map(|step| Big(step.number)),
            event: forms::event_at(found, event, hash),
            changes: forms::changes(changes),
            until: search.until().map(|until| until.to_string()),
            states: Big(search.looked()),
        })
    }
}
