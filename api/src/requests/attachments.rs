//! Bodies of requests that attach data.

// tidy: one form

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use super::read;
use crate::AttachmentForm;

/// Data to attach to a checkpoint.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AttachRequest {
    /// An alias of the checkpoint, which may be marked later.
    #[serde(deserialize_with = "read::text")]
    pub alias: String,
    /// The data.
    #[serde(deserialize_with = "read::items")]
    pub attachments: Vec<AttachmentForm>,
}
