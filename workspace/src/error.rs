//! Errors of the file system, with the failed operation and the path.

// tidy: one conversion

use std::io;
use std::path::Path;

use milepost::{Error, ErrorKind};
use milepost_codec::printable;
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;

/// Converts a system error. The message is `cannot WHAT PATH: why`.
pub(crate) fn io(action: &str, path: &Path, error: &io::Error) -> Error {
    of_bytes(action, path.as_os_str().as_bytes(), error)
}

/// Converts a system error for a path below a workspace, given as bytes.
pub(crate) fn below(action: &str, path: &[u8], error: Errno) -> Error {
    of_bytes(action, path, &error.into())
}

/// Returns `true` if an error reports missing or damaged contents, which affect only the paths that
/// need them.
pub(crate) fn is_lost(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound)
}

fn of_bytes(action: &str, path: &[u8], error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Unavailable,
    };
    let path = match path {
        [] => "the workspace".to_owned(),
        _ => printable(path),
    };
    Error::new(kind, format!("cannot {action} {path}: {error}"))
        .with_source(io::Error::from(error.kind()))
}
