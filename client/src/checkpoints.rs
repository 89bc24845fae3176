//! Checkpoints.

use milepost_api::{Big, CheckpointForm, CheckpointGiven, MarkGiven, calls};
use milepost_codec::{Json, LineageId, MarkCause, MarkStatus};

use crate::client::Client;
use crate::error::Result;

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

impl Client {
    /// Marks a checkpoint on a task's active lineage. Retries mark it once: see
    /// [the crate](crate#asking-again).
    ///
    /// # Errors
    ///
    /// `NotFound`: no such task. `Conflict`: another lineage was activated.
    pub async fn mark(&self, task: &str, mark: Mark) -> Result<CheckpointForm> {
        self.call(&calls::Mark::new(task, mark.0)).await
    }
}
