//! Errors of settings: the place, the reason, and the next step.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A reason why settings cannot be read or changed. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    file: Option<PathBuf>,
    /// Line and column, from 1.
    place: Option<(usize, usize)>,
    reason: String,
    next: String,
}

impl Error {
    /// Returns an error with its reason, and what to do next.
    pub fn new(reason: impl Into<String>, next: impl Into<String>) -> Self {
        Self { file: None, place: None, reason: reason.into(), next: next.into() }
    }

    /// Sets the file.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file = Some(file.to_owned());
        self
    }

    /// Returns the error of a call of the system.
    pub(crate) fn of_call(what: &str, file: &Path, error: &io::Error) -> Self {
        let next = match error.kind() {
            io::ErrorKind::PermissionDenied => {
                "see that you may read the file, and that you may write to its folder"
            }
            io::ErrorKind::NotADirectory => "a part of the path is a file: move it away",
            io::ErrorKind::StorageFull => "make room on the disk, then run this again",
            _ => "when the cause is gone, run this again",
        };
        Self::new(format!("cannot {what}: {error}"), next).in_file(file)
    }

    /// Sets the place by an offset in a text.
    #[must_use]
    pub(crate) fn at(mut self, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.place = Some((line, column));
        self
    }

    /// Returns what to do next.
    pub fn next_step(&self) -> &str {
        &self.next
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.place) {
            (Some(file), Some((line, column))) => write!(f, "{}:{line}:{column}: ", file.display()),
            (Some(file), None) => write!(f, "{}: ", file.display()),
            (None, Some((line, column))) => write!(f, "line {line}, column {column}: "),
            (None, None) => Ok(()),
        }?;
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Error {}
