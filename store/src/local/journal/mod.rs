//! The journal: frames in segments, one sync each.

// tidy: names the parts
pub(crate) mod pool;
pub(crate) mod scan;
pub(crate) mod writer;
