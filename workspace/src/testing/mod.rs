//! Helpers of the tests: folders as maps, chunks in memory.

// tidy: names the parts
pub(crate) mod fixtures;
pub(crate) mod memory;
