//! Searches for the event that changed a state: blame and bisect.

// tidy: names the parts
pub(crate) mod bisect;
pub(crate) mod blame;
