//! Restores.

use milepost_codec::{CheckpointId, Hash, LineageId, PathBytes, Scope};
use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::{Big, ChangeForm, LineageForm, RecoveredFolder, TaskForm};

/// The result of a restore, an undo, a switch or a redo.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RestoredForm {
    /// The task after the restore.
    pub task: TaskForm,
    /// The lineage that is now active.
    pub lineage: LineageForm,
    /// The lineage whose head names the files that the folder has: not the active one if files stay
    /// as they are, until the next capture.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub files_lineage: LineageId,
    /// The changes to files, as in the plan; present if files were restored. Empty if what joined
    /// the task restored them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub files: Option<Value>,
    /// Paths in the folder of files that were kept because they changed during the restore.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Vec<String>>))]
    pub kept: Option<Vec<PathBytes>>,
    /// The restore that was interrupted in the folder before, and was ended first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovered: Option<RecoveredFolder>,
}

/// The effects that a restore would have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RestorePlanForm {
    /// The task.
    pub task: String,
    /// The scope of the restore: `all`, `files` or `state`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub scope: Scope,
    /// The current point of the task.
    pub from: PlaceForm,
    /// The point that the task would continue from.
    pub to: PlaceForm,
    /// The changes of the state, at most 1,000; fewer if they take more than 16 MiB.
    pub changes: Vec<ChangeForm>,
    /// True if there are more changes.
    pub more: bool,
    /// The changes to files, and conflicts; present if the scope includes files.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub files: Option<Value>,
    /// The folder, if a restore was interrupted in it: that one is undone first. `files` is what
    /// changes then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub recovers: Option<PathBytes>,
}

/// The effects of a restore on a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FilesForm {
    /// The task.
    pub task: String,
    /// The folder; `null` for an undo that changes none.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub folder: Option<PathBytes>,
    /// The changes, path by path, and the conflicts, as in the plan of a restore; `null` for an
    /// undo that changes no folder.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub files: Option<Value>,
    /// The task on its new lineage; `null` if nothing was changed.
    pub restored: Option<RestoredForm>,
    /// The restore that was interrupted before, and was ended first.
    pub recovered: Option<RecoveredFolder>,
    /// The folder of a plan, if a restore was interrupted in it. That one is undone first, and
    /// `files` is what changes then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub recovers: Option<PathBytes>,
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
    /// The chain hash at the point, 64 hexadecimal digits.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub hash: Hash,
    /// The checkpoint that named the point.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub checkpoint: Option<CheckpointId>,
}

impl RestoredForm {
    /// Records that what joined the task restored files. The changes are not known.
    #[must_use]
    pub fn with_files(self) -> Self {
        Self { files: Some(Value::Object(serde_json::Map::new())), ..self }
    }
}
