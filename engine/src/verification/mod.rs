//! Verification of a store, and anchors.

// tidy: names the parts
pub(crate) mod anchor;
pub(crate) mod verify;
