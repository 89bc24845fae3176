//! Stores argmin's checkpoints in a Milepost store.
//!
//! ```text
//! checkpoint.rs    LogCheckpoint: the interface that argmin calls
//! form.rs          encoding of solver and state
//! rosenbrock.rs    the problem of the program and the tests
//! ```

mod checkpoint;
mod form;
pub mod rosenbrock;

pub use checkpoint::{EVENT_NAME, LogCheckpoint};
