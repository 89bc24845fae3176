//! What opening a store found, and what it did about it.

use std::fmt;

/// What opening a store found, and what it did about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// Commits that came back from the journal: the store was not closed after them.
    pub recovered: u64,
    /// What was not as it was left, in the order it was found. Empty: everything was.
    pub findings: Vec<Finding>,
}

/// One thing that opening found not as it was left.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Which file, and where in it.
    pub place: String,
    /// What is wrong with it.
    pub message: String,
    /// What came of it.
    pub outcome: Outcome,
}

impl Finding {
    /// Makes a finding.
    pub fn new(place: impl Into<String>, message: impl Into<String>, outcome: Outcome) -> Self {
        Self { place: place.into(), message: message.into(), outcome }
    }
}

/// Long work that opening does, and how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Commits that are done.
    pub done: u64,
    /// All of them.
    pub all: u64,
}

/// What came of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing is lost, and the place is whole again.
    Repaired,
    /// Bytes were dropped that are no commit: a write that nobody was told of.
    Dropped,
    /// It is as it was: nothing could be done about it while opening.
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
