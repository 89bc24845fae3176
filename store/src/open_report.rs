//! The report of opening a store.

use std::fmt;

/// The findings of opening a store, and the number of commits that it recovered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// The number of commits recovered from the journal: the store was not closed after them.
    pub recovered: u64,
    /// Set if the index was built anew from the journal and its archive. The snapshots of states
    /// that it knew are made again in the background.
    pub index_rebuilt: bool,
    /// Unexpected states, in the order they were found. Empty if there were none.
    pub findings: Vec<Finding>,
}

/// A state that opening did not expect.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The file, and the place in it.
    pub place: String,
    /// The fault.
    pub message: String,
    /// The outcome.
    pub outcome: Outcome,
}

impl Finding {
    /// Returns a finding with these parts.
    pub fn new(place: impl Into<String>, message: impl Into<String>, outcome: Outcome) -> Self {
        Self { place: place.into(), message: message.into(), outcome }
    }
}

/// The record of repaired damage. It stays in the store, and a verification counts it until it is
/// acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The time at which the damage was found, in microseconds since 1970; 0 if it is not known.
    pub time_us: u64,
    /// The time of the last verification before it that found no fault. The damage is newer, unless
    /// it is in a part that was damaged and read as intact. `None`: the store was never verified.
    pub whole_us: Option<u64>,
    /// The damaged file, relative to the store's folder, and the place in it.
    pub place: String,
    /// The fault.
    pub message: String,
    /// The copy that the repair read.
    pub mended_from: String,
    /// Set once the repair was complete. A repair that was interrupted is done again by the next
    /// opening.
    pub complete: bool,
    /// The time at which it was acknowledged.
    pub acknowledged_us: Option<u64>,
}

/// Progress of opening a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of commits done.
    pub done: u64,
    /// The number of all commits to do.
    pub all: u64,
}

/// The outcome of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing is lost, and the place is intact again.
    Repaired,
    /// Bytes without a commit were dropped: a write that was never acknowledged.
    Dropped,
    /// The place is unchanged: opening could not repair it.
    Left,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Repaired => "repaired",
            Self::Dropped => "dropped",
            Self::Left => "left as it is",
        })
    }
}
