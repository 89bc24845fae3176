//! Bodies of requests that start jobs.

use std::path::PathBuf;

use milepost_codec::{Hash, Json, LineageId, Scope};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use super::{ChoicesRequest, ImportRequest, read};
use crate::Big;

/// A job to start.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobRequest {
    /// Captures a folder.
    Capture(CaptureRequest),
    /// Restores a folder to a point, with the state or without it.
    Restore(FilesRequest),
    /// Undoes the last restore of a task, which restored a folder too.
    Undo(UndoRequest),
    /// Takes interrupted restores back.
    Recover(RecoverRequest),
    /// Removes withdrawn content from the disk.
    Compact(CompactRequest),
    /// Imports runs, folders of checkpoint files and exports.
    Import(ImportRequest),
    /// Records a call of a tool, with a checkpoint before it.
    ToolCall(ToolCallRequest),
    /// Records the return of a tool, with a checkpoint after it.
    ToolReturn(ToolReturnRequest),
}

/// A folder to capture.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CaptureRequest {
    /// The absolute path of the folder.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub folder: PathBuf,
    /// The task that the files belong to. Default: the task named after the folder. It is started
    /// if there is none.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub task: Option<String>,
    /// The owner of a task that is started. Default: the caller.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub user: Option<String>,
    /// Also marks a checkpoint with this label.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub label: Option<String>,
    /// The parts of the folder to capture.
    #[serde(default)]
    pub options: CaptureOptions,
}

/// The parts of a folder that a capture includes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CaptureOptions {
    /// The size of the largest file in bytes. Default: 64 MiB.
    #[cfg_attr(feature = "schema", schema(schema_with = crate::schema::big_or_none))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_file: Option<Big>,
    /// The largest total size in bytes. Default: 8 GiB.
    #[cfg_attr(feature = "schema", schema(schema_with = crate::schema::big_or_none))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total: Option<Big>,
    /// Accept a home folder, `/`, or a folder above a home.
    pub anyway: bool,
    /// Leave out files that were captured before and that a rule ignores now.
    pub forget_ignored: bool,
    /// Also capture the paths of the default list in `docs/WORKSPACE.md`.
    pub no_default_ignores: bool,
}

/// A folder to restore to a point.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FilesRequest {
    /// The address of the point to restore.
    #[serde(deserialize_with = "read::text")]
    pub to: String,
    /// The scope: `files`, or `all` with the state.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub scope: Scope,
    /// The folder and the decisions about its paths.
    #[serde(default)]
    pub files: FolderRequest,
    /// The purpose of the new lineage, at most 1,024 bytes.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
}

/// A folder that a job changes, and the decisions about its paths.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct FolderRequest {
    /// The absolute path of the folder. Default: the captured one, if the user made or trusts the
    /// store, and the task was not imported.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Decisions about conflicting paths.
    pub choices: ChoicesRequest,
    /// Accept a home folder, `/`, or a folder above a home.
    pub anyway: bool,
    /// Only plan the changes, and change nothing.
    pub dry_run: bool,
}

impl FolderRequest {
    /// Returns `true` if a folder is named, or anything about it is decided.
    pub fn is_given(&self) -> bool {
        let ChoicesRequest { theirs, keep_mine, moved, take_ignored, leave_others } = &self.choices;
        let is_set = *moved || *take_ignored || *leave_others;
        let is_decided = !theirs.is_empty() || !keep_mine.is_empty() || is_set;
        self.folder.is_some() || is_decided || self.anyway || self.dry_run
    }
}

/// A restore to undo.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UndoRequest {
    /// The id of the task.
    #[serde(deserialize_with = "read::text")]
    pub task: String,
    /// The folder and the decisions about its paths.
    #[serde(default)]
    pub files: FolderRequest,
}

/// Interrupted restores to take back.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RecoverRequest {
    /// Only restores of this task.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub task: Option<String>,
    /// The folder and the decisions about its paths. Default: the folder in which a restore began.
    #[serde(default)]
    pub files: FolderRequest,
    /// End the restores, and leave the folders as they are.
    #[serde(default)]
    pub give_up: bool,
}

/// A compaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CompactRequest {
    /// Only return the free space that it needs.
    pub dry_run: bool,
    /// Begin even if the disk has less free space than it may need.
    pub force: bool,
}

impl JobRequest {
    /// Returns the name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Capture(_) => "capture",
            Self::Restore(_) => "restore",
            Self::Undo(_) => "undo",
            Self::Recover(_) => "recover",
            Self::Compact(_) => "compact",
            Self::Import(_) => "import",
            Self::ToolCall(_) => "tool_call",
            Self::ToolReturn(_) => "tool_return",
        }
    }

    /// Returns `true` if the job reads or changes files or folders of the service's machine.
    pub fn has_folder(&self) -> bool {
        match self {
            Self::Capture(_) | Self::Restore(_) | Self::Undo(_) | Self::Recover(_) => true,
            Self::Import(_) | Self::ToolCall(_) | Self::ToolReturn(_) => true,
            Self::Compact(_) => false,
        }
    }
}

/// A call of a tool, to record before it.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolCallRequest {
    /// The absolute path of the working directory.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub folder: PathBuf,
    /// The task. Default: the task named after the folder. It is started if there is none.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub task: Option<String>,
    /// The owner of a task that is started. Default: the caller.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub user: Option<String>,
    /// The tool.
    #[serde(deserialize_with = "read::text")]
    pub tool: String,
    /// Its arguments.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub arguments: Json,
    /// The parts of the folder to capture. Default: no files are captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<CaptureOptions>,
    /// Marks a checkpoint only if the last one is older than five minutes: the last capture, if
    /// files are captured.
    #[serde(default)]
    pub only_if_old: bool,
    /// A label for the checkpoint.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub label: Option<String>,
}

/// The return of a tool, to record after it.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolReturnRequest {
    /// The task.
    #[serde(deserialize_with = "read::text")]
    pub task: String,
    /// The lineage of the call.
    #[cfg_attr(feature = "schema", schema(value_type = u32))]
    pub lineage: LineageId,
    /// The id of the call.
    #[serde(deserialize_with = "read::text")]
    pub call: String,
    /// The tool.
    #[serde(deserialize_with = "read::text")]
    pub tool: String,
    /// True if the call succeeded.
    pub ok: bool,
    /// The tool's output.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// The checkpoint to mark. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ToolMark>,
}

/// The checkpoint after a call.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolMark {
    /// The absolute path of the folder to capture. Default: no files are captured.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// The parts of the folder to capture.
    #[serde(default)]
    pub options: CaptureOptions,
    /// The capture before the call, to compare with.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Hash>,
    /// A label for the checkpoint.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub label: Option<String>,
    /// Metadata of the checkpoint: an object of at most 64 KiB.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}
