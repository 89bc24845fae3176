//! A lineage as a person reads it: rows, turns, overviews, metrics, alignments.

use bytes::Bytes;
use milepost_api::{
    AlignmentForm, HitsForm, Listed, MetricsForm, OverviewForm, RowsForm, SeriesForm, TurnsForm,
};
use milepost_codec::LineageId;

use crate::client::Client;
use crate::error::Result;

/// A page of rows or turns. Default: the first 100 of the active lineage.
#[derive(Debug, Clone, Default)]
pub struct ReadQuery {
    /// The lineage; `None` for the active one.
    pub lineage: Option<LineageId>,
    /// The offset of the first row, or the number of the first turn.
    pub from: Option<u64>,
    /// The end offset of rows, exclusive.
    pub to: Option<u64>,
    /// An offset, for turns: the page is around the turn that has it.
    pub near: Option<u64>,
    /// Maximum number of items.
    pub limit: Option<usize>,
    /// The kinds of events of rows, separated by commas; `None` for all.
    pub kind: Option<String>,
    /// Only events with this text, or turns with such an event.
    pub text: Option<String>,
    /// Only what failed.
    pub failed: bool,
}

/// A metric of several histories. Default: by steps, in 500 buckets each.
#[derive(Debug, Clone, Default)]
pub struct SeriesQuery {
    /// Addresses of the ends of the histories: 1 to 50.
    pub at: Vec<String>,
    /// The name of the metric.
    pub metric: String,
    /// The axis: `step`, `time` or `offset`.
    pub x: Option<String>,
    /// Maximum number of buckets for each address.
    pub points: Option<usize>,
}

impl Client {
    /// Returns events of a lineage on one line each. A page may have fewer rows than exist and a
    /// `next`.
    ///
    /// ```no_run
    /// use milepost_client::{Client, ReadQuery};
    ///
    /// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::new("http://127.0.0.1:7733")?;
    /// let failed = ReadQuery { failed: true, ..ReadQuery::default() };
    /// for row in client.rows("essay", failed).await?.items {
    ///     println!("{} {}", row.offset, row.text);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task or lineage. `Invalid`: a range that begins behind the head.
    pub async fn rows(&self, task: &str, query: ReadQuery) -> Result<RowsForm> {
        self.page(task, "rows", query)?.read().await
    }

    /// Returns turns of a lineage. While `read` is less than `head`, the same request reads on.
    ///
    /// # Errors
    ///
    /// As [`Client::rows`].
    pub async fn turns(&self, task: &str, query: ReadQuery) -> Result<TurnsForm> {
        self.page(task, "turns", query)?.read().await
    }

    fn page(&self, task: &str, of: &str, query: ReadQuery) -> Result<crate::request::ApiRequest> {
        Ok(self
            .get(["v1", "tasks", task, of])?
            .query("lineage", query.lineage.map(|lineage| lineage.0))
            .query("from", query.from)
            .query("to", query.to)
            .query("near", query.near)
            .query("limit", query.limit)
            .query("kind", query.kind)
            .query("text", query.text)
            .query("failed", query.failed.then_some(true)))
    }

    /// Searches the events of all tasks, the newest task first. Of the query, `text`, `kind`,
    /// `failed` and `limit` count. A page may have few hits, or none, and still a `next`.
    ///
    /// # Errors
    ///
    /// `Invalid`: nothing is looked for, or the cursor is not one of this list.
    pub async fn search(&self, query: ReadQuery, cursor: Option<&str>) -> Result<HitsForm> {
        let request = self.get(["v1", "search"])?.query("text", query.text);
        let request = request.query("kind", query.kind).query("limit", query.limit);
        let request = request.query("failed", query.failed.then_some(true));
        request.query("cursor", cursor).read().await
    }

    /// Returns counts of a lineage in at most this many buckets; 200 for `None`.
    ///
    /// # Errors
    ///
    /// As [`Client::rows`].
    pub async fn overview(
        &self,
        task: &str,
        lineage: Option<LineageId>,
        buckets: Option<usize>,
    ) -> Result<OverviewForm> {
        let request = self.get(["v1", "tasks", task, "overview"])?;
        let request = request.query("lineage", lineage.map(|lineage| lineage.0));
        request.query("buckets", buckets).read().await
    }

    /// Returns the metrics of a lineage.
    ///
    /// # Errors
    ///
    /// As [`Client::rows`].
    pub async fn task_metrics(
        &self,
        task: &str,
        lineage: Option<LineageId>,
    ) -> Result<MetricsForm> {
        let request = self.get(["v1", "tasks", task, "metrics"])?;
        request.query("lineage", lineage.map(|lineage| lineage.0)).read().await
    }

    /// Returns the values of a metric in several histories.
    ///
    /// # Errors
    ///
    /// `NotFound`: an address names nothing. `Invalid`: no or too many addresses.
    pub async fn series(&self, query: SeriesQuery) -> Result<Listed<SeriesForm>> {
        let mut request = self.get(["v1", "series"])?;
        for address in &query.at {
            request = request.query("at", Some(address));
        }
        let request = request.query("metric", Some(query.metric)).query("x", query.x);
        request.query("points", query.points).read().await
    }

    /// Aligns the turns of the histories before two points. Returns lines from one on; 100 of them
    /// for `None`.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such point. `Invalid`: a history of more than 20,000 turns.
    pub async fn align(
        &self,
        a: &str,
        b: &str,
        from: u64,
        limit: Option<usize>,
    ) -> Result<AlignmentForm> {
        let request = self.get(["v1", "points", a, "align", b])?;
        request.query("from", Some(from)).query("limit", limit).read().await
    }

    /// Returns a value of the body of the event at a point, by a JSON pointer (RFC 6901): a text as
    /// its bytes, other values as JSON.
    ///
    /// # Errors
    ///
    /// `NotFound`: the body has no such value, or was erased.
    pub async fn value(&self, address: &str, pointer: &str) -> Result<Bytes> {
        let request = self.get(["v1", "points", address, "value"])?.accept("text/plain");
        request.query("pointer", Some(pointer)).bytes().await.map(Bytes::from)
    }
}
