//! Pinned checkpoints.

use milepost_codec::{CheckpointId, LineageId};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

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
