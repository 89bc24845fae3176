//! Appends.

use milepost_codec::{CheckpointId, Hash};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// What came of an append.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct AppendedForm {
    /// The offset of the first event.
    pub first: Big,
    /// The head behind the last of them, and behind the checkpoint where there is one.
    pub next: Big,
    /// The chain hash there, 64 hexadecimal digits; zeros where it was trimmed since.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
    /// The checkpoint behind them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub checkpoint: Option<CheckpointId>,
    /// Whether they had been appended before, under the same key.
    pub repeated: bool,
}
