//! Folders that a restore changes: their paths, and the failures of the restore.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use milepost::{Detail, Error, ErrorKind};
use milepost_workspace::{PathBytes, Workspace};

use crate::error::Failure;
use crate::output::printable;

/// Hint with the choices for a conflicting path.
pub const CHOOSE: &str = "`--theirs PATH` takes what was captured, `--keep-mine PATH` leaves what \
    is there; PATH may be a folder, for all below it";

/// Returns a path that a store names.
pub fn place(bytes: &PathBytes) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes.as_bytes()))
}

/// Returns the folder for messages.
pub fn shown(workspace: &Workspace) -> String {
    printable(&workspace.folder().display().to_string()).into_owned()
}

/// Converts the error of a restore with a folder, with a hint.
pub fn failed(error: Error) -> Failure {
    let kind = error.kind();
    let told = matches!(
        error.detail(),
        Some(Detail::Pending { .. } | Detail::Refused { .. } | Detail::Active { .. })
    );
    let failure = Failure::from(error);
    match kind {
        _ if told => failure,
        ErrorKind::Conflict => failure.hint(CHOOSE),
        ErrorKind::Unavailable => failure.hint(
            "the folder is as it was: mend what it says, or wait for the other, and ask again",
        ),
        _ => failure,
    }
}
