//! Appends.

use milepost_codec::{CheckpointId, Hash};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// The result of an append.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct AppendedForm {
    /// The offset of the first event.
    pub first: Big,
    /// The head after the last event, or after the checkpoint if one was marked.
    pub next: Big,
    /// The chain hash at `next`, 64 hexadecimal digits; zeros if it was trimmed since.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
    /// The checkpoint marked after the events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub checkpoint: Option<CheckpointId>,
    /// True if the same events were appended before, under the same key.
    pub repeated: bool,
}
