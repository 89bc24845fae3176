//! Next steps after a failure, for programs: each caller words them with the names of its own
//! options.

use milepost_codec::PathBytes;
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

/// The next step after a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(tag = "step", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Remedy {
    /// Decide about the conflicting paths in `choices`.
    Choose,
    /// Name the folder. `folder`: the one that only the store names.
    NameFolder {
        /// The folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
        folder: Option<PathBytes>,
    },
    /// Name the place that the folder was moved to, with `moved`.
    NameMoved,
    /// Capture a folder for the task first.
    Capture {
        /// The task.
        task: String,
    },
    /// Accept a home folder with `anyway`.
    Anyway,
    /// Name a folder that is there.
    NameExisting,
    /// Name a folder that is a project.
    NameProject,
    /// Give the user of the store's program leave to read and write it.
    Allow,
    /// Take an interrupted restore back.
    Recover {
        /// The task.
        task: String,
    },
    /// Name the folder in which a restore began, or give the restore up.
    NameBegun {
        /// The task.
        task: String,
        /// The folder, if only the store names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
        folder: Option<PathBytes>,
    },
    /// Undo without a folder: the last restore restored no files.
    UndoState {
        /// The task.
        task: String,
    },
    /// Look at the lineages: another restore is the last one now.
    LookAgain {
        /// The task.
        task: String,
    },
    /// Make room on the disk, or begin with `force`.
    MakeRoom,
    /// A remedy that this version does not know.
    #[serde(other)]
    Other,
}
