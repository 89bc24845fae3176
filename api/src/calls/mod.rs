//! The operations of the API, by family.
//!
//! ```text
//! tasks        tasks and their lineages
//! checkpoints  checkpoints, and data attached to them
//! pins         pinned checkpoints
//! points       points
//! readings     lineages as a person reads them
//! restores     restores, and the folders that they may go to
//! store        numbers of the store
//! ```

// tidy: names the parts

mod checkpoints;
mod pins;
mod points;
mod readings;
mod restores;
mod store;
mod tasks;

pub use checkpoints::*;
pub use pins::*;
pub use points::*;
pub use readings::*;
pub use restores::*;
pub use store::*;
pub use tasks::*;
