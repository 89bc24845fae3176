//! Integrity of a store: verification and anchors.

// tidy: names the parts
pub(crate) mod anchor;
pub(crate) mod verify;
