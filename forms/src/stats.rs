//! What is held, in numbers.

use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use utoipa::ToSchema;

use crate::Big;

/// Of the store, or of a user's tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
#[serde(untagged)]
pub enum StatsForm {
    /// Of the store.
    Store(StoreForm),
    /// Of a user's tasks.
    User(UserForm),
}

/// What a store holds. `milepost stats --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct StoreForm {
    /// Tasks.
    pub tasks: Big,
    /// Lineages.
    pub lineages: Big,
    /// Each counted where it was appended.
    pub events: Big,
    /// Checkpoints.
    pub checkpoints: Big,
    /// Bytes of the events' records.
    pub event_bytes: Big,
    /// Commits that opening took back from the journal.
    pub recovered: Big,
    /// The last commit.
    pub seq: Big,
    /// The last commit that is where it stays.
    pub applied: Big,
    /// What it takes on disk.
    pub disk: DiskForm,
}

/// What it takes on disk, in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct DiskForm {
    /// The journal.
    pub journal: Big,
    /// Journal segments that are kept.
    pub archive: Big,
    /// The index, and events that were applied.
    pub sled: Big,
    /// Chunks: bodies, states, files.
    pub packs: Big,
    /// Everything.
    pub total: Big,
}

/// What each task of a user holds, and all of them. `milepost stats --user --json` prints the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct UserForm {
    /// Whose it is.
    pub user: String,
    /// Newest first.
    pub tasks: Vec<TaskStatsForm>,
    /// The cursor of the next page; `null` where this is the last.
    pub next: Option<String>,
    /// Of all of them, whatever page this is.
    pub total: CountsForm,
}

/// What a task holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct TaskStatsForm {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub user: String,
    /// What it holds.
    #[serde(flatten)]
    pub counts: CountsForm,
}

/// What is counted of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ToSchema))]
pub struct CountsForm {
    /// Lineages.
    pub lineages: Big,
    /// Each counted where it was appended.
    pub events: Big,
    /// Checkpoints.
    pub checkpoints: Big,
    /// Of the events' records.
    pub bytes: Big,
    /// About, of what the store takes on disk.
    pub disk_bytes: Big,
}
