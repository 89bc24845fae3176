//! Captured folders.

use milepost_codec::{CheckpointId, Hash, PathBytes};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// A captured folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct CapturedForm {
    /// The task.
    pub task: String,
    /// True if the task was started.
    #[serde(default)]
    pub is_new: bool,
    /// The folder.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub folder: PathBytes,
    /// The id of the capture.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub root: Hash,
    /// The offset of the event; `null` if nothing changed since the last capture.
    pub appended: Option<Big>,
    /// The checkpoint, if one was asked for.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub checkpoint: Option<CheckpointId>,
    /// Number of files in the capture.
    pub files: Big,
    /// Their total size in bytes.
    pub bytes: Big,
    /// Number of files that were read; the others are unchanged.
    pub read: Big,
    /// Number of contents given to the store.
    pub stored: Big,
    /// Number of paths that were left out.
    pub skips: Big,
    /// Paths that were left out for the first time, by the default list or by their size.
    pub left_out: Option<LeftOutForm>,
    /// The restore that was interrupted before, and was taken back.
    pub recovered: Option<RecoveredFolder>,
}

/// State of the folder of a task. Without a capture or restore since the store was opened, it is
/// `idle`, and the other fields are `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct WorkspaceStateForm {
    /// The task.
    pub task: String,
    /// `idle`, `creating` while it is captured, `restoring`, or `error` if the last one failed.
    pub state: String,
    /// The state before.
    pub before: Option<String>,
    /// The folder.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub folder: Option<PathBytes>,
    /// The time of the change: RFC 3339, UTC.
    pub since: Option<String>,
    /// Microseconds since the Unix epoch.
    pub since_us: Option<Big>,
    /// Number of files that the operation that ended examined.
    pub files: Option<Big>,
    /// Their total size in bytes.
    pub bytes: Option<Big>,
    /// Number of files that were read.
    pub read: Option<Big>,
    /// Duration of the operation in microseconds.
    pub took_us: Option<Big>,
    /// The reason of a failure.
    pub error: Option<String>,
}

/// Paths that a capture left out, and the capture before did not: by the default list, with their
/// number and sizes, and by their size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct LeftOutForm {
    /// Number of paths.
    pub paths: Big,
    /// Their total size in bytes.
    pub bytes: Big,
    /// True if the total size is larger than that: not all entries were counted.
    pub more: bool,
    /// The largest ones.
    pub largest: Vec<LeftOutPath>,
    /// Files over the limit of one file or of the capture; the largest first, at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_size: Vec<LeftOutPath>,
    /// True if git's index cannot be read, so that what it tracks may be left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unread_index: bool,
}

/// A path that a capture left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct LeftOutPath {
    /// The path in the folder.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub path: PathBytes,
    /// Its size in bytes.
    pub bytes: Big,
}

/// A restore that was interrupted in a folder, and was ended before other work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RecoveredFolder {
    /// The folder.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub folder: PathBytes,
    /// True if the restore was undone; false if it had ended and only its remains were cleared up.
    #[serde(rename = "taken_back")]
    pub undone: bool,
    /// The reason why remains were not cleared up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Folders that were captured in the history of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FoldersForm {
    /// The folders, that of the newest capture first.
    pub items: Vec<FolderForm>,
    /// `true` if there may be more: older captures were not looked at.
    pub more: bool,
}

/// A folder that was captured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FolderForm {
    /// Its absolute path when it was captured.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub folder: PathBytes,
    /// The address of the last point that has a capture of it.
    pub at: String,
    /// The time of that capture: RFC 3339, UTC; `null` if its event was removed.
    pub time: Option<String>,
    /// `true` if there is a folder at the path now, on the service's machine.
    pub exists: bool,
}
