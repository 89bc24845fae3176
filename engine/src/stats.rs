//! What a store holds, in numbers.

use milepost_codec::Seq;

use crate::kept::KeptStates;

/// What a store takes on disk, in bytes of blocks as `du` counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskBytes {
    /// The journal's segments, free ones included.
    pub journal: u64,
    /// The archive.
    pub archive: u64,
    /// sled's folder.
    pub sled: u64,
    /// The packs.
    pub packs: u64,
    /// Everything.
    pub total: u64,
}

/// What a store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Tasks.
    pub tasks: u64,
    /// Lineages of all tasks.
    pub lineages: u64,
    /// Events of all lineages, each counted where it was appended.
    pub events: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Snapshots of states: what may be deleted without changing an answer.
    pub snapshots: u64,
    /// Bytes of the events' records.
    pub event_bytes: u64,
    /// The last commit.
    pub seq: Seq,
    /// The last commit that is where it stays.
    pub applied: Seq,
    /// The last commit in the anchor that is kept up to date; 0 where none is.
    pub anchored: Seq,
    /// Commits that opening took back from the journal.
    pub recovered: u64,
    /// Whether the journal ended in bytes that are no commit when it was opened: a write that was
    /// cut short, which nobody was told of, or damage at the very end.
    pub torn: bool,
    /// What it takes on disk.
    pub disk: DiskBytes,
    /// States of checkpoints that are kept in memory.
    pub kept: KeptStates,
}
