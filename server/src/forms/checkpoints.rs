//! Checkpoints.

use milepost::{Checkpoint, CheckpointId, Hash, Json, LineageId, MarkCause, MarkStatus};
use serde::Serialize;
use utoipa::ToSchema;

use super::Big;
use crate::time;

/// A checkpoint.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CheckpointForm {
    /// 64 hexadecimal digits.
    #[schema(value_type = String)]
    id: CheckpointId,
    task: String,
    #[schema(value_type = u32)]
    lineage: LineageId,
    /// The marked point: before the event at this offset.
    at: Big,
    /// The chain hash there, 64 hexadecimal digits.
    #[schema(value_type = String)]
    hash: Hash,
    /// The offset of the mark's own event.
    mark: Big,
    /// The checkpoint before it.
    #[schema(value_type = Option<String>)]
    parent: Option<CheckpointId>,
    label: Option<String>,
    #[schema(value_type = String)]
    cause: MarkCause,
    #[schema(value_type = String)]
    status: MarkStatus,
    /// RFC 3339, UTC.
    time: String,
    time_us: Big,
    /// An object, word for word as it was given.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Json>,
    /// Ids that others know it by.
    aliases: Vec<String>,
}

impl From<Checkpoint> for CheckpointForm {
    fn from(checkpoint: Checkpoint) -> Self {
        Self {
            id: checkpoint.id,
            task: checkpoint.task,
            lineage: checkpoint.lineage,
            at: Big(checkpoint.at),
            hash: checkpoint.hash,
            mark: Big(checkpoint.mark),
            parent: checkpoint.parent,
            label: checkpoint.label,
            cause: checkpoint.cause,
            status: checkpoint.status,
            time: time::micros(checkpoint.time_us),
            time_us: Big(checkpoint.time_us),
            metadata: checkpoint.metadata,
            aliases: checkpoint.aliases,
        }
    }
}
