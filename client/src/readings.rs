//! Metrics of several histories, and values of events.

use bytes::Bytes;
use milepost_api::{Listed, SeriesForm};

use crate::client::Client;
use crate::error::Result;

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
