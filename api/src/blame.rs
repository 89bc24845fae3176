//! Blame: the event that set a part of a state.

use std::borrow::Cow;

use milepost_codec::LineageId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;
use crate::values::there;

/// The events that set a part of a state. `milepost blame --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct BlamedForm {
    /// The task.
    pub task: String,
    /// The part, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// The changes, newest first; only the latest one unless the history was requested.
    pub changes: Vec<BlameForm>,
    /// The oldest readable offset, if the value there was set by an event that a cleanup removed.
    pub before_oldest: Option<Big>,
    /// The value at the point; absent if there is none.
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// One change of a part of a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct BlameForm {
    /// The address of the event that made the change.
    pub point: String,
    /// The offset of the event.
    pub offset: Big,
    /// The lineage that recorded the event.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The kind of the event.
    pub kind: Cow<'static, str>,
    /// RFC 3339, UTC.
    pub time: String,
    /// Microseconds since the Unix epoch.
    pub time_us: Big,
    /// The user that the event names.
    pub user: Option<String>,
    /// The actor that the event names.
    pub actor: Option<String>,
    /// The value before the change; absent if there was none.
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value after the change; absent if it was removed.
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}
