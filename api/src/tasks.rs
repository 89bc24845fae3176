//! Tasks and their lineages.

use milepost_codec::{Hash, LineageId, LineageType};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TaskForm {
    /// The id of the task.
    pub id: String,
    /// The owner.
    pub user: String,
    /// RFC 3339, UTC.
    pub created: String,
    /// Microseconds since the Unix epoch.
    pub created_us: Big,
    /// The number of lineages.
    pub lineages: u32,
    /// The active lineage.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub active: LineageId,
    /// The number of the last activation.
    pub epoch: Big,
    /// The next offset of the active lineage.
    pub head: Big,
    /// Events of all lineages, each counted in the lineage it was appended to.
    pub events: Big,
}

/// A lineage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct LineageForm {
    /// The id of the lineage.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub id: LineageId,
    /// The purpose of the lineage.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub lineage_type: LineageType,
    /// The reason why the lineage was opened.
    pub description: Option<String>,
    /// The fork point; `null` for a root.
    pub parent: Option<ParentForm>,
    /// RFC 3339, UTC.
    pub opened: String,
    /// Microseconds since the Unix epoch.
    pub opened_us: Big,
    /// The next offset.
    pub head: Big,
    /// The chain hash at the head, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
    /// The first readable offset.
    pub begin: Big,
    /// Events of the lineage itself, without its ancestors.
    pub events: Big,
    /// True if this is the active lineage.
    pub active: bool,
}

/// The point where a lineage was forked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ParentForm {
    /// The parent lineage.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The fork offset.
    pub offset: Big,
    /// The chain hash at that point, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
}
