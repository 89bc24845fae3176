//! Counts and sizes.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// Numbers of the store, or of one user's tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(untagged)]
pub enum StatsForm {
    /// Numbers of the store.
    Store(StoreForm),
    /// Numbers of one user's tasks.
    User(UserForm),
}

/// The contents of a store in numbers. `milepost stats --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct StoreForm {
    /// Tasks.
    pub tasks: Big,
    /// Lineages.
    pub lineages: Big,
    /// Events, each counted in the lineage it was appended to.
    pub events: Big,
    /// Checkpoints.
    pub checkpoints: Big,
    /// Bytes of the events' records.
    pub event_bytes: Big,
    /// Commits that were recovered from the journal when the store was opened.
    pub recovered: Big,
    /// The last commit.
    pub seq: Big,
    /// The last commit that was applied to the index.
    pub applied: Big,
    /// The disk usage.
    pub disk: DiskForm,
}

/// Disk usage in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct DiskForm {
    /// The journal.
    pub journal: Big,
    /// Archived journal segments.
    pub archive: Big,
    /// The index and applied events.
    pub sled: Big,
    /// Chunks of bodies, states and files.
    pub packs: Big,
    /// The sum of all.
    pub total: Big,
}

/// Numbers of each task of a user, and their sums. `milepost stats --user --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct UserForm {
    /// The owner.
    pub user: String,
    /// The tasks, newest first.
    pub tasks: Vec<TaskStatsForm>,
    /// The cursor of the next page; `null` on the last page.
    pub next: Option<String>,
    /// The sums over all tasks of the user, on every page.
    pub total: CountsForm,
}

/// Numbers of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TaskStatsForm {
    /// The id of the task.
    pub id: String,
    /// The owner.
    pub user: String,
    /// The counts.
    #[serde(flatten)]
    pub counts: CountsForm,
}

/// Counts of one or more tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct CountsForm {
    /// Lineages.
    pub lineages: Big,
    /// Events, each counted in the lineage it was appended to.
    pub events: Big,
    /// Checkpoints.
    pub checkpoints: Big,
    /// Bytes of the events' records.
    pub bytes: Big,
    /// The approximate share of the store's disk usage, in bytes.
    pub disk_bytes: Big,
}
