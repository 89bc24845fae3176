//! Restores: forks of a lineage, with and without participants.

// tidy: names the parts
pub(crate) mod builder;
pub(crate) mod fork;
pub(crate) mod participants;
pub(crate) mod two_phase;
