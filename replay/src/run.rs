//! The built-in fold: what an iteration engine's events add up to.
//!
//! ```text
//! run/state.rs   RunState: the fields
//! run/stored.rs  its stored form
//! run/entry.rs   what stands in its sequences
//! run/apply.rs   RunReducer: one event into the state
//! run/view.rs    the state as JSON
//! run/text.rs    the same as text, copied where it is JSON already
//! run/touch.rs   which events a field comes from
//! ```

mod apply;
mod entry;
mod state;
mod stored;
mod text;
mod touch;
mod view;

pub use apply::RunReducer;
pub use entry::{Entry, Guidance};
pub use state::{LastError, OpenCall, RunState, Step, StepStatus};
pub use view::MessageRange;
pub(crate) use view::{entry_text, guidance_text};
