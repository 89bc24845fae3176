//! The operations of the API, by family.
//!
//! ```text
//! tasks        tasks and their lineages
//! checkpoints  checkpoints, and data attached to them
//! pins         pinned checkpoints
//! points       points
//! readings     lineages as a person reads them
//! restores     restores, and the folders that they may go to
//! runs         control, guidance and artifacts
//! store        numbers of the store
//! maintenance  verification and retention
//! ```

// tidy: names the parts

mod checkpoints;
mod maintenance;
mod pins;
mod points;
mod readings;
mod restores;
mod runs;
mod store;
mod tasks;

pub use checkpoints::*;
pub use maintenance::*;
pub use pins::*;
pub use points::*;
pub use readings::*;
pub use restores::*;
pub use runs::*;
pub use store::*;
pub use tasks::*;
