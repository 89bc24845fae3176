//! Tasks and their lineages.

use milepost_codec::{Hash, LineageId, LineageType};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// What is known of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TaskForm {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub user: String,
    /// RFC 3339, UTC.
    pub created: String,
    /// Microseconds since the Unix epoch.
    pub created_us: Big,
    /// How many it has.
    pub lineages: u32,
    /// The lineage it goes on with.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub active: LineageId,
    /// The number of that activation.
    pub epoch: Big,
    /// The next offset of the active lineage.
    pub head: Big,
    /// Events of all its lineages, each counted where it was appended.
    pub events: Big,
}

/// What is known of a lineage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct LineageForm {
    /// Its id.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub id: LineageId,
    /// What it was opened for.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub lineage_type: LineageType,
    /// Why it was opened.
    pub description: Option<String>,
    /// Where it parts from another; `null` for a root.
    pub parent: Option<ParentForm>,
    /// RFC 3339, UTC.
    pub opened: String,
    /// Microseconds since the Unix epoch.
    pub opened_us: Big,
    /// The next offset.
    pub head: Big,
    /// The chain hash there, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
    /// The first offset that is there.
    pub begin: Big,
    /// Events of its own.
    pub events: Big,
    /// Whether the task goes on with it.
    pub active: bool,
}

/// Where a lineage parts from another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ParentForm {
    /// The lineage.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The offset.
    pub offset: Big,
    /// The chain hash there, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
}
