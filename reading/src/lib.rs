//! A run in the units that a person reads: rows, turns, usage, outcomes, alignments. See
//! `docs/READING.md`.
//!
//! ```text
//! align    two lists of turns, matched by content
//! turns    events -> turns
//! usage    tokens, cost and model that were recorded
//! usage_groups  the same by model, day or any other group
//! summary  title, counts, usage and last values of a history
//! items    messages and calls that a program keeps in its variables
//! map      where turns begin, and counts and metrics in buckets
//! meaning  JSON by its meaning
//! outcome  success or failure of a lineage
//! row      an event on one line
//! command  results of calls, those of commands as their text
//! shell    words of printed commands
//! text     one line of bounded length
//! units    durations, sizes and numbers
//! ```
//!
//! This crate does no I/O and uses neither clock nor randomness.

mod align;
mod command;
mod items;
mod map;
mod meaning;
mod outcome;
mod row;
pub mod shell;
mod summary;
mod text;
mod turns;
pub mod units;
mod usage;
mod usage_groups;

pub use align::{AlignOptions, Aligned, AlignedOp, align, common};
pub use command::command_text;
pub use items::Items;
pub use map::{HistoryMap, MetricBucket, OverviewBucket, Resume};
pub use outcome::{OUTCOME_POINTERS, Outcome};
pub use row::{row, row_within};
pub use summary::{MetricRange, Summary};
pub use text::TEXT_MAX;
pub use turns::{Turn, TurnCall, TurnMark, Turns, passed};
pub use usage::{MIXED_CURRENCIES, Usage, UsageSum};
pub use usage_groups::UsageGroups;
