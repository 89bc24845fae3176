//! Checkpoints, and pinned ones.

use milepost_codec::{CheckpointId, Hash, Json, LineageId, MarkCause, MarkStatus};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct CheckpointForm {
    /// 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub id: CheckpointId,
    /// The task of the checkpoint.
    pub task: String,
    /// The lineage of the mark.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The marked point: before the event at this offset.
    pub at: Big,
    /// The chain hash at that point, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
    /// The offset of the mark's own event.
    pub mark: Big,
    /// The previous checkpoint.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub parent: Option<CheckpointId>,
    /// The label.
    pub label: Option<String>,
    /// The reason for the mark.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub cause: MarkCause,
    /// The status of the run up to that point.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub status: MarkStatus,
    /// RFC 3339, UTC.
    pub time: String,
    /// Microseconds since the Unix epoch.
    pub time_us: Big,
    /// The caller's object, byte for byte.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub metadata: Option<Json>,
    /// Ids of the checkpoint in other systems.
    pub aliases: Vec<String>,
    /// The iteration that the metadata names as `iteration`; `null` if it names none.
    #[serde(default)]
    pub iteration: Option<Big>,
    /// The phase that the metadata names as `phase`; `null` if it names none.
    #[serde(default)]
    pub phase: Option<String>,
}

/// Result of a removal of checkpoints by a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct UnmarkedForm {
    /// The number of checkpoints that were removed.
    pub removed: Big,
}

/// A checkpoint that no cleanup removes. `milepost pins --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct PinForm {
    /// The checkpoint's id, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub checkpoint: CheckpointId,
    /// The task of the checkpoint.
    pub task: String,
    /// The lineage of the checkpoint.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The marked point: before the event at this offset.
    pub at: Big,
    /// The label.
    pub label: Option<String>,
    /// The reason for the pin.
    pub reason: Option<String>,
    /// The time of the pin: RFC 3339, UTC.
    pub time: String,
    /// Microseconds since the Unix epoch.
    pub time_us: Big,
}
