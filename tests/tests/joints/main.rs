//! Features where they meet: each test holds a promise that one feature broke for another.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod appends;
mod cleanups;
mod compactions;
mod erased;
mod failover;
mod folds;
mod imports;
mod keys;
mod withdrawn;
