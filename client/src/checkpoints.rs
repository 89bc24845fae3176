//! Checkpoints.

use milepost_codec::{Json, MarkStatus};
use milepost_forms::{Big, CheckpointForm, Listed};
use reqwest::Method;
use serde::Serialize;

use crate::client::Client;
use crate::conditions::Conditions;
use crate::error::Result;
use crate::request::Ask;

/// A checkpoint to be marked.
///
/// ```
/// use milepost_client::Mark;
/// use milepost_client::codec::MarkStatus;
///
/// let mark = Mark::new().label("draft").status(MarkStatus::Failure).alias("run-7");
/// # let _ = mark;
/// ```
#[derive(Debug, Clone, Default, Serialize)]
pub struct Mark {
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<MarkStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lineage: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Big>,
}

impl Mark {
    /// Of the present, as a success.
    pub fn new() -> Self {
        Self::default()
    }

    /// A name for people. Not all of it digits.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// How it went until there.
    #[must_use]
    pub fn status(mut self, status: MarkStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// An object of at most 64 KiB, kept word for word.
    #[must_use]
    pub fn metadata(mut self, metadata: Json) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// One more id that others know it by.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.aliases.push(alias.into());
        self
    }

    /// On this lineage; on the one that the task goes on with unless given.
    #[must_use]
    pub fn lineage(mut self, lineage: u32) -> Self {
        self.lineage = Some(lineage);
        self
    }

    /// The point before the event at this offset of the lineage.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.at = Some(Big(offset));
        self
    }
}

/// Which checkpoints of a task are listed.
#[derive(Debug, Clone, Default)]
pub struct CheckpointQuery {
    /// Only those that were marked on this lineage itself.
    pub lineage: Option<u32>,
    /// Only those of this status.
    pub status: Option<MarkStatus>,
    /// Only those whose metadata has all of this: an object.
    pub filter: Option<Json>,
    /// At most so many: 1 to 100, 20 unless given.
    pub limit: Option<u32>,
    /// Go on from here: the `next` of a page.
    pub cursor: Option<String>,
}

impl Client {
    /// Checkpoints of a task, newest first: a page of them.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task.
    pub async fn checkpoints(
        &self,
        task: &str,
        query: CheckpointQuery,
    ) -> Result<Listed<CheckpointForm>> {
        let ask = self.get(["v1", "tasks", task, "checkpoints"])?;
        listed(ask.query("lineage", query.lineage), query).read().await
    }

    /// Checkpoints of all tasks that one may see, newest first: a page of them. A lineage says
    /// nothing here.
    ///
    /// # Errors
    ///
    /// Those of every request.
    pub async fn all_checkpoints(&self, query: CheckpointQuery) -> Result<Listed<CheckpointForm>> {
        listed(self.get(["v1", "checkpoints"])?, query).read().await
    }

    /// Marks a checkpoint on a task's active lineage. Done once: see [the
    /// crate](crate#asking-again).
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Conflict`: it went on elsewhere meanwhile.
    pub async fn mark(&self, task: &str, mark: Mark) -> Result<CheckpointForm> {
        let path = ["v1", "tasks", task, "checkpoints"];
        let ask = self.post(path, &mark)?;
        Conditions::default().on(ask)?.read().await
    }

    /// A checkpoint, by its id or a unique beginning of 8 or more digits.
    ///
    /// # Errors
    ///
    /// `NotFound`. `Invalid`: it is no such beginning.
    pub async fn checkpoint(&self, id: &str) -> Result<CheckpointForm> {
        self.get(["v1", "checkpoints", id])?.read().await
    }

    /// Takes a checkpoint's mark away. Its events stay until a cleanup finds that nothing needs
    /// them.
    ///
    /// # Errors
    ///
    /// `NotFound`. `Conflict`: it is pinned.
    pub async fn unmark(&self, id: &str) -> Result<()> {
        let ask = self.ask(Method::DELETE, ["v1", "checkpoints", id])?;
        ask.done().await
    }
}

fn listed(ask: Ask, query: CheckpointQuery) -> Ask {
    let status = query.status.map(|status| match status {
        MarkStatus::Success => "success",
        MarkStatus::Failure => "failure",
    });
    let ask = ask.query("status", status).query("filter", query.filter);
    let ask = ask.query("limit", query.limit);
    ask.query("cursor", query.cursor)
}
