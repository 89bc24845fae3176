//! The report of a verification.

use milepost_store::Fault;
use milepost_store::open_report::Repair;

/// Counts and faults of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The number of tasks.
    pub tasks: u64,
    /// The number of lineages.
    pub lineages: u64,
    /// The number of events, including those of control logs.
    pub events: u64,
    /// The bytes of the events' records.
    pub bytes: u64,
    /// The number of checkpoints whose digest was recomputed.
    pub checkpoints: u64,
    /// The number of captured workspaces whose chunks were checked.
    pub captures: u64,
    /// The number of checked extents of events: blocks, or groups in the tail.
    pub blocks: u64,
    /// The number of compared index entries that follow from events.
    pub entries: u64,
    /// The number of snapshots read.
    pub snapshots: u64,
    /// The number of journal frames, archived ones included; 0 if one task was verified.
    pub frames: u64,
    /// The number of chunks in packs; 0 if one task was verified.
    pub chunks: u64,
    /// The faults found. It is empty if everything is as it was written.
    pub faults: Vec<Fault>,
    /// Damage that was repaired before, and that was not acknowledged: see
    /// [`Integrity::acknowledge_repairs`](crate::integrity::Integrity::acknowledge_repairs).
    pub repairs: Vec<Repair>,
}

impl VerifyReport {
    /// Returns `true` if everything is as it was written, possibly after a repair.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }
}
