//! Events whose bodies were erased.

use std::borrow::Cow;

use milepost_codec::LineageId;
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// An event whose body was erased. `milepost erase --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ErasedForm {
    /// The task.
    pub task: String,
    /// The lineage that the event was appended to.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The offset of the event.
    pub offset: Big,
    /// The kind of the event, which is kept.
    pub kind: Cow<'static, str>,
    /// RFC 3339, UTC.
    pub time: String,
    /// Microseconds since the Unix epoch.
    pub time_us: Big,
    /// True if the event was erased before this request.
    pub was_erased: bool,
}
