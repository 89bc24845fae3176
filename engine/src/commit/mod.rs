//! The way into the log: appends, conditions, the committer, those who watch.

// tidy: names the parts
pub(crate) mod append;
pub(crate) mod committer;
pub(crate) mod conditions;
pub(crate) mod dedup;
pub(crate) mod subscribe;
