//! Restores.

use milepost_codec::{CheckpointId, Hash, LineageId, PathBytes, Scope};
use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::{Big, ChangeForm, LineageForm, TaskForm};

/// A task that went back, or on again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RestoredForm {
    /// The task as it is now.
    pub task: TaskForm,
    /// The lineage that it goes on with.
    pub lineage: LineageForm,
    /// What was done to the files, as the plan says it; where files went back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub files: Option<Value>,
    /// What was written to meanwhile: it was kept, at these places in the folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Vec<String>>))]
    pub kept: Option<Vec<PathBytes>>,
}

/// What a restore would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RestorePlanForm {
    /// The task.
    pub task: String,
    /// What goes back: `both`, `files` or `state`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub scope: Scope,
    /// Where the task stands now.
    pub from: PlaceForm,
    /// Where it would go on.
    pub to: PlaceForm,
    /// How its state would change, at most 1,000; fewer where they have more than 16 MiB.
    pub changes: Vec<ChangeForm>,
    /// Whether there are more.
    pub more: bool,
    /// What it would do to the files, and what stands in the way; where files would go back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub files: Option<Value>,
}

/// A point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct PlaceForm {
    /// The lineage.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The offset.
    pub offset: Big,
    /// The chain hash there, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
    /// The checkpoint that it was named by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub checkpoint: Option<CheckpointId>,
}
