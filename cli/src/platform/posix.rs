//! The functions of `linux`, of which POSIX has none.

// tidy: two of them

use std::path::Path;

use super::Disk;

/// Returns `Unknown` for a folder; `None` if it cannot be looked at.
pub fn disk(folder: &Path) -> Option<Disk> {
    folder.metadata().ok().map(|_| Disk::Unknown)
}

/// Returns a mask without signals: asking for those that are ignored needs `sigaction`, for which
/// there is no safe function.
pub fn ignored_signals() -> u64 {
    0
}
