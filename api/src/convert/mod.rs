//! Conversions from the engine's types.

// tidy: names the parts
mod answers;
mod attachments;
mod files;
mod requests;
mod restores;
mod retention;

pub use restores::{files_plan, plan_of_files};
mod summaries;
