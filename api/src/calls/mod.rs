//! The operations of the API, by family.
//!
//! ```text
//! tasks  tasks and their lineages
//! pins   pinned checkpoints
//! ```

// tidy: names the parts

mod pins;
mod tasks;

pub use pins::{Pin, Pins, Unpin};
pub use tasks::{Lineages, Summary, Task, TaskQuery, Tasks};
