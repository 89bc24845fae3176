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
    /// The step after an error in an input, by the name of the format's remedy.
    Input {
        /// The name, such as `name_format`.
        name: String,
        /// The value that belongs to it, such as a number of bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// Leave `task` out, or import one input.
    OneInput,
    /// Leave `task` out: each execution of a folder is a task of its own name.
    NoNameForFolder,
    /// Leave `user` out: an export names its own.
    NoUserForExport,
    /// Leave `task` out, or export the task alone.
    OneTask,
    /// Ask for the permission to read a file.
    CheckPermission,
    /// Look at the commands that are hooks.
    LookAtHooks,
    /// Name a file that is no pipe.
    NameNoPipe,
    /// End the program that opened the store: it accepts no larger events.
    EndLimit,
    /// A remedy that this version does not know.
    #[serde(other)]
    Other,
}
