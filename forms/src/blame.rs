//! Which event set a part of a state.

use std::borrow::Cow;

use milepost_codec::LineageId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;
use crate::values::there;

/// Who set a part of a state. `milepost blame --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct BlamedForm {
    /// The task.
    pub task: String,
    /// The part, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// The changes, newest first; only the last one where no history was asked for.
    pub changes: Vec<BlameForm>,
    /// The oldest offset that is there, where the value of then was set by an event that a cleanup
    /// let go of.
    pub before_oldest: Option<Big>,
    /// The value at the point; absent where there is none.
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// A change of a part of a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct BlameForm {
    /// The address of the event that made it.
    pub point: String,
    /// Its offset.
    pub offset: Big,
    /// The lineage that it was recorded in.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// Its kind.
    pub kind: Cow<'static, str>,
    /// RFC 3339, UTC.
    pub time: String,
    /// Microseconds since the Unix epoch.
    pub time_us: Big,
    /// The user that it names.
    pub user: Option<String>,
    /// The actor that it names.
    pub actor: Option<String>,
    /// The value before it; absent where there was none.
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value after it; absent where it was removed.
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}
