//! The JSON of Milepost's requests and answers: one structure for each, for writers and readers.
//!
//! The service answers in these forms, its clients read them, and the command prints them. A whole
//! number over 2^53 is a string of its digits ([`Big`]). Times appear both as RFC 3339 and as
//! microseconds since the Unix epoch. Ids and hashes are hexadecimal digits. A reader ignores
//! unknown fields.
//!
//! ```text
//! tasks, events, checkpoints, points   contents of a task
//! cut                                  long texts of a value, cut
//! attachments                          data attached to checkpoints
//! summaries, summary_query             tasks in a few numbers, and filters and orders of them
//! readings                             rows, turns, overviews, metrics, alignments
//! me                                   the caller and its sessions
//! requests                             bodies of requests
//! results, restores                    results of requests that change something
//! jobs, captures, imports, tools       work that takes long
//! remedies                             next steps after a failure
//! changes, blame, bisect               differences, and the events that set a value or a condition
//! stats, verify, retention             contents of a store, and the effects of a cleanup
//! shared, values                       lists, errors, numbers, times, nullable values
//! call, calls                          operations as values: routes, requests, answers
//! schema, problems                     OpenAPI schemas and sets of errors (feature `schema`)
//! ```
//!
//! ```
//! use milepost_api::EventForm;
//!
//! let text = r#"{"offset":"7","lineage":0,"kind":"message","time":"2026-01-18T10:30:00.000000Z",
//!     "time_us":"1768732200000000","body":{"kind":"message","role":"user","content":"hello"}}"#;
//! let event: EventForm = serde_json::from_str(text)?;
//! assert_eq!(event.offset.0, 7);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod attachments;
mod bisect;
mod blame;
mod call;
pub mod calls;
mod captures;
mod changes;
mod checkpoints;
mod cut;
mod events;
mod imports;
mod jobs;
mod me;
mod points;
#[cfg(feature = "schema")]
mod problems;
mod readings;
mod remedies;
mod requests;
mod restores;
mod results;
mod retention;
#[cfg(feature = "schema")]
mod schema;
mod share;
mod shared;
mod stats;
mod summaries;
mod summary_query;
mod tasks;
mod tools;
mod values;
mod verify;

pub use attachments::{AttachedForm, AttachmentForm};
pub use bisect::BisectedForm;
pub use blame::{BlameForm, BlamedForm};
#[cfg(feature = "schema")]
pub use call::Described;
pub use call::{AcceptedConditions, Call, Effect, Method, NoQuery, RequestBody};
pub use captures::{
    CapturedForm, FolderForm, FoldersForm, LeftOutForm, LeftOutPath, RecoveredFolder,
    WorkspaceStateForm,
};
pub use changes::{ChangeForm, ChangesForm};
pub use checkpoints::{CheckpointForm, PinForm, UnmarkedForm};
pub use cut::cut_texts;
pub use events::{EventForm, MovedForm, RangeForm};
pub use imports::{FailedInput, ImportForm, ImportedForm, JobNote, SkippedForm};
pub use jobs::{
    CompactedForm, JobForm, JobProgress, JobResult, JobState, RecoveriesForm, RecoveryForm,
};
pub use me::{LimitsForm, MeForm, SessionForm, SessionRequest, StoreIdForm};
pub use points::{
    CheckpointState, EventAt, FileChangeForm, FileChangeKind, FileChangesForm, FileForm, PartForm,
    PointForm, StateForm, StateOrPart,
};
#[cfg(feature = "schema")]
pub use problems::{ListProblems, ReadProblems, WriteProblems};
pub use readings::{
    AlignCountsForm, AlignOp, AlignedForm, AlignmentForm, HitForm, HitsForm, MetricCountForm,
    MetricsForm, OverviewBucketForm, OverviewForm, ReadMarkForm, RowForm, RowsForm,
    SeriesBucketForm, SeriesForm, TurnCallForm, TurnForm, TurnsForm,
};
pub use remedies::Remedy;
pub use requests::{
    AttachRequest, BranchRequest, CaptureOptions, CaptureRequest, CheckpointRequest,
    ChoicesRequest, CompactRequest, ControlRequest, EraseRequest, Fields, FilesRequest,
    FolderRequest, GuidanceRequest, HookRequest, ImportPath, ImportRequest, JobRequest,
    MarkRequest, PinRequest, RecoverRequest, RestoreRequest, RetentionRequest, SwitchRequest,
    TaskRequest, ToolCallRequest, ToolMark, ToolReturnRequest, UndoFolderRequest, UndoRequest,
    VerifyRequest,
};
pub use restores::{FilesForm, PlaceForm, RestorePlanForm, RestoredForm};
pub use results::{AppendedForm, BranchedForm, ControlForm, ErasedForm, HookTakenForm, KeyedForm};
pub use retention::{CapturesForm, RetainedForm, RetainedTotal, RetentionForm, TrimmedForm};
#[cfg(feature = "schema")]
pub use schema::big_or_none;
pub use share::{FindForm, SharePlanForm, ShareRequest};
pub use shared::{Listed, Problem};
pub use stats::{CountsForm, DiskForm, StatsForm, StoreForm, TaskStatsForm, UserForm};
pub use summaries::{
    LineageSummaryForm, MetricForm, OutcomeForm, SummariesForm, SummaryForm, UsageForm,
};
pub use summary_query::{SortValue, SummaryFilter, SummaryOrder};
pub use tasks::{LineageForm, ParentForm, TaskForm};
pub use tools::{FileCounts, ToolCallForm, ToolReturnForm};
pub use values::{Big, micros};
pub use verify::{FaultForm, RepairForm, VerifyForm};
