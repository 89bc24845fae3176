//! The log as it is read: tasks, lineages, events, states, checkpoints.

// tidy: names the parts
pub(crate) mod address;
pub(crate) mod base;
pub(crate) mod catalog;
pub(crate) mod checkpoint;
pub(crate) mod erased;
pub(crate) mod hashes;
pub(crate) mod kept;
pub(crate) mod lists;
pub(crate) mod pending;
pub(crate) mod pieces;
pub(crate) mod point;
pub(crate) mod read;
pub(crate) mod spacing;
pub(crate) mod state;
pub(crate) mod stats;
