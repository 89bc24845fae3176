//! Results of requests that change something.

use std::borrow::Cow;

use milepost_codec::{CheckpointId, Hash, LineageId, RunControl};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::{Big, EventForm};

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
    /// The place of each event, in the order of the request, if each has its own key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<KeyedForm>,
}

/// The place of an event that has its own key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct KeyedForm {
    /// The offset.
    pub offset: Big,
    /// True if the event was there before, under the same key.
    pub repeated: bool,
}

/// The result of an append to a new lineage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct BranchedForm {
    /// The lineage.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The result of the append.
    pub appended: AppendedForm,
}

/// The control of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ControlForm {
    /// `idle`, `running`, `paused` or `stopped`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub control: RunControl,
    /// True if the control was changed before, under the same key.
    pub repeated: bool,
}

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

/// The result of taking a document of a hook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct HookTakenForm {
    /// One sentence that the agent has to tell its model; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
}

impl ErasedForm {
    /// Converts an event of a task, as it was before the erasure.
    pub fn of(task: &str, event: EventForm) -> Self {
        Self {
            task: task.to_owned(),
            lineage: event.lineage,
            offset: event.offset,
            was_erased: event.body.is_none(),
            kind: event.kind,
            time: event.time,
            time_us: event.time_us,
        }
    }
}
