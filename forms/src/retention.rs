//! Retention: what goes, and what stays.

use milepost_codec::{CheckpointId, LineageId};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// What goes and what stays, or went and stayed. `milepost cleanup --json` shows the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RetentionForm {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Tasks.
    pub tasks: Vec<RetainedForm>,
    /// Of all of them.
    pub total: RetainedTotal,
    /// What goes of captured folders; `null` where it is done, or cannot be known.
    pub captures: Option<CapturesForm>,
}

/// What goes of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RetainedForm {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub user: String,
    /// How many it has, or had.
    pub checkpoints: Big,
    /// Checkpoints that go.
    pub go: Big,
    /// Checkpoints that stay.
    pub stay: Big,
    /// Checkpoints that are pinned.
    pub pinned: Big,
    /// Which checkpoints go; `null` where not all of them went, or nobody knows.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Vec<String>>))]
    pub removed: Option<Vec<CheckpointId>>,
    /// Lineages that begin later.
    pub trimmed: Vec<TrimmedForm>,
    /// Lineages that go whole.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<u32>))]
    pub dropped: Vec<LineageId>,
    /// Events that go; `null` where not all of them went, or nobody knows.
    pub events: Option<Big>,
    /// About how many bytes they are.
    pub bytes: Option<Big>,
    /// Why it is not done, or not wholly.
    pub error: Option<String>,
    /// Whether that is a restore which was cut short.
    #[serde(default)]
    pub held_up: bool,
}

/// A lineage that begins later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TrimmedForm {
    /// The lineage.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The offset.
    pub offset: Big,
}

/// Sums over tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RetainedTotal {
    /// Tasks.
    pub tasks: Big,
    /// Tasks of which something goes.
    pub concerned: Big,
    /// Checkpoints that go.
    pub go: Big,
    /// Checkpoints that stay.
    pub stay: Big,
    /// Checkpoints that are pinned.
    pub pinned: Big,
    /// Events that go.
    pub events: Big,
    /// About how many bytes they are.
    pub bytes: Big,
}

/// What goes of captured folders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct CapturesForm {
    /// Captures.
    pub captures: Big,
    /// Chunks that no capture needs then.
    pub chunks: Big,
    /// About how many bytes they are.
    pub bytes: Big,
}

impl RetainedForm {
    /// Whether something of it goes, or should have gone.
    pub fn is_concerned(&self) -> bool {
        let none = self.go == Big(0) && self.trimmed.is_empty() && self.dropped.is_empty();
        !none || self.error.is_some()
    }
}
