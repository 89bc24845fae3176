//! Jobs: work that takes long, or that changes folders.

use milepost_codec::{PathBytes, RestoreId};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::{
    Big, CapturedForm, DiskForm, FilesForm, ImportForm, JobNote, Problem, ToolCallForm,
    ToolReturnForm,
};

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct JobForm {
    /// The id.
    pub id: String,
    /// The kind: `capture`, `restore`, `undo`, `recover`, `compact`, `import`, `tool_call` or
    /// `tool_return`.
    pub kind: String,
    /// The state.
    pub state: JobState,
    /// The user that started it.
    pub user: String,
    /// The time of the start.
    pub started: String,
    /// The time of the start in microseconds since the Unix epoch.
    pub started_us: Big,
    /// The time of the end; `null` while it runs.
    pub ended: Option<String>,
    /// The time of the end in microseconds since the Unix epoch.
    pub ended_us: Option<Big>,
    /// The part that is done, if it is known.
    pub progress: Option<JobProgress>,
    /// Facts that did not end it, at most the first 1,000. A list of jobs leaves them out.
    #[serde(default)]
    pub notes: Vec<JobNote>,
    /// The number of all notes.
    #[serde(default)]
    pub notes_total: Big,
    /// The result of a finished job, or the plan of a job that conflicts made fail.
    pub result: Option<JobResult>,
    /// The reason why it failed.
    pub error: Option<Problem>,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Not ended.
    Running,
    /// Ended with a result.
    Done,
    /// Ended with an error.
    Failed,
    /// Ended on request before it was done.
    Cancelled,
}

/// The part of a job that is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct JobProgress {
    /// The step.
    pub step: String,
    /// The part that is done, in the step's unit: files, parts of the store, or parts of an input.
    pub done: Big,
    /// The total of the step, if it is known.
    pub total: Option<Big>,
    /// The bytes that were read, if they are counted; with a total, that is in bytes, too.
    pub bytes: Option<Big>,
}

/// The result of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobResult {
    /// A captured folder.
    Capture(CapturedForm),
    /// A restored folder.
    Restore(FilesForm),
    /// An undone restore.
    Undo(FilesForm),
    /// Interrupted restores.
    Recover(RecoveriesForm),
    /// A compacted store.
    Compact(CompactedForm),
    /// Imported runs and exports.
    Import(ImportForm),
    /// A recorded call of a tool.
    ToolCall(ToolCallForm),
    /// A recorded return of a tool.
    ToolReturn(ToolReturnForm),
}

impl JobResult {
    /// Returns the result of a restore or an undo.
    pub fn restore(&self) -> Option<&FilesForm> {
        match self {
            Self::Restore(form) | Self::Undo(form) => Some(form),
            _ => None,
        }
    }
}

/// Interrupted restores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RecoveriesForm {
    /// The restores.
    pub items: Vec<RecoveryForm>,
}

/// An interrupted restore, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct RecoveryForm {
    /// The task.
    pub task: String,
    /// The id of the restore.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub restore: RestoreId,
    /// The time of its beginning.
    pub since: String,
    /// The time of its beginning in microseconds since the Unix epoch.
    pub since_us: Big,
    /// The folder, if the restore says it.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub folder: Option<PathBytes>,
    /// `undone`, `given_up`, or `pending` if it could not be taken back.
    pub outcome: String,
}

/// The effects of a compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct CompactedForm {
    /// True if nothing was changed.
    pub dry_run: bool,
    /// The free bytes that a compaction needs at most.
    pub needs: Big,
    /// The free bytes of the store's disk, if they are known.
    pub free: Option<Big>,
    /// The bytes on the disk before.
    pub before: DiskForm,
    /// The bytes on the disk after; `null` for a dry run.
    pub after: Option<DiskForm>,
    /// The reason why packs were left as they were.
    pub packs_left: Option<String>,
    /// Files in the store that may hold withdrawn content and that no compaction changes.
    pub untouched: Option<Vec<String>>,
}
