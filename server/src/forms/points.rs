//! Points, and what is there.

use milepost::{CheckpointId, Event, Hash, LineageId, Point};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{Big, EventForm};

/// Where an address leads.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PointForm {
    /// An address that names it whatever the task goes on with: `TASK/LINEAGE@OFFSET`.
    address: String,
    task: String,
    #[schema(value_type = u32)]
    lineage: LineageId,
    /// It is before the event at this offset.
    offset: Big,
    /// The chain hash there, 64 hexadecimal digits.
    #[schema(value_type = String)]
    hash: Hash,
    /// The checkpoint that the address names, where it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    checkpoint: Option<CheckpointId>,
}

impl PointForm {
    pub(crate) fn of(point: &Point, hash: Hash) -> Self {
        Self {
            address: point.to_string(),
            task: point.task.clone(),
            lineage: point.lineage,
            offset: Big(point.offset),
            hash,
            checkpoint: point.checkpoint,
        }
    }
}

/// The event at a point. `milepost show --json` prints the same.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventAt {
    task: String,
    #[serde(flatten)]
    event: EventForm,
    /// The chain hash behind it, 64 hexadecimal digits.
    #[schema(value_type = String)]
    hash: Hash,
    /// The checkpoint that the address names, where it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    checkpoint: Option<CheckpointId>,
}

impl EventAt {
    pub(crate) fn of(point: Point, event: Event, hash: Hash) -> Self {
        Self {
            task: point.task,
            event: event.into(),
            hash,
            checkpoint: point.checkpoint,
        }
    }
}

/// A state, or a part of one.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "it is written as it is read; this says what it is"
)]
pub(crate) enum StateOrPart {
    State(StateForm),
    Part(PartForm),
}

/// The state before the event at a point.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "it is written as it is read; this says what it is"
)]
pub(crate) struct StateForm {
    point: PointForm,
    /// What `milepost state --json` prints.
    state: Value,
}

/// A part of that state.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "it is written as it is read; this says what it is"
)]
pub(crate) struct PartForm {
    point: PointForm,
    /// The place, as a JSON pointer (RFC 6901).
    pointer: String,
    /// What is there.
    value: Value,
}
