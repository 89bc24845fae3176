//! Retention: removed and retained data.

use milepost_codec::{CheckpointId, LineageId};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// The plan or the result of a cleanup. `milepost cleanup --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RetentionForm {
    /// True if nothing was changed.
    pub dry_run: bool,
    /// The tasks.
    pub tasks: Vec<RetainedForm>,
    /// The sums over the tasks.
    pub total: RetainedTotal,
    /// Captured folders to remove; `null` after the cleanup, or if they cannot be known.
    pub captures: Option<CapturesForm>,
    /// The reason why the captured folders to remove cannot be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captures_error: Option<String>,
    /// The file of the backup, as a path in the store's folder, if the request asked for one and
    /// something was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
}

/// The data of one task that a cleanup removes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RetainedForm {
    /// The id of the task.
    pub id: String,
    /// The owner.
    pub user: String,
    /// Checkpoints before the cleanup.
    pub checkpoints: Big,
    /// Checkpoints to remove.
    pub go: Big,
    /// Checkpoints to keep.
    pub stay: Big,
    /// Pinned checkpoints.
    pub pinned: Big,
    /// Ids of the removed checkpoints; `null` if only some were removed, or if they are unknown.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Vec<String>>))]
    pub removed: Option<Vec<CheckpointId>>,
    /// Lineages whose beginning is trimmed.
    pub trimmed: Vec<TrimmedForm>,
    /// Lineages that are removed completely.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<u32>))]
    pub dropped: Vec<LineageId>,
    /// Events to remove; `null` if only some were removed, or if the number is unknown.
    pub events: Option<Big>,
    /// The approximate size of the events, in bytes.
    pub bytes: Option<Big>,
    /// The reason why the cleanup of the task failed or is incomplete.
    pub error: Option<String>,
    /// True if the reason is an unfinished restore.
    #[serde(default)]
    pub held_up: bool,
}

/// A lineage whose beginning is trimmed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TrimmedForm {
    /// The lineage.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The new first offset.
    pub offset: Big,
}

/// Sums over tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RetainedTotal {
    /// Tasks.
    pub tasks: Big,
    /// Tasks that lose data.
    pub concerned: Big,
    /// Checkpoints to remove.
    pub go: Big,
    /// Checkpoints to keep.
    pub stay: Big,
    /// Pinned checkpoints.
    pub pinned: Big,
    /// Events to remove.
    pub events: Big,
    /// The approximate size of the events, in bytes.
    pub bytes: Big,
}

/// Captured folders that a cleanup removes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct CapturesForm {
    /// Captures.
    pub captures: Big,
    /// Chunks that no remaining capture needs.
    pub chunks: Big,
    /// The approximate size of the chunks, in bytes.
    pub bytes: Big,
}

impl RetainedForm {
    /// Returns true if the cleanup removes data of the task, or failed to.
    pub fn is_concerned(&self) -> bool {
        let none = self.go == Big(0) && self.trimmed.is_empty() && self.dropped.is_empty();
        !none || self.error.is_some()
    }
}
