//! Bodies of requests. A client sends them, the service reads them: texts and lists have limits
//! while they are parsed, and an unknown field is an error.

mod attachments;
mod hook;
mod import;
mod jobs;
mod read;

use std::path::PathBuf;

use milepost_codec::{
    CheckpointId, Error, Json, LineageId, MarkCause, MarkStatus, Result, RunControl, Scope,
    TreePath,
};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;
pub use attachments::AttachRequest;
pub use hook::HookRequest;
pub use import::{ImportPath, ImportRequest};
pub use jobs::{
    CaptureOptions, CaptureRequest, CompactRequest, FilesRequest, FolderRequest, JobRequest,
    RecoverRequest, ToolCallRequest, ToolMark, ToolReturnRequest, UndoRequest,
};
pub use read::Fields;

/// A task to start.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TaskRequest {
    /// The id: 1 to 1024 bytes without control characters.
    #[serde(deserialize_with = "read::text")]
    pub id: String,
    /// The owner, 1 to 200 bytes. Default: the caller. Other owners are for admins.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub user: Option<String>,
    /// The initial state.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<Json>,
    /// The id of a task to copy: the new task has its lineages, events, checkpoints and pins. Not
    /// with `initial`.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub copy_of: Option<String>,
}

impl TaskRequest {
    /// Checks that the request does not name both an original and an initial state, and that a
    /// state is an object.
    ///
    /// # Errors
    ///
    /// `Invalid`: it names both, or the state is another value.
    pub fn check(&self) -> Result<()> {
        let Some(initial) = &self.initial else {
            return Ok(());
        };
        if self.copy_of.is_some() {
            return Err(Error::invalid("a copy has the state of its original, not `initial`"));
        }
        match initial.text().trim_start().starts_with('{') {
            true => Ok(()),
            false => Err(Error::invalid(
                "`initial` is no JSON object: a state has fields, as in {\"variables\": {}}",
            )),
        }
    }
}

/// A checkpoint to mark.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckpointRequest {
    /// A label for people; not all digits.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub label: Option<String>,
    /// The status of the work up to the mark. Default: `success`.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<MarkStatus>,
    /// The reason for the mark: `manual` (the default), `step`, `idle`, `before_tool`,
    /// `before_restore` or `imported`.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<MarkCause>,
    /// An object of at most 64 KiB, kept verbatim.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Ids of the checkpoint in other systems.
    #[serde(default, deserialize_with = "read::aliases", skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The lineage to mark. Default: the active one.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u32>))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lineage: Option<LineageId>,
    /// The point before the event at this offset. Default: the head.
    #[cfg_attr(feature = "schema", schema(schema_with = crate::schema::big_or_none))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Big>,
}

/// A checkpoint to mark after events.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MarkRequest {
    /// A label for people; not all digits.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub label: Option<String>,
    /// The status of the work up to the mark. Default: `success`.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<MarkStatus>,
    /// The reason for the mark: `manual` (the default), `step`, `idle`, `before_tool`,
    /// `before_restore` or `imported`.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<MarkCause>,
    /// An object of at most 64 KiB, kept verbatim.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Ids of the checkpoint in other systems.
    #[serde(default, deserialize_with = "read::aliases", skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// A restore.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RestoreRequest {
    /// The address of the point to restore.
    #[serde(deserialize_with = "read::text")]
    pub to: String,
    /// The scope: `state` (the default), `files` or `all`. Files are for admins.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The absolute path of the folder to restore, on the service's machine.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Decisions about conflicting paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<ChoicesRequest>,
    /// The purpose of the new lineage, at most 1,024 bytes.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
}

/// The folder of an undo that takes files back.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct UndoFolderRequest {
    /// The absolute path of the folder, on the service's machine. For admins.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Decisions about conflicting paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<ChoicesRequest>,
}

impl RestoreRequest {
    /// Returns true if files are restored.
    pub fn has_files(&self) -> bool {
        !matches!(self.scope, None | Some(Scope::State))
    }
}

impl UndoFolderRequest {
    /// Returns true if a folder is named, or decisions about one.
    pub fn has_files(&self) -> bool {
        self.folder.is_some() || self.choices.is_some()
    }
}

/// Decisions about conflicting paths. A folder's path covers everything below it.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ChoicesRequest {
    /// Overwrite these paths with the captured content.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    #[serde(deserialize_with = "read::items")]
    pub theirs: Vec<TreePath>,
    /// Keep the present content of these paths.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    #[serde(deserialize_with = "read::items")]
    pub keep_mine: Vec<TreePath>,
    /// Accept a folder that was captured at another location.
    pub moved: bool,
    /// Also remove paths that the capture's rules ignore, if they were recorded since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub take_ignored: bool,
    /// Only take back what the run changed, in calls of tools. What only others changed since the
    /// point stays; what both changed, or an
    /// unknown author, is a conflict. An undo refuses it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub leave_others: bool,
}

/// A change of a run's control.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ControlRequest {
    /// `running` begins or resumes, `paused` pauses, `stopped` stops, `idle` ends.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub to: RunControl,
    /// The reason, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Guidance for a run.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct GuidanceRequest {
    /// The guidance.
    pub text: String,
    /// The part of the work that the guidance is about.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub target: Option<String>,
}

/// The reason for a pin.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PinRequest {
    /// The reason, at most 1,024 bytes.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub reason: Option<String>,
}

/// The reason for an erasure.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EraseRequest {
    /// The reason, for people.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub reason: Option<String>,
}

/// A lineage to open at a point.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BranchRequest {
    /// The purpose of the new lineage, at most 1,024 bytes.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// Make the new lineage the active one, in the same commit. Files stay as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub activate: bool,
}

/// A lineage to switch a task to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SwitchRequest {
    /// The lineage.
    pub lineage: u32,
}

/// The scope of a verification.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct VerifyRequest {
    /// One task. Default: the whole store.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub task: Option<String>,
    /// Also fold every lineage from its beginning and compare the result with the snapshots.
    #[serde(default)]
    pub states: bool,
    /// Acknowledge the repairs in the answer: later verifications do not count them.
    #[serde(default)]
    pub acknowledge: bool,
    /// An earlier anchor, to compare the whole store with.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Json>,
}

/// A retention policy, and its scope. Pinned checkpoints are always kept.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RetentionRequest {
    /// Keep this many of the newest checkpoints of each task. `keep_count`,
    /// `younger_than_seconds`, `remove` or `trim_before` is required.
    #[cfg_attr(feature = "schema", schema(maximum = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_count: Option<usize>,
    /// Also keep checkpoints younger than this.
    #[cfg_attr(feature = "schema", schema(schema_with = crate::schema::big_or_none))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub younger_than_seconds: Option<Big>,
    /// Remove these checkpoints of `task`, by their ids, but for those that `keep_count` and
    /// `younger_than_seconds` keep, and keep its others. An id that it does not have is ignored.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Vec<String>>, max_items = 100_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove: Option<Vec<CheckpointId>>,
    /// The address of a point of a task: keep the checkpoints in its history from it on, and those
    /// on other lineages, and remove events before it that none of them needs.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub trim_before: Option<String>,
    /// Keep the data to undo this many of the last restores. Default: 3.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>, maximum = 4_294_967_295_u64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<u32>,
    /// Remove marks only, and keep all events.
    #[serde(default)]
    pub marks_only: bool,
    /// Also remove lineages that no kept checkpoint and no undo needs. Default: keep them.
    #[serde(default)]
    pub drop_lineages: bool,
    /// First export the tasks that change to the store's `backups/`; if that fails, nothing is
    /// removed. Default: no backup.
    #[serde(default)]
    pub backup: bool,
    /// Only tasks of this user. Not with `task`.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub user: Option<String>,
    /// Only this task.
    #[serde(
        default,
        deserialize_with = "read::some_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub task: Option<String>,
}

impl RetentionRequest {
    /// The maximum of `keep_count`.
    pub const KEEP_MAX: usize = 1_000_000;

    /// The maximum number of ids in `remove`.
    pub const IDS_MAX: usize = 100_000;
}
