//! The index of the local store: sled, the only code that calls it, and the block files.

// tidy: names the parts
pub(crate) mod block_files;
pub(crate) mod blocks;
mod counted;
pub(crate) mod digest_check;
mod groups;
pub(crate) mod kv;
pub(crate) mod local_index;
