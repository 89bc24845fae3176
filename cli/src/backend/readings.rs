//! Lineages as a person reads them: rows, turns, overviews, metrics, alignments.

use milepost::query::Condition;
use milepost::reading::AlignOptions;
use milepost::{Engine, LineageId, Point, Task};
use milepost_api::{
    AlignmentForm, BisectedForm, MetricsForm, OverviewForm, RowsForm, SeriesForm, TurnsForm,
};
use milepost_client::{ReadQuery, SeriesQuery};
use milepost_service::operations;
use milepost_service::reader::{EventSearch, Reader, RowsAsked, SeriesAxis, TurnPlace, TurnsAsked};

use super::Remote;
use crate::error::{Failure, Result};

/// Number of rows or turns of a page for a query without a limit.
const PAGE: usize = 100;

/// Reads lineages, and keeps what it learnt of them. `docs/PAGE.md` has the answers.
pub trait Readings {
    /// Returns events on one line each.
    fn rows(&self, task: &str, query: ReadQuery) -> Result<RowsForm>;

    /// Returns turns. While `read` is less than `head`, the same query reads on.
    fn turns(&self, task: &str, query: ReadQuery) -> Result<TurnsForm>;

    /// Returns counts in at most this many buckets.
    fn overview(&self, task: &str, lineage: LineageId, buckets: usize) -> Result<OverviewForm>;

    /// Returns the names of metrics, with their last, least and greatest values.
    fn metrics(&self, task: &str, lineage: LineageId) -> Result<MetricsForm>;

    /// Returns the values of a metric by step before some points, in at most this many buckets.
    fn series(&self, at: &[String], metric: &str, points: usize) -> Result<Vec<SeriesForm>>;

    /// Returns lines of the alignment of two histories, from one on.
    fn align(&self, a: &str, b: &str, from: u64, limit: usize) -> Result<AlignmentForm>;

    /// Returns the first event of a history after which a condition holds.
    fn bisect(&self, address: &str, when: &str) -> Result<BisectedForm>;
}

/// Reads the lineages of a store that this process has open.
pub struct LocalReadings<'a> {
    engine: &'a Engine,
    reader: Reader,
}

impl<'a> LocalReadings<'a> {
    pub fn new(engine: &'a Engine) -> Self {
        Self { engine, reader: Reader::default() }
    }

    fn point(&self, address: &str) -> Result<(Task, Point)> {
        let point = self.engine.point(address)?;
        Ok((self.engine.task(&point.task)?, point))
    }
}

impl Readings for LocalReadings<'_> {
    fn rows(&self, task: &str, query: ReadQuery) -> Result<RowsForm> {
        let search = EventSearch::default().kinds(query.kind.as_deref())?;
        let asked = RowsAsked {
            lineage: query.lineage,
            from: query.from,
            to: query.to,
            limit: query.limit.unwrap_or(PAGE),
            search: search.text(query.text.as_deref()).failed(query.failed),
        };
        Ok(self.reader.rows(&self.engine.task(task)?, &asked)?)
    }

    fn turns(&self, task: &str, query: ReadQuery) -> Result<TurnsForm> {
        let from = TurnPlace::From(query.from.unwrap_or(0));
        let search = EventSearch::default().text(query.text.as_deref()).failed(query.failed);
        let asked = TurnsAsked {
            lineage: query.lineage,
            place: query.near.map_or(from, TurnPlace::Near),
            limit: query.limit.unwrap_or(PAGE),
            search,
        };
        Ok(self.reader.turns(&self.engine.task(task)?, &asked)?)
    }

    fn overview(&self, task: &str, lineage: LineageId, buckets: usize) -> Result<OverviewForm> {
        Ok(self.reader.overview(&self.engine.task(task)?, Some(lineage), buckets)?)
    }

    fn metrics(&self, task: &str, lineage: LineageId) -> Result<MetricsForm> {
        Ok(self.reader.metrics(&self.engine.task(task)?, Some(lineage))?)
    }

    fn series(&self, at: &[String], metric: &str, points: usize) -> Result<Vec<SeriesForm>> {
        let at = at.iter().map(|address| self.point(address)).collect::<Result<Vec<_>>>()?;
        Ok(self.reader.series(&at, metric, SeriesAxis::Step, points)?)
    }

    fn align(&self, a: &str, b: &str, from: u64, limit: usize) -> Result<AlignmentForm> {
        let (a, b) = (self.point(a)?, self.point(b)?);
        Ok(self.reader.align([&a, &b], AlignOptions::default(), (from, limit))?)
    }

    fn bisect(&self, address: &str, when: &str) -> Result<BisectedForm> {
        let condition = when.parse::<Condition>().map_err(Failure::from)?;
        let view = self.engine.view();
        Ok(operations::bisect(&view, None, &self.engine.point(address)?, &condition)?)
    }
}

impl Readings for &Remote {
    fn rows(&self, task: &str, query: ReadQuery) -> Result<RowsForm> {
        self.wait(self.client.rows(task, query))
    }

    fn turns(&self, task: &str, query: ReadQuery) -> Result<TurnsForm> {
        self.wait(self.client.turns(task, query))
    }

    fn overview(&self, task: &str, lineage: LineageId, buckets: usize) -> Result<OverviewForm> {
        self.wait(self.client.overview(task, Some(lineage), Some(buckets)))
    }

    fn metrics(&self, task: &str, lineage: LineageId) -> Result<MetricsForm> {
        self.wait(self.client.task_metrics(task, Some(lineage)))
    }

    fn series(&self, at: &[String], metric: &str, points: usize) -> Result<Vec<SeriesForm>> {
        let (at, metric) = (at.to_vec(), metric.to_owned());
        let query = SeriesQuery { at, metric, points: Some(points), ..SeriesQuery::default() };
        Ok(self.wait(self.client.series(query))?.items)
    }

    fn align(&self, a: &str, b: &str, from: u64, limit: usize) -> Result<AlignmentForm> {
        self.wait(self.client.align(a, b, from, Some(limit)))
    }

    fn bisect(&self, address: &str, when: &str) -> Result<BisectedForm> {
        self.wait(self.client.bisect(address, when, None))
    }
}
