//! The stored format: golden files, hashes, kinds, round trips, and changed bytes under valid
//! checks.
//!
//! One binary, since each compiles the codec's generic code again. `hostile.rs` measures memory and
//! needs a process of its own.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

#[path = "../arbitrary/mod.rs"]
mod arbitrary;
#[path = "../decoders/mod.rs"]
mod decoders;
#[path = "../samples/mod.rs"]
mod samples;

mod golden;
mod hashes;
mod kinds;
mod properties;
mod sealed;
