//! Recovery: opening restores commits from journal and archive.

// tidy: names the parts
pub(crate) mod decide;
pub(crate) mod parallel_apply;
pub(crate) mod replay;
pub(crate) mod survey;
