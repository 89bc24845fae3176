//! How what the engine knows is shown on `/v1`: one type a thing, with its schema.
//!
//! ```text
//! big.rs      numbers that can pass 2^53        problem.rs  what went wrong
//! tasks.rs    tasks and lineages                page.rs     lists
//! events.rs   events                            ranges.rs   some of them
//! checkpoints.rs
//! points.rs   points, and the events at them    changes.rs  what is different
//! files.rs    captured files
//! stats.rs    what is held, in numbers
//! append.rs   what is appended, what came of it restores.rs  retention.rs  verify.rs
//! location.rs where a thing is, as a path
//! ```

mod append;
mod big;
mod changes;
mod checkpoints;
mod events;
mod files;
mod location;
mod page;
mod points;
mod problem;
mod ranges;
mod restores;
mod retention;
mod stats;
mod tasks;
mod verify;

pub(crate) use append::{AppendedForm, EventGiven, Line, LineGiven};
pub(crate) use big::{Big, big_or_none};
pub(crate) use changes::{ChangeForm, ChangesForm};
pub(crate) use checkpoints::CheckpointForm;
pub(crate) use events::EventForm;
pub(crate) use files::FileForm;
pub(crate) use location::location;
pub(crate) use page::Listed;
pub(crate) use points::{EventAt, PointForm, StateOrPart};
pub(crate) use problem::Problem;
pub(crate) use ranges::{RangeForm, line};
pub(crate) use restores::{RestorePlanForm, RestoredForm};
pub(crate) use retention::RetentionForm;
pub(crate) use stats::{StatsForm, UserForm};
pub(crate) use tasks::{LineageForm, TaskForm};
pub(crate) use verify::VerifyForm;
