//! Features where they meet: each test holds a promise that one feature broke for another.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod appends;
mod cleanups;
mod compactions;
mod depth;
mod erased;
mod failover;
mod folds;
mod imports;
mod keys;
mod withdrawn;

use std::fs;
use std::path::{Path, PathBuf};

/// Every file below a folder.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// The files that hold some bytes.
fn holding(root: &Path, needle: &[u8]) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(needle.len()).any(|found| found == needle)
    };
    files(root).into_iter().filter(holds).collect()
}
