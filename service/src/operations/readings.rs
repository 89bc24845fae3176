//! Lineages as a person reads them.

use milepost::reading::AlignOptions;
use milepost::{Error, Json, LineageId, Point, Result, Task};
use milepost_api::calls::{
    Align, AlignQuery, Overview, OverviewQuery, Rows, RowsQuery, Search, SearchQuery, Series,
    SeriesQuery, TaskMetrics, Turns, TurnsQuery,
};
use milepost_api::{
    AlignmentForm, Big, HitsForm, Listed, MetricsForm, OverviewForm, RowsForm, SeriesForm,
    TurnsForm,
};
use serde::Serialize;

use super::page_size;
use crate::error::OperationResult;
use crate::reader::{EventSearch, HitsRequest, RowsRequest, SeriesAxis, TurnPlace, TurnsRequest};
use crate::serve::{Serve, ServeTagged, serve_tagged};
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

/// Returns a task and the tag of an answer about a lineage of it: by its head, its beginning, its
/// erasures, its removed checkpoints, and the query.
fn seen(
    view: &View<'_>,
    task: &str,
    lineage: Option<u32>,
    query: &impl Serialize,
) -> OperationResult<(Tag, Task)> {
    let task = view.task(task)?;
    // Read before the events: an event erased in between must not get the old tag.
    let (erased, controls) = (erasures(&task)?, task.controls()?.hash);
    let lineage = match lineage {
        Some(id) => task.lineage_named(LineageId(id))?,
        None => task.lineage().clone(),
    };
    let info = lineage.info()?;
    let query = Json::from_value(query)?;
    let tag = Tag::new(info.head.hash).and(info.id).and(info.begin).and(controls);
    Ok((tag.and(blake3::hash(query.text().as_bytes())).erased(erased), task))
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

serve_tagged!(Rows, Turns, Overview, TaskMetrics, Align, Series);

impl ServeTagged for Rows {
    type Seen = (Task, RowsRequest);

    fn see(&self, view: &View<'_>) -> OperationResult<(Tag, (Task, RowsRequest))> {
        let RowsQuery { lineage, from, to, limit, kind, text, failed } = &self.query;
        let (from, to) = ordered(*from, *to)?;
        let search = EventSearch::default().kinds(kind.as_deref())?;
        let search = search.text(text.as_deref()).failed(*failed);
        let limit = page_size(*limit, ROWS.0, ROWS.1)?;
        let asked = RowsRequest { lineage: lineage.map(LineageId), from, to, limit, search };
        let (tag, task) = seen(view, &self.task, *lineage, &self.query)?;
        Ok((tag, (task, asked)))
    }

    fn answer(
        &self,
        view: &View<'_>,
        (task, asked): (Task, RowsRequest),
    ) -> OperationResult<RowsForm> {
        Ok(view.reader().rows(&task, &asked)?)
    }

    fn is_complete(&self, answer: &RowsForm) -> bool {
        answer.next.is_none() || answer.items.len() == self.query.limit.unwrap_or(ROWS.0)
    }
}

impl ServeTagged for Turns {
    type Seen = (Task, TurnsRequest);

    fn see(&self, view: &View<'_>) -> OperationResult<(Tag, (Task, TurnsRequest))> {
        let TurnsQuery { lineage, from, near, limit, text, failed } = &self.query;
        let place = match (from, near) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("a page has `from` or `near`, not both").into());
            }
            (None, Some(Big(near))) => TurnPlace::Near(*near),
            (from, None) => TurnPlace::From(from.unwrap_or_default().0),
        };
        let search = EventSearch::default().text(text.as_deref()).failed(*failed);
        let limit = page_size(*limit, TURNS.0, TURNS.1)?;
        let asked = TurnsRequest { lineage: lineage.map(LineageId), place, limit, search };
        let (tag, task) = seen(view, &self.task, *lineage, &self.query)?;
        Ok((tag, (task, asked)))
    }

    fn answer(
        &self,
        view: &View<'_>,
        (task, asked): (Task, TurnsRequest),
    ) -> OperationResult<TurnsForm> {
        Ok(view.reader().turns(&task, &asked)?)
    }

    fn is_complete(&self, answer: &TurnsForm) -> bool {
        let limit = self.query.limit.unwrap_or(TURNS.0);
        answer.read == answer.head && (answer.next.is_none() || answer.items.len() == limit)
    }
}

impl ServeTagged for Overview {
    type Seen = (Task, usize);

    fn see(&self, view: &View<'_>) -> OperationResult<(Tag, (Task, usize))> {
        let OverviewQuery { lineage, buckets } = self.query;
        let buckets = page_size(buckets, BUCKETS.0, BUCKETS.1)?;
        let (tag, task) = seen(view, &self.task, lineage, &self.query)?;
        Ok((tag, (task, buckets)))
    }

    fn answer(
        &self,
        view: &View<'_>,
        (task, buckets): (Task, usize),
    ) -> OperationResult<OverviewForm> {
        let lineage = self.query.lineage.map(LineageId);
        Ok(view.reader().overview(&task, lineage, buckets)?)
    }

    fn is_complete(&self, answer: &OverviewForm) -> bool {
        answer.read == answer.head
    }
}

impl ServeTagged for TaskMetrics {
    type Seen = Task;

    fn see(&self, view: &View<'_>) -> OperationResult<(Tag, Task)> {
        seen(view, &self.task, self.query.lineage, &self.query)
    }

    fn answer(&self, view: &View<'_>, task: Task) -> OperationResult<MetricsForm> {
        Ok(view.reader().metrics(&task, self.query.lineage.map(LineageId))?)
    }

    fn is_complete(&self, answer: &MetricsForm) -> bool {
        answer.read == answer.head
    }
}

impl ServeTagged for Align {
    /// Both histories, the first line and the number of lines.
    type Seen = ([(Task, Point); 2], (u64, usize));

    fn see(&self, view: &View<'_>) -> OperationResult<(Tag, Self::Seen)> {
        let AlignQuery { from, limit, texts } = &self.query;
        let limit = page_size(*limit, LINES.0, LINES.1)?;
        let from = from.unwrap_or_default().0;
        let (a, b) = (Seen::at(view, &self.address)?, Seen::at(view, &self.other)?);
        let tasks = (view.task(&a.point.task)?, view.task(&b.point.task)?);
        let erased = (erasures(&tasks.0)?, erasures(&tasks.1)?);
        let tag = a.tag.and(b.hash).and(b.point.lineage);
        // Turns have the ids of checkpoints, which may be removed.
        let tag = tag.and(tasks.0.controls()?.hash).and(tasks.1.controls()?.hash);
        let tag = tag.and(from).and(limit).and(texts).erased(erased.0).erased(erased.1);
        Ok((tag, ([(tasks.0, a.point), (tasks.1, b.point)], (from, limit))))
    }

    fn answer(
        &self,
        view: &View<'_>,
        ([a, b], lines): Self::Seen,
    ) -> OperationResult<AlignmentForm> {
        let options = AlignOptions { texts: self.query.texts };
        Ok(view.reader().align([&a, &b], options, lines)?)
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
        Ok(view.reader().hits(view, &HitsRequest { user, limit, cursor, search })?)
    }
}

/// Default and maximum number of buckets of a series.
const POINTS: (usize, usize) = (500, 2000);

/// Maximum number of histories of a series.
const SERIES: usize = 50;

/// Returns the axis of a name.
fn axis(name: Option<&str>) -> Result<SeriesAxis> {
    match name {
        None | Some("step") => Ok(SeriesAxis::Step),
        Some("time") => Ok(SeriesAxis::Time),
        Some("offset") => Ok(SeriesAxis::Offset),
        Some(name) => Err(Error::invalid(format!("x is `step`, `time` or `offset`, not {name:?}"))),
    }
}

impl ServeTagged for Series {
    type Seen = (Vec<(Task, Point)>, SeriesAxis, usize);

    fn see(&self, view: &View<'_>) -> OperationResult<(Tag, Self::Seen)> {
        let SeriesQuery { at, metric: _, x, points } = &self.query;
        if !(1..=SERIES).contains(&at.len()) {
            let text = format!("a series has 1 to {SERIES} addresses `at`, not {}", at.len());
            return Err(Error::invalid(text).into());
        }
        let axis = axis(x.as_deref())?;
        let most = page_size(*points, POINTS.0, POINTS.1)?;
        let points = at.iter().map(|address| {
            let point = view.point(address)?;
            Ok((view.task(&point.task)?, point))
        });
        let points = points.collect::<Result<Vec<_>>>()?;
        let mut all = blake3::Hasher::new();
        for (task, point) in &points {
            let erased = erasures(task)?;
            let begin = task.lineage_named(point.lineage)?.info()?.begin;
            all.update(format!("{point} {} {begin} {erased:?}\n", view.hash_at(point)?).as_bytes());
        }
        all.update(Json::from_value(&self.query)?.text().as_bytes());
        Ok((Tag::new(all.finalize()), (points, axis, most)))
    }

    fn answer(
        &self,
        view: &View<'_>,
        (points, axis, most): Self::Seen,
    ) -> OperationResult<Listed<SeriesForm>> {
        let items = view.reader().series(&points, &self.query.metric, axis, most)?;
        Ok(Listed { items, next: None })
    }

    fn is_complete(&self, answer: &Listed<SeriesForm>) -> bool {
        answer.items.iter().all(|item| item.read == item.head)
    }
}
