//! Small files and entries that record progress.

// tidy: names the parts
pub(crate) mod acked;
pub(crate) mod applied;
pub(crate) mod closed;
pub(crate) mod unsynced;
