//! Results of jobs that record calls of tools.

use milepost_codec::{Hash, LineageId};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::{Big, CheckpointForm, LeftOutForm, RecoveredFolder};

/// A recorded call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ToolCallForm {
    /// The task.
    pub task: String,
    /// True if the task was started.
    #[serde(default)]
    pub is_new: bool,
    /// The lineage of the call.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The id of the call.
    pub call: String,
    /// The offset of the call.
    pub at: Big,
    /// The checkpoint before it, if one was marked.
    pub before: Option<CheckpointForm>,
    /// The id of the capture before it, if files were captured.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub root: Option<Hash>,
    /// Paths that the capture before it left out for the first time.
    pub left_out: Option<LeftOutForm>,
    /// The restore that was interrupted before, and was taken back.
    pub recovered: Option<RecoveredFolder>,
}

/// A recorded return of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ToolReturnForm {
    /// The checkpoint after it, if one was marked.
    pub after: Option<CheckpointForm>,
    /// The id of the capture after it, if files were captured.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub root: Option<Hash>,
    /// The changes since the capture before.
    pub changes: Option<FileCounts>,
    /// Paths that the capture after it left out for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOutForm>,
    /// The lineage that is active now, if it is another one: then no checkpoint is marked.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u32>))]
    pub moved_to: Option<LineageId>,
}

/// Numbers of changed files and folders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FileCounts {
    /// Created files.
    pub created: Big,
    /// Changed files, and files with other permission bits.
    pub changed: Big,
    /// Deleted files.
    pub deleted: Big,
    /// Renamed files.
    pub renamed: Big,
    /// Files that one of the captures left out: not created or deleted.
    #[serde(default)]
    pub left_out: Big,
    /// Folders that were created or deleted, or have other permission bits.
    pub folders: Big,
}
