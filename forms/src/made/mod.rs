//! Forms of what an engine answers.

mod answers;
mod restores;
mod retention;

pub use restores::files_plan;
