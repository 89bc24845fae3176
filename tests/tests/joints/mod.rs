//! Features where they meet: each test holds a promise that one feature broke for another.

mod appends;
mod cleanups;
mod compactions;
mod crossings;
mod depth;
mod erased;
mod failover;
mod folds;
mod heads;
mod imports;
mod jobs;
mod keys;
mod maps;
mod place;
mod planted;
mod readers;
mod secrets;
mod verified;
mod withdrawn;

use std::path::{Path, PathBuf};

/// The files that hold some bytes, also packed.
fn holding(root: &Path, needle: &[u8]) -> Vec<PathBuf> {
    let found = milepost_tests::search::holding(root, &[needle]);
    found.into_iter().map(|(path, _)| path).collect()
}
