//! Counts of a storm.

use std::fmt;
use std::ops::AddAssign;

/// Counts of calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub programs: u64,
    pub operations: u64,
    pub faults: u64,
    pub kills: u64,
    pub checks: u64,
    /// Events and checkpoints that were acknowledged, each looked for at every check.
    pub acknowledged: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.programs += other.programs;
        self.operations += other.operations;
        self.faults += other.faults;
        self.kills += other.kills;
        self.checks += other.checks;
        self.acknowledged += other.acknowledged;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} programs, {} operations, {} faults, {} kills, {} checks of {} acknowledged events",
            self.programs, self.operations, self.faults, self.kills, self.checks, self.acknowledged
        )
    }
}
