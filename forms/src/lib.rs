//! The JSON of Milepost's answers: one structure for each, for writers and readers.
//!
//! The service answers in these forms, its clients read them, and the command prints them. Numbers
//! that may exceed 2^53 are strings ([`Big`]). Times appear both as RFC 3339 and as microseconds
//! since the Unix epoch. Ids and hashes are hexadecimal digits. A reader ignores unknown fields.
//!
//! ```text
//! tasks, events, checkpoints, points   contents of a task
//! appended, control, restores          results of a request
//! changes, blame, files                differences, the events that set a value, captured files
//! stats, verify, retention, pins,
//! erased                               contents of a store, and what a cleanup removes
//! page, problem, big, times, values    lists, errors, numbers, times, nullable values
//! made                                 conversions from engine types (feature `engine`)
//! schema                               OpenAPI schemas (feature `schema`)
//! ```
//!
//! ```
//! use milepost_forms::EventForm;
//!
//! let text = r#"{"offset":"7","lineage":0,"kind":"message","time":"2026-01-18T10:30:00.000000Z",
//!     "time_us":"1768732200000000","body":{"kind":"message","role":"user","content":"hello"}}"#;
//! let event: EventForm = serde_json::from_str(text)?;
//! assert_eq!(event.offset.0, 7);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod appended;
mod big;
mod blame;
mod changes;
mod checkpoints;
mod control;
mod erased;
mod events;
mod files;
#[cfg(feature = "engine")]
mod made;
mod page;
mod pins;
mod points;
mod problem;
mod restores;
mod retention;
#[cfg(feature = "schema")]
mod schema;
mod stats;
mod tasks;
mod times;
mod values;
mod verify;

pub use appended::AppendedForm;
pub use big::Big;
pub use blame::{BlameForm, BlamedForm};
pub use changes::{ChangeForm, ChangesForm};
pub use checkpoints::CheckpointForm;
pub use control::ControlForm;
pub use erased::ErasedForm;
pub use events::{EventForm, MovedForm, RangeForm};
pub use files::FileForm;
#[cfg(feature = "engine")]
pub use made::files_plan;
pub use page::Listed;
pub use pins::PinForm;
pub use points::{EventAt, PartForm, PointForm, StateForm, StateOrPart};
pub use problem::Problem;
pub use restores::{PlaceForm, RestorePlanForm, RestoredForm};
pub use retention::{CapturesForm, RetainedForm, RetainedTotal, RetentionForm, TrimmedForm};
#[cfg(feature = "schema")]
pub use schema::big_or_none;
pub use stats::{CountsForm, DiskForm, StatsForm, StoreForm, TaskStatsForm, UserForm};
pub use tasks::{LineageForm, ParentForm, TaskForm};
pub use times::micros;
pub use verify::{FaultForm, VerifyForm};
