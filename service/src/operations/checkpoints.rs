//! Checkpoints, and data attached to them.

use milepost::query::{CheckpointOrder as EngineOrder, CheckpointQuery as EngineQuery};
use milepost::{Error, LineageId, Result};
use milepost_api::calls::{
    AllCheckpoints, AllCheckpointsQuery, Attach, Attachments, Checkpoint, CheckpointOrder,
    CheckpointQuery, Checkpoints, Mark, Unmark, UnmarkAll, UnmarkQuery,
};
use milepost_api::{AttachedForm, AttachmentForm, Big, CheckpointForm, Listed, UnmarkedForm};
use serde_json::{Map, Value};

use super::{PAGE, PAGE_MAX, page_size};
use crate::error::OperationResult;
use crate::forms;
use crate::serve::{Serve, ServeTagged, serve_tagged};
use crate::tag::Tag;
use crate::view::View;

impl Serve for Checkpoints {
    fn serve(self, view: &View<'_>) -> OperationResult<Listed<CheckpointForm>> {
        let CheckpointQuery { lineage, status, filter, alias, before, order, limit, cursor } =
            self.query;
        let task = Some(self.task);
        let query =
            AllCheckpointsQuery { task, status, filter, alias, before, order, limit, cursor };
        list(view, lineage, query)
    }
}

impl Serve for AllCheckpoints {
    fn serve(self, view: &View<'_>) -> OperationResult<Listed<CheckpointForm>> {
        list(view, None, self.query)
    }
}

/// Returns a page of checkpoints, of one lineage or of all.
fn list(
    view: &View<'_>,
    lineage: Option<u32>,
    query: AllCheckpointsQuery,
) -> OperationResult<Listed<CheckpointForm>> {
    let AllCheckpointsQuery { task, status, filter, alias, before, order, limit, cursor } = query;
    let query = EngineQuery {
        task,
        lineage: lineage.map(LineageId),
        filter: metadata_filter(filter.as_deref())?,
        status,
        alias,
        before,
        order: engine_order(order),
        limit: Some(page_size(limit, PAGE, PAGE_MAX)?),
        cursor,
    };
    Ok(forms::page(view.query().checkpoints(&query)?, forms::checkpoint))
}

serve_tagged!(Checkpoint);

impl ServeTagged for Checkpoint {
    type Seen = milepost::Checkpoint;

    fn see(&self, view: &View<'_>) -> OperationResult<(Tag, milepost::Checkpoint)> {
        let checkpoint = view.query().checkpoint(&self.id)?;
        Ok((Tag::new(checkpoint.id), checkpoint))
    }

    fn answer(
        &self,
        _: &View<'_>,
        checkpoint: milepost::Checkpoint,
    ) -> OperationResult<CheckpointForm> {
        Ok(forms::checkpoint(checkpoint))
    }
}

impl Serve for Unmark {
    fn serve(self, view: &View<'_>) -> OperationResult<()> {
        Ok(view.retention().unmark(&[view.query().checkpoint(&self.id)?.id])?)
    }
}

impl Serve for UnmarkAll {
    fn serve(self, view: &View<'_>) -> OperationResult<UnmarkedForm> {
        let UnmarkQuery { task, lineage, alias, before, status, filter } = self.query;
        let filter = metadata_filter(filter.as_deref())?;
        // An empty object is not a filter: it would find every checkpoint.
        let is_bounded = task.is_some() || status.is_some() || !filter.is_empty();
        if !is_bounded && alias.is_none() && before.is_none() {
            let text = "without a filter this would remove every checkpoint: give `task`, `status` \
                        or a `filter` that is not empty";
            return Err(Error::invalid(text).into());
        }
        let lineage = lineage.map(LineageId);
        let bounds = EngineQuery { task, lineage, alias, before, ..EngineQuery::default() };
        let removed = view.retention().unmark_all(&EngineQuery { filter, status, ..bounds })?;
        Ok(UnmarkedForm { removed: Big(removed) })
    }
}

impl Serve for Attachments {
    fn serve(self, view: &View<'_>) -> OperationResult<Listed<AttachmentForm>> {
        let items = view.task(&self.task)?.attached(&self.query.alias)?;
        Ok(Listed { items: items.into_iter().map(forms::attachment).collect(), next: None })
    }
}

fn engine_order(order: CheckpointOrder) -> EngineOrder {
    match order {
        CheckpointOrder::Committed => EngineOrder::Committed,
        CheckpointOrder::Created => EngineOrder::Created,
        CheckpointOrder::Alias => EngineOrder::Alias,
    }
}

/// Parses a filter of metadata: a JSON object, as text.
fn metadata_filter(text: Option<&str>) -> Result<Vec<(String, Value)>> {
    let Some(text) = text else {
        return Ok(Vec::new());
    };
    let read: serde_json::Result<Map<String, Value>> = serde_json::from_str(text);
    let wrong = |error| Error::invalid(format!("`filter` is no JSON object: {error}"));
    Ok(read.map_err(wrong)?.into_iter().collect())
}

impl Serve for Mark {
    fn serve(self, view: &View<'_>) -> OperationResult<CheckpointForm> {
        let task = view.task(&self.task)?;
        let task = match self.body.lineage {
            Some(lineage) => task.lineage_named(lineage)?.as_task()?,
            None => task,
        };
        let mark = forms::mark_at(self.body).conditions(view.conditions().clone());
        Ok(forms::checkpoint(task.checkpoint(mark)?))
    }
}

impl Serve for Attach {
    fn serve(self, view: &View<'_>) -> OperationResult<AttachedForm> {
        let attachments = self.body.attachments.into_iter().map(forms::to_attachment);
        let added = view.task(&self.task)?.attach(&self.body.alias, attachments)?;
        Ok(AttachedForm { added })
    }
}
