//! The built-in fold: what an iteration engine's events add up to.
//!
//! ```text
//! state.rs          RunState: the fields
//! encoding.rs       its stored form
//! entry.rs          what stands in its sequences
//! apply/            RunReducer: one event into the state
//! json.rs           the state as JSON
//! text.rs           the same as text, copied where it is JSON already
//! field_sources.rs  which events a field comes from
//! ```

mod apply;
mod encoding;
mod entry;
mod field_sources;
mod json;
mod state;
mod text;

pub use apply::RunReducer;
pub use entry::{Entry, Guidance};
pub use json::MessageRange;
pub(crate) use json::{entry_text, guidance_text};
pub use state::{LastError, OpenCall, RunState, Step, StepStatus};
