//! The operations of the API, by family.
//!
//! ```text
//! tasks        tasks and their lineages
//! checkpoints  checkpoints, and data attached to them
//! pins         pinned checkpoints
//! points       points
//! readings     lineages as a person reads them
//! restores     restores, and the folders that they may go to
//! ```

// tidy: names the parts

mod checkpoints;
mod pins;
mod points;
mod readings;
mod restores;
mod tasks;

pub use checkpoints::{
    AliasQuery, AllCheckpoints, AllCheckpointsQuery, Attachments, Checkpoint, CheckpointOrder,
    CheckpointQuery, Checkpoints, Unmark, UnmarkAll, UnmarkQuery,
};
pub use pins::{Pin, Pins, Unpin};
pub use points::{Erase, FileChanges, Point};
pub use readings::{
    Align, AlignQuery, MetricsQuery, Overview, OverviewQuery, Rows, RowsQuery, Search, SearchQuery,
    TaskMetrics, Turns, TurnsQuery,
};
pub use restores::{Folders, Redo, Switch};
pub use tasks::{Lineages, Summary, Task, TaskQuery, Tasks};
