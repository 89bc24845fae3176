//! Small files and entries that say how far something is.

// tidy: names the parts
pub(crate) mod acked;
pub(crate) mod applied;
pub(crate) mod closed;
pub(crate) mod unsynced;
