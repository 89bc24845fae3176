//! Folders that a restore changes.

// tidy: a path, and the hint for its conflicts

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use milepost_workspace::PathBytes;

/// Hint with the choices for a conflicting path.
pub const CHOOSE: &str = "`--theirs PATH` takes what was captured, `--keep-mine PATH` leaves what \
    is there; PATH may be a folder, for all below it";

/// Returns a path that a store names.
pub fn place(bytes: &PathBytes) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes.as_bytes()))
}
