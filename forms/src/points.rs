//! Points, and what is there.

use milepost_codec::{CheckpointId, Hash, Json, LineageId};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::{Big, EventForm};

/// Where an address leads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct PointForm {
    /// An address that names it whatever the task goes on with: `TASK/LINEAGE@OFFSET`.
    pub address: String,
    /// The task.
    pub task: String,
    /// The lineage.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// It is before the event at this offset.
    pub offset: Big,
    /// The chain hash there, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
    /// The checkpoint that the address names, where it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub checkpoint: Option<CheckpointId>,
}

/// The event at a point. `milepost show --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct EventAt {
    /// The task.
    pub task: String,
    /// The event.
    #[serde(flatten)]
    pub event: EventForm,
    /// The chain hash behind it, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
    /// The checkpoint that the address names, where it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub checkpoint: Option<CheckpointId>,
}

/// What an event at a point has beside the event.
#[derive(Deserialize)]
struct Beside {
    task: String,
    hash: Hash,
    checkpoint: Option<CheckpointId>,
}

impl<'de> Deserialize<'de> for EventAt {
    /// The text is read twice: a flattened body would lose the words it was written in.
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(d)?;
        let event = serde_json::from_str(text.get()).map_err(Error::custom)?;
        let beside: Beside = serde_json::from_str(text.get()).map_err(Error::custom)?;
        Ok(Self { task: beside.task, event, hash: beside.hash, checkpoint: beside.checkpoint })
    }
}

/// A state, or a part of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(untagged)]
pub enum StateOrPart {
    /// All of it.
    State(StateForm),
    /// A part.
    Part(PartForm),
}

/// The state before the event at a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct StateForm {
    /// The point.
    pub point: PointForm,
    /// What `milepost state --json` prints.
    #[cfg_attr(feature = "schema", schema(value_type = Value))]
    pub state: Json,
}

/// A part of that state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct PartForm {
    /// The point.
    pub point: PointForm,
    /// The place, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// What is there.
    #[cfg_attr(feature = "schema", schema(value_type = Value))]
    pub value: Json,
}
