//! Checkpoints.

use milepost_api::{Big, CheckpointForm, CheckpointGiven, Listed, MarkGiven, UnmarkedForm};
use milepost_codec::{Json, LineageId, MarkCause, MarkStatus};
use reqwest::Method;

use crate::client::Client;
use crate::conditions::Conditions;
use crate::error::Result;
use crate::request::ApiRequest;

/// A checkpoint to mark.
///
/// ```
/// use milepost_client::Mark;
/// use milepost_client::codec::MarkStatus;
///
/// let mark = Mark::new().label("draft").status(MarkStatus::Failure).alias("run-7");
/// # let _ = mark;
/// ```
#[derive(Debug, Clone, Default)]
pub struct Mark(pub(crate) CheckpointGiven);

impl Mark {
    /// Creates a mark at the head, with status `Success`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a label for people. It must not consist of digits only.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.0.label = Some(label.into());
        self
    }

    /// Sets the status of the work up to the mark.
    #[must_use]
    pub fn status(mut self, status: MarkStatus) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Sets the reason for the mark. Default: `Manual`.
    #[must_use]
    pub fn cause(mut self, cause: MarkCause) -> Self {
        self.0.cause = Some(cause);
        self
    }

    /// Sets an object of at most 64 KiB, kept verbatim.
    #[must_use]
    pub fn metadata(mut self, metadata: Json) -> Self {
        self.0.metadata = Some(metadata);
        self
    }

    /// Adds an id of the checkpoint in another system.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.0.aliases.push(alias.into());
        self
    }

    /// Sets the lineage. Default: the active lineage.
    #[must_use]
    pub fn lineage(mut self, lineage: u32) -> Self {
        self.0.lineage = Some(LineageId(lineage));
        self
    }

    /// Marks the point before the event at this offset of the lineage.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.at = Some(Big(offset));
        self
    }
}

impl From<MarkGiven> for Mark {
    fn from(given: MarkGiven) -> Self {
        let MarkGiven { label, status, cause, metadata, aliases } = given;
        let (lineage, at) = (None, None);
        Self(CheckpointGiven { label, status, cause, metadata, aliases, lineage, at })
    }
}

/// Order of a list of checkpoints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CheckpointOrder {
    /// The newest commit first.
    #[default]
    Committed,
    /// The newest creation time first.
    Created,
    /// The greatest alias first; only checkpoints with one.
    Alias,
}

/// Filters for a list of checkpoints.
#[derive(Debug, Clone, Default)]
pub struct CheckpointQuery {
    /// Only marks on this lineage itself, without its ancestors.
    pub lineage: Option<u32>,
    /// Only checkpoints of this status.
    pub status: Option<MarkStatus>,
    /// Only checkpoints whose metadata contains all fields of this object.
    pub filter: Option<Json>,
    /// Only checkpoints with this alias, on any lineage of the task.
    pub alias: Option<String>,
    /// Only checkpoints with an alias that sorts before this text.
    pub before: Option<String>,
    /// The order of the list. A cursor belongs to the order of its list.
    pub order: CheckpointOrder,
    /// The page size: 1 to 100, default 20.
    pub limit: Option<u32>,
    /// The `next` of the previous page.
    pub cursor: Option<String>,
}

impl Client {
    /// Returns a page of a task's checkpoints, newest first.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task.
    pub async fn checkpoints(
        &self,
        task: &str,
        query: CheckpointQuery,
    ) -> Result<Listed<CheckpointForm>> {
        let request = self.get(["v1", "tasks", task, "checkpoints"])?;
        listed(request.query("lineage", query.lineage), query).read().await
    }

    /// Returns a page of the checkpoints of all visible tasks, newest first. Ignores the query's
    /// lineage. A query by alias is of one task: see [`Client::checkpoints`].
    ///
    /// # Errors
    ///
    /// `Invalid`: the query is by alias.
    pub async fn all_checkpoints(&self, query: CheckpointQuery) -> Result<Listed<CheckpointForm>> {
        listed(self.get(["v1", "checkpoints"])?, query).read().await
    }

    /// Marks a checkpoint on a task's active lineage. Retries mark it once: see
    /// [the crate](crate#asking-again).
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task. `Conflict`: another lineage was activated.
    pub async fn mark(&self, task: &str, mark: Mark) -> Result<CheckpointForm> {
        let path = ["v1", "tasks", task, "checkpoints"];
        let request = self.post(path, &mark.0)?;
        Conditions::default().on(request)?.read().await
    }

    /// Returns a checkpoint by its id, by a unique prefix of at least 8 digits, or by an alias.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such checkpoint. `Invalid`: the text is no such prefix.
    pub async fn checkpoint(&self, id: &str) -> Result<CheckpointForm> {
        self.get(["v1", "checkpoints", id])?.read().await
    }

    /// Removes a checkpoint's mark. Its events stay until a cleanup finds them unneeded.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such checkpoint. `Conflict`: it is pinned.
    pub async fn unmark(&self, id: &str) -> Result<()> {
        let request = self.request(Method::DELETE, ["v1", "checkpoints", id])?;
        request.finish().await
    }

    /// Removes the marks of all checkpoints that a query finds, of one task or of all visible ones,
    /// except pinned checkpoints. Returns their number.
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task. `Invalid`: there is neither a task nor a filter, or the query has
    /// a page or an order.
    pub async fn unmark_all(&self, task: Option<&str>, query: CheckpointQuery) -> Result<u64> {
        let request = self.request(Method::DELETE, ["v1", "checkpoints"])?;
        let request = request.query("task", task).query("lineage", query.lineage);
        let removed: UnmarkedForm = listed(request, query).read().await?;
        Ok(removed.removed.0)
    }
}

fn listed(request: ApiRequest, query: CheckpointQuery) -> ApiRequest {
    let status = query.status.map(|status| match status {
        MarkStatus::Success => "success",
        MarkStatus::Failure => "failure",
    });
    let order = match query.order {
        CheckpointOrder::Committed => None,
        CheckpointOrder::Created => Some("created"),
        CheckpointOrder::Alias => Some("alias"),
    };
    let request = request.query("status", status).query("filter", query.filter);
    let request = request.query("alias", query.alias).query("before", query.before);
    let request = request.query("order", order);
    let request = request.query("limit", query.limit);
    request.query("cursor", query.cursor)
}
