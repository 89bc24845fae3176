//! Results of imports, and notes of jobs.

use milepost_codec::Hash;
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::{Big, Remedy};

/// The effects of an import. Each input is imported by itself: some may have failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ImportForm {
    /// The number of inputs.
    pub inputs: Big,
    /// The imported tasks.
    pub tasks: Vec<ImportedForm>,
    /// The number of lines that were not recorded.
    pub bad_lines: Big,
    /// Those of the lines that have an unknown kind.
    pub unknown_kinds: Big,
    /// The number of checkpoints of databases, and of their writes, that were not recorded.
    pub bad_checkpoints: Big,
    /// Checkpoint files that were not imported.
    pub skipped: Vec<SkippedForm>,
    /// True if a task of an export was imported as a copy.
    pub copies: bool,
    /// The inputs that failed, or tasks of one.
    pub failed: Vec<FailedInput>,
}

impl ImportForm {
    /// Returns `true` if all of each input was imported.
    pub fn is_complete(&self) -> bool {
        self.bad_lines.0 == 0
            && self.bad_checkpoints.0 == 0
            && self.skipped.is_empty()
            && self.failed.is_empty()
    }
}

/// An imported task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct ImportedForm {
    /// The task.
    pub id: String,
    /// The name of the input.
    pub input: String,
    /// The format of the input: that of a run, `checkpoints` or `export`.
    pub format: String,
    /// The number of lineages.
    pub lineages: u64,
    /// The number of events that were appended.
    pub events: Big,
    /// The number of checkpoints that were marked.
    pub checkpoints: Big,
    /// Checkpoints of a folder that were imported before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated: Option<Big>,
    /// The offset after the last event of the task.
    pub head: Big,
    /// The owner of a task from an export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The chain hash of a task from an export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub hash: Option<Hash>,
}

/// A file that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct SkippedForm {
    /// The path.
    pub path: String,
    /// The reason.
    pub reason: String,
}

/// An input that failed, or a task of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct FailedInput {
    /// The name of the input.
    pub input: String,
    /// The reason.
    pub message: String,
    /// `input`, `io` or `bug`, or the kind of the store's error: `invalid`, `not_found`,
    /// `conflict`, `unavailable`, `corrupt`, `unsupported`, `poisoned` or `diverged`.
    pub kind: String,
    /// The next step, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
    /// True if a note of the job had it before the end.
    #[serde(default)]
    pub is_noted: bool,
}

/// A fact that does not end a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(tag = "note", rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobNote {
    /// A line, a file or a checkpoint is not imported.
    Skipped {
        /// The place in the input.
        place: String,
        /// The reason.
        reason: String,
    },
    /// As many more of an input are not imported, and have no note.
    MoreSkipped {
        /// The number.
        number: Big,
    },
    /// An input failed, or a task of one; the others are imported.
    Failed(FailedInput),
    /// A folder with checkpoint files has sessions, too, which are not imported.
    SessionsIgnored {
        /// The folder.
        folder: String,
        /// The number of sessions.
        sessions: Big,
    },
    /// A folder with runs has other files, which are not imported.
    FilesIgnored {
        /// The folder.
        folder: String,
        /// The number of files.
        files: Big,
    },
    /// Lines of a session repeat the id of an earlier line. No line continues from them.
    RepeatedIds {
        /// The name of the input.
        input: String,
        /// The number of lines.
        lines: Big,
    },
    /// Lines of a session name a missing parent. They continue from the line before.
    MissingParents {
        /// The name of the input.
        input: String,
        /// The number of lines.
        lines: Big,
    },
    /// A note that this version does not know.
    #[serde(other)]
    Other,
}
