//! The built-in fold: the state of an iteration engine's run.
//!
//! ```text
//! state.rs          RunState: the fields
//! encoding.rs       the stored form
//! entry.rs          items of the sequences
//! piece.rs          pieces of the sequences, made again of events
//! apply/            RunReducer: applies one event to the state
//! json.rs           the state as JSON
//! text.rs           the state as JSON text, with JSON parts copied
//! field_sources.rs  the kinds of events that change a field
//! ```

// tidy: names the parts

mod apply;
mod encoding;
mod entry;
mod field_sources;
mod json;
mod piece;
mod state;
mod text;

pub use apply::RunReducer;
pub use entry::{Entry, Guidance};
pub use json::MessageRange;
pub(crate) use json::{entry_text, guidance_text};
pub use piece::{piece_items, piece_source};
pub use state::{LastError, OpenCall, RunState, Step, StepStatus};
