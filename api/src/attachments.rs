//! Data attached to checkpoints.

// tidy: two forms

use milepost_codec::Data;
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// Data that is attached to a checkpoint by an alias of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct AttachmentForm {
    /// The writer.
    pub writer: String,
    /// The writer's number of the data. Of several attachments with a number from 0 on, the first
    /// counts; of those with a negative one, the last.
    pub index: i64,
    /// The name of the data; may be empty.
    #[serde(default)]
    pub name: String,
    /// The data: a JSON value, or `{"base64"}` for bytes.
    #[cfg_attr(feature = "schema", schema(value_type = Value))]
    pub data: Data,
}

/// The result of attaching data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct AttachedForm {
    /// The number of new attachments. The others were there already.
    pub added: u64,
}
