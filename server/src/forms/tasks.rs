//! Tasks and their lineages.

use milepost::{Hash, LineageId, LineageInfo, LineageType, TaskInfo};
use serde::Serialize;
use utoipa::ToSchema;

use super::Big;
use crate::time;

/// What is known of a task.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskForm {
    id: String,
    user: String,
    /// RFC 3339, UTC.
    created: String,
    created_us: Big,
    /// How many it has.
    lineages: u32,
    /// The lineage it goes on with.
    #[schema(value_type = u32)]
    active: LineageId,
    /// The number of that activation.
    epoch: Big,
    /// The next offset of the active lineage.
    head: Big,
    /// Events of all its lineages, each counted where it was appended.
    events: Big,
}

impl From<TaskInfo> for TaskForm {
    fn from(info: TaskInfo) -> Self {
        Self {
            id: info.id,
            user: info.user,
            created: time::micros(info.created_us),
            created_us: Big(info.created_us),
            lineages: info.lineages,
            active: info.active,
            epoch: Big(info.epoch),
            head: Big(info.head),
            events: Big(info.events),
        }
    }
}

/// What is known of a lineage.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LineageForm {
    #[schema(value_type = u32)]
    id: LineageId,
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    lineage_type: LineageType,
    description: Option<String>,
    /// Where it parts from another; `null` for a root.
    parent: Option<ParentForm>,
    /// RFC 3339, UTC.
    opened: String,
    opened_us: Big,
    /// The next offset.
    head: Big,
    /// The chain hash there, 64 hexadecimal digits.
    #[schema(value_type = String)]
    hash: Hash,
    /// The first offset that is there.
    begin: Big,
    /// Events of its own.
    events: Big,
    /// Whether the task goes on with it.
    active: bool,
}

/// Where a lineage parts from another.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ParentForm {
    #[schema(value_type = u32)]
    lineage: LineageId,
    offset: Big,
    /// The chain hash there, 64 hexadecimal digits.
    #[schema(value_type = String)]
    hash: Hash,
}

impl From<LineageInfo> for LineageForm {
    fn from(info: LineageInfo) -> Self {
        Self {
            id: info.id,
            lineage_type: info.lineage_type,
            description: info.description,
            parent: info.parent.map(|parent| ParentForm {
                lineage: parent.lineage,
                offset: Big(parent.offset),
                hash: parent.hash,
            }),
            opened: time::micros(info.opened_us),
            opened_us: Big(info.opened_us),
            head: Big(info.head.next),
            hash: info.head.hash,
            begin: Big(info.begin),
            events: Big(info.events),
            active: info.active,
        }
    }
}
