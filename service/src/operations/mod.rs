//! Operations that the service and a program with the store open share: the engine's calls, with
//! answers as forms. Authorization, limits and transport are the caller's.
//!
//! ```text
//! tasks        tasks and their lineages
//! checkpoints  checkpoints, and data attached to them
//! pins         pinned checkpoints
//! points       points
//! readings     lineages as a person reads them
//! restores     restores, and the folders that they may go to
//! runs         control, guidance and artifacts
//! stats        numbers of the store
//! maintenance  verification and retention
//! ```

mod checkpoints;
mod maintenance;
mod pins;
mod points;
mod readings;
mod restores;
mod runs;
mod stats;
mod tasks;

use milepost::{Error, Result};

pub use maintenance::back_up;
pub use readings::{ROWS, TURNS, ordered};
pub use runs::{Appends, change_control};

/// Default page size of tasks and checkpoints.
pub const PAGE: usize = 20;

/// Maximum page size of tasks and checkpoints.
pub const PAGE_MAX: usize = 100;

/// Checks a page size. `None` is the default.
///
/// # Errors
///
/// `Invalid`: the size is zero or more than `most`.
pub fn page_size(given: Option<usize>, default: usize, most: usize) -> Result<usize> {
    match given.unwrap_or(default) {
        size if (1..=most).contains(&size) => Ok(size),
        size => Err(Error::invalid(format!("limit is 1 to {most}, not {size}"))),
    }
}
