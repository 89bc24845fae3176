//! Checkpoints that are kept.

use milepost_codec::{CheckpointId, LineageId};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// A checkpoint that is kept whatever a cleanup is asked for. `milepost pins --json` prints the
/// same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct PinForm {
    /// The checkpoint's id, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub checkpoint: CheckpointId,
    /// The task it is of.
    pub task: String,
    /// The lineage it was marked on.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// It is before the event at this offset.
    pub at: Big,
    /// What it is called.
    pub label: Option<String>,
    /// Why it is kept.
    pub reason: Option<String>,
    /// When it was pinned: RFC 3339, UTC.
    pub time: String,
    /// Microseconds since the Unix epoch.
    pub time_us: Big,
}
