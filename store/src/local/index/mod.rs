//! The index of the local store: sled, and the only code that calls it.

// tidy: names the parts
pub(crate) mod blocks;
pub(crate) mod digest_check;
mod groups;
pub(crate) mod kv;
