//! The report of a verification.

use milepost_store::Fault;

/// Counts and faults of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Tasks.
    pub tasks: u64,
    /// Lineages.
    pub lineages: u64,
    /// Events, those of control logs included.
    pub events: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// Checkpoints whose digest was computed again.
    pub checkpoints: u64,
    /// Captured workspaces of which everything was looked for that they need.
    pub captures: u64,
    /// Extents of events whose block was checked.
    pub blocks: u64,
    /// Entries of the index that follow from events, each compared.
    pub entries: u64,
    /// Snapshots that were read.
    pub snapshots: u64,
    /// Journal frames, archived or not, beside the chains; not where one task was asked for.
    pub frames: u64,
    /// Chunks in packs; not where one task was asked for.
    pub chunks: u64,
    /// What is wrong. Empty: everything is as it was written.
    pub faults: Vec<Fault>,
}

impl VerifyReport {
    /// Whether everything is as it was written.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }
}
