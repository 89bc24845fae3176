//! Restores: forks of a lineage, and what takes part in them.

// tidy: names the parts
pub(crate) mod fork;
pub(crate) mod participants;
pub(crate) mod two_phase;
