//! Events whose bodies were erased.

use std::borrow::Cow;

use milepost_codec::LineageId;
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// An event that does not say any more what it said. `milepost erase --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ErasedForm {
    /// The task.
    pub task: String,
    /// The lineage it was appended to.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// Its place in the lineage.
    pub offset: Big,
    /// Its kind, which stays.
    pub kind: Cow<'static, str>,
    /// RFC 3339, UTC.
    pub time: String,
    /// Microseconds since the Unix epoch.
    pub time_us: Big,
    /// Whether it had been erased before.
    pub was_erased: bool,
}
