//! Errors of the file system, with what was done to which path.

use std::io;
use std::path::Path;

use milepost::{Error, ErrorKind};
use milepost_codec::printable;
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;

/// An error of the system as one of ours: `cannot WHAT PATH: why`.
pub(crate) fn io(what: &str, path: &Path, error: &io::Error) -> Error {
    of_bytes(what, path.as_os_str().as_bytes(), error)
}

/// The same for a path below a workspace, as bytes.
pub(crate) fn below(what: &str, path: &[u8], error: Errno) -> Error {
    of_bytes(what, path, &error.into())
}

/// Whether an error says that stored contents are gone or damaged, so that only the paths that need
/// them are hit.
pub(crate) fn is_lost(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound)
}

fn of_bytes(what: &str, path: &[u8], error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Unavailable,
    };
    let path = match path {
        [] => "the workspace".to_owned(),
        _ => printable(path),
    };
    Error::new(kind, format!("cannot {what} {path}: {error}"))
}
