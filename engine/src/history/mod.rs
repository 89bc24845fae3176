//! Reads of the log: tasks, lineages, events, states, checkpoints.

// tidy: names the parts
mod activations;
pub(crate) mod address;
mod ancestry;
pub(crate) mod base;
pub(crate) mod catalog;
pub(crate) mod chain_hash;
pub(crate) mod checkpoint;
pub(crate) mod contents;
mod cursor;
pub(crate) mod erased;
pub(crate) mod events;
mod inherited;
pub(crate) mod lists;
pub(crate) mod log_chunks;
pub(crate) mod pending;
pub(crate) mod pieces;
pub(crate) mod point;
mod readahead;
pub(crate) mod spacing;
pub(crate) mod state;
pub(crate) mod state_cache;
pub(crate) mod stats;
pub(crate) mod summary;
