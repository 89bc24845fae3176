//! Lineages as a person reads them.

use milepost::reading::AlignOptions;
use milepost::{Error, LineageId, Result, Task};
use milepost_api::calls::{
    Align, AlignQuery, MetricsQuery, Overview, OverviewQuery, Rows, RowsQuery, Search, SearchQuery,
    TaskMetrics, Turns, TurnsQuery,
};
use milepost_api::{AlignmentForm, Big, HitsForm, MetricsForm, OverviewForm, RowsForm, TurnsForm};
use serde::Serialize;

use super::page_size;
use crate::error::OperationResult;
use crate::reader::{EventSearch, HitsAsked, RowsAsked, TurnPlace, TurnsAsked};
use crate::serve::Serve;
use crate::tag::Tag;
use crate::view::{Seen, View, erasures};

/// Default and maximum number of rows.
pub const ROWS: (usize, usize) = (100, 5000);

/// Default and maximum number of turns.
pub const TURNS: (usize, usize) = (100, 1000);

/// Default and maximum numbers of buckets, of lines of an alignment, of hits.
const BUCKETS: (usize, usize) = (200, 2000);
const LINES: (usize, usize) = (100, 1000);
const HITS: (usize, usize) = (100, 1000);

/// Returns the tag of an answer about a lineage: by its head, its beginning, what was erased, which
/// checkpoints were removed, and the query.
fn tag_of(
    view: &View<'_>,
    task: &str,
    lineage: Option<u32>,
    query: &impl Serialize,
) -> OperationResult<Option<Tag>> {
    let task = view.task(task)?;
    let (erased, controls) = (erasures(&task)?, task.controls()?.hash);
    let lineage = match lineage {
        Some(id) => task.lineage_named(LineageId(id))?,
        None => task.lineage().clone(),
    };
    let info = lineage.info()?;
    let query = milepost::Json::from_value(query)?;
    let tag = Tag::new(info.head.hash).and(info.id).and(info.begin).and(controls);
    Ok(Some(tag.and(blake3::hash(query.text().as_bytes())).erased(erased)))
}

/// Returns the ends of a range, which must not end before its beginning.
///
/// # Errors
///
/// `Invalid`: it ends before its beginning.
pub fn ordered(from: Option<Big>, to: Option<Big>) -> Result<(Option<u64>, Option<u64>)> {
    match (from, to) {
        (Some(Big(from)), Some(Big(to))) if to < from => {
            let text = format!("a range ends at or behind its beginning, {from}, and not at {to}");
            Err(Error::invalid(text))
        }
        _ => Ok((from.map(|from| from.0), to.map(|to| to.0))),
    }
}

impl Serve for Rows {
    fn serve(self, view: &View<'_>) -> OperationResult<RowsForm> {
        let RowsQuery { lineage, from, to, limit, kind, text, failed } = self.query;
        let (from, to) = ordered(from, to)?;
        let search = EventSearch::default().kinds(kind.as_deref())?;
        let search = search.text(text.as_deref()).failed(failed);
        let limit = page_size(limit, ROWS.0, ROWS.1)?;
        let asked = RowsAsked { lineage: lineage.map(LineageId), from, to, limit, search };
        Ok(view.reader().rows(&view.task(&self.task)?, &asked)?)
    }

    fn tag(&self, view: &View<'_>) -> OperationResult<Option<Tag>> {
        tag_of(view, &self.task, self.query.lineage, &self.query)
    }

    fn is_complete(&self, answer: &RowsForm) -> bool {
        answer.next.is_none() || answer.items.len() == self.query.limit.unwrap_or(ROWS.0)
    }
}

impl Serve for Turns {
    fn serve(self, view: &View<'_>) -> OperationResult<TurnsForm> {
        let TurnsQuery { lineage, from, near, limit, text, failed } = self.query;
        let place = match (from, near) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("a page has `from` or `near`, not both").into());
            }
            (None, Some(Big(near))) => TurnPlace::Near(near),
            (from, None) => TurnPlace::From(from.unwrap_or_default().0),
        };
        let search = EventSearch::default().text(text.as_deref()).failed(failed);
        let limit = page_size(limit, TURNS.0, TURNS.1)?;
        let asked = TurnsAsked { lineage: lineage.map(LineageId), place, limit, search };
        Ok(view.reader().turns(&view.task(&self.task)?, &asked)?)
    }

    fn tag(&self, view: &View<'_>) -> OperationResult<Option<Tag>> {
        tag_of(view, &self.task, self.query.lineage, &self.query)
    }

    fn is_complete(&self, answer: &TurnsForm) -> bool {
        let limit = self.query.limit.unwrap_or(TURNS.0);
        answer.read == answer.head && (answer.next.is_none() || answer.items.len() == limit)
    }
}

impl Serve for Overview {
    fn serve(self, view: &View<'_>) -> OperationResult<OverviewForm> {
        let OverviewQuery { lineage, buckets } = self.query;
        let buckets = page_size(buckets, BUCKETS.0, BUCKETS.1)?;
        let task = view.task(&self.task)?;
        Ok(view.reader().overview(&task, lineage.map(LineageId), buckets)?)
    }

    fn tag(&self, view: &View<'_>) -> OperationResult<Option<Tag>> {
        tag_of(view, &self.task, self.query.lineage, &self.query)
    }

    fn is_complete(&self, answer: &OverviewForm) -> bool {
        answer.read == answer.head
    }
}

impl Serve for TaskMetrics {
    fn serve(self, view: &View<'_>) -> OperationResult<MetricsForm> {
        let MetricsQuery { lineage } = self.query;
        Ok(view.reader().metrics(&view.task(&self.task)?, lineage.map(LineageId))?)
    }

    fn tag(&self, view: &View<'_>) -> OperationResult<Option<Tag>> {
        tag_of(view, &self.task, self.query.lineage, &self.query)
    }

    fn is_complete(&self, answer: &MetricsForm) -> bool {
        answer.read == answer.head
    }
}

impl Serve for Align {
    fn serve(self, view: &View<'_>) -> OperationResult<AlignmentForm> {
        let AlignQuery { from, limit, texts } = self.query;
        let limit = page_size(limit, LINES.0, LINES.1)?;
        let side = |address: &str| -> Result<(Task, milepost::Point)> {
            let point = view.point(address)?;
            Ok((view.task(&point.task)?, point))
        };
        let (a, b) = (side(&self.address)?, side(&self.other)?);
        let lines = (from.unwrap_or_default().0, limit);
        Ok(view.reader().align([&a, &b], AlignOptions { texts }, lines)?)
    }

    fn tag(&self, view: &View<'_>) -> OperationResult<Option<Tag>> {
        let (a, b) = (Seen::at(view, &self.address)?, Seen::at(view, &self.other)?);
        let tasks = (view.task(&a.point.task)?, view.task(&b.point.task)?);
        let erased = (erasures(&tasks.0)?, erasures(&tasks.1)?);
        let AlignQuery { from, limit, texts } = &self.query;
        let tag = a.tag.and(b.hash).and(b.point.lineage);
        // Turns have the ids of checkpoints, which may be removed.
        let tag = tag.and(tasks.0.controls()?.hash).and(tasks.1.controls()?.hash);
        let tag = tag.and(from.unwrap_or_default()).and(limit.unwrap_or(LINES.0)).and(texts);
        Ok(Some(tag.erased(erased.0).erased(erased.1)))
    }
}

impl Serve for Search {
    fn serve(self, view: &View<'_>) -> OperationResult<HitsForm> {
        let SearchQuery { text, kind, failed, user, limit, cursor } = self.query;
        let search = EventSearch::default().kinds(kind.as_deref())?;
        let search = search.text(text.as_deref()).failed(failed);
        if search.takes_all() {
            let text = "a search has a `text`, a `kind`, or `failed=true`";
            return Err(Error::invalid(text).into());
        }
        let user = view.asks_about(user)?;
        let limit = page_size(limit, HITS.0, HITS.1)?;
        Ok(view.reader().hits(view, &HitsAsked { user, limit, cursor, search })?)
    }
}
