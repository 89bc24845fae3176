//! Answers about a lineage. What ends at or before the fork is in the documents of the parent.

use std::collections::BTreeMap;

use milepost::{Lineage, LineageId, Offset};
use milepost_api::{Big, CheckpointForm, LineageForm, ReadMarkForm, SeriesBucketForm, TurnForm};
use milepost_formats::Result;
use milepost_service::forms;
use milepost_service::reader::{EventSearch, RowsRequest, SeriesAxis, TurnPlace, TurnsRequest};
use serde::Serialize;

use super::{Index, Source, states};
use crate::packing::Shown;

/// Number of events of a document of rows, and of states.
pub const EVENTS: u64 = 1_000;

/// Number of turns of a document.
const TURNS: u64 = 500;

/// Number of buckets of an overview.
const BUCKETS: usize = 200;

/// Number of buckets of a series.
const POINTS: usize = 500;

/// A lineage whose documents are made.
pub struct LineageDocuments<'a> {
    pub source: &'a Source<'a>,
    pub lineage: Lineage,
    /// The offset where the lineage was forked.
    pub fork: Offset,
}

/// The number of turns of a history.
#[derive(Serialize)]
struct CountForm {
    turns: Big,
    head: Big,
}

/// A bucket of a series, with its places on all axes: `x` is the step, `at` the offset.
#[derive(Serialize)]
struct PlacedBucket {
    #[serde(flatten)]
    bucket: SeriesBucketForm,
    time: Big,
}

/// A mark of a lineage.
#[derive(Serialize)]
struct MarkForm {
    id: String,
    lineage: LineageId,
    at: Big,
    mark: Big,
    label: Option<String>,
    aliases: Vec<String>,
    status: String,
}

impl LineageDocuments<'_> {
    pub fn put(&self, index: &mut Index) -> Result<()> {
        self.lineage.cancel().check()?;
        self.rows(index)?;
        self.turns(index)?;
        self.counts(index)?;
        self.marks(index)?;
        states::put(self, index)
    }

    /// Returns the name of a document of the lineage.
    pub fn name(&self, document: &str) -> String {
        format!("{document}/{}", self.lineage.id())
    }

    /// Returns the first offset of the first document of events.
    pub fn first(&self) -> Result<Offset> {
        let begin = self.lineage.info()?.begin;
        Ok((self.fork / EVENTS * EVENTS).max(begin))
    }

    fn rows(&self, index: &mut Index) -> Result<()> {
        let head = self.lineage.head()?.next;
        let mut from = self.first()?;
        while from < head {
            self.lineage.cancel().check()?;
            let page = from / EVENTS;
            let asked = RowsRequest {
                lineage: Some(self.lineage.id()),
                from: Some(from),
                to: Some((page + 1) * EVENTS),
                limit: usize::MAX,
                search: EventSearch::default(),
            };
            let mut rows = self.source.reader.rows(self.source.task, &asked)?;
            rows.items.iter_mut().for_each(|row| without_id(&mut row.mark));
            index.put(&format!("{}/{page}", self.name("rows")), &rows.items)?;
            from = (page + 1) * EVENTS;
        }
        Ok(())
    }

    fn turns(&self, index: &mut Index) -> Result<()> {
        let near = self.page_of_turns(TurnPlace::Near(self.fork), 1)?.0;
        let first = near.first().map_or(0, |turn| turn.number.0);
        let mut page = first / TURNS;
        loop {
            self.lineage.cancel().check()?;
            let (items, total) =
                self.page_of_turns(TurnPlace::From(page * TURNS), TURNS as usize)?;
            if !items.is_empty() {
                index.put(&format!("{}/{page}", self.name("turns")), &items)?;
            }
            page += 1;
            if page * TURNS >= total {
                let head = Big(self.lineage.head()?.next);
                return index.put(&self.name("count"), &CountForm { turns: Big(total), head });
            }
        }
    }

    fn page_of_turns(&self, place: TurnPlace, limit: usize) -> Result<(Vec<TurnForm>, u64)> {
        let asked = TurnsRequest {
            lineage: Some(self.lineage.id()),
            place,
            limit,
            search: EventSearch::default(),
        };
        let mut turns = self.source.reader.turns(self.source.task, &asked)?;
        turns.items.iter_mut().for_each(|turn| without_id(&mut turn.mark));
        Ok((turns.items, turns.total.0))
    }

    fn counts(&self, index: &mut Index) -> Result<()> {
        let (reader, task, lineage) =
            (self.source.reader, self.source.task, Some(self.lineage.id()));
        index.put(&self.name("overview"), &reader.overview(task, lineage, BUCKETS)?)?;
        let metrics = reader.metrics(task, lineage)?;
        let mut series = BTreeMap::new();
        for metric in &metrics.items {
            series.insert(&metric.name, self.series(&metric.name)?);
        }
        index.put(&self.name("metrics"), &metrics)?;
        index.put(&self.name("series"), &series)
    }

    /// Returns the values of a metric, in buckets.
    fn series(&self, metric: &str) -> Result<Vec<PlacedBucket>> {
        let point = self.lineage.point(self.lineage.head()?.next)?;
        let at = [(self.source.task.clone(), point)];
        let on = |axis| -> Result<Vec<SeriesBucketForm>> {
            let mut all = self.source.reader.series(&at, metric, axis, POINTS)?;
            Ok(all.pop().map(|series| series.buckets).unwrap_or_default())
        };
        let placed = on(SeriesAxis::Step)?.into_iter().zip(on(SeriesAxis::Time)?);
        Ok(placed.map(|(bucket, timed)| PlacedBucket { bucket, time: timed.x }).collect())
    }

    fn marks(&self, index: &mut Index) -> Result<()> {
        let mut query = milepost::query::CheckpointQuery {
            task: Some(self.source.shown.task.id.clone()),
            lineage: Some(self.lineage.id()),
            limit: Some(1_000),
            ..Default::default()
        };
        let mut marks = Vec::new();
        loop {
            let page = self.source.engine().query().checkpoints(&query)?;
            marks.extend(page.items.into_iter().map(|found| self.mark(forms::checkpoint(found))));
            query.cursor = page.next;
            if query.cursor.is_none() {
                break;
            }
        }
        index.put(&self.name("marks"), &marks)
    }

    fn mark(&self, form: CheckpointForm) -> MarkForm {
        let CheckpointForm {
            id,
            task: _,
            lineage,
            at,
            hash: _,
            mark,
            parent: _,
            label,
            cause: _,
            status,
            time: _,
            time_us: _,
            metadata: _,
            aliases,
            iteration: _,
            phase: _,
        } = form;
        let id = self.source.shown.id_of(lineage, mark.0).unwrap_or(id).to_string();
        MarkForm { id, lineage, at, mark, label, aliases, status: status.name().to_owned() }
    }
}

impl Shown {
    /// Returns the form of a lineage with the hashes of the export: those of a copy differ.
    pub fn with_hashes(&self, mut form: LineageForm) -> LineageForm {
        let log = milepost::ids::LogKind::Lineage(form.id);
        let mut heads = self.task.heads.iter();
        if let Some((_, head)) = heads.find(|(kind, _)| *kind == log) {
            form.hash = head.hash;
        }
        if let (Some(parent), Some(fork)) = (&mut form.parent, self.forks.get(&form.id)) {
            parent.hash = fork.hash;
        }
        form
    }
}

/// Removes the id of a checkpoint, which is long, and in the marks.
fn without_id(mark: &mut Option<ReadMarkForm>) {
    if let Some(mark) = mark {
        mark.id = None;
    }
}
