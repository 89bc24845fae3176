//! Conversions from the engine's types.

mod answers;
mod restores;
mod retention;

pub use restores::files_plan;
