//! Checkpoints.

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
    /// The task it is of.
    pub task: String,
    /// The lineage it was marked on.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The marked point: before the event at this offset.
    pub at: Big,
    /// The chain hash there, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
    /// The offset of the mark's own event.
    pub mark: Big,
    /// The checkpoint before it.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub parent: Option<CheckpointId>,
    /// What it is called.
    pub label: Option<String>,
    /// Why it was marked.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub cause: MarkCause,
    /// How it went until there.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub status: MarkStatus,
    /// RFC 3339, UTC.
    pub time: String,
    /// Microseconds since the Unix epoch.
    pub time_us: Big,
    /// An object, word for word as it was given.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub metadata: Option<Json>,
    /// Ids that others know it by.
    pub aliases: Vec<String>,
}
