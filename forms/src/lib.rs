//! The JSON that Milepost answers with: one structure each, for whoever writes it and whoever reads
//! it.
//!
//! The service answers in these forms, its clients read them, and the command prints them. Numbers
//! that can pass 2^53 are strings ([`Big`]); times are RFC 3339 and microseconds since the Unix
//! epoch beside each other; ids and hashes are hexadecimal digits. A reader takes no notice of
//! fields it does not know.
//!
//! ```text
//! tasks, events, checkpoints, points   what a task has
//! appended, control, restores          what came of a request
//! changes, blame, files                what is different, what set it, what a folder had
//! stats, verify, retention, pins,
//! erased                               what a store holds, and let go of
//! page, problem, big, times, values    lists, refusals, numbers, times, values that may be absent
//! made                                 the same of what an engine answers (feature `engine`)
//! schema                               for an OpenAPI document (feature `schema`)
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
