//! argmin's checkpoints in a Milepost store.
//!
//! ```text
//! checkpoint.rs    LogCheckpoint: what argmin calls
//! form.rs          solver and state as bytes
//! rosenbrock.rs    the problem of the program and the tests
//! ```

mod checkpoint;
mod form;
pub mod rosenbrock;

pub use checkpoint::{EVENT_NAME, LogCheckpoint};
