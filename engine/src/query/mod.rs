//! Queries: lists of tasks and checkpoints, and searches for the event that changed a state.

pub(crate) mod bisect;
pub(crate) mod blame;

pub use self::bisect::{Bisect, Verdict};
pub use self::blame::{Blame, Blamed};
pub use crate::handles::lineage::LineageInfo;
pub use crate::history::address::AddressTarget;
pub use crate::history::lists::{CheckpointQuery, Page, TaskInfo, TaskQuery};
pub use crate::history::stats::TaskStats;
