//! The write path: appends, conditions, the committer and subscriptions.

// tidy: names the parts
pub(crate) mod append;
pub(crate) mod appended;
pub(crate) mod committer;
pub(crate) mod conditions;
pub(crate) mod dedup;
pub(crate) mod each_keyed;
pub(crate) mod subscribe;
