//! Errors of operations.

// tidy: one error

use std::fmt;

use crate::jobs::JobFailure;

/// Result of an operation.
pub type OperationResult<T> = std::result::Result<T, Error>;

/// Error of an operation.
#[derive(Debug)]
pub enum Error {
    /// An error of the engine.
    Engine(milepost::Error),
    /// The failure of a restore with a folder.
    Restore(JobFailure),
    /// The caller lacks the right. The text names the right.
    Forbidden(&'static str),
    /// The answer would be too large. The text has the alternative.
    TooMuch(&'static str),
}

impl From<milepost::Error> for Error {
    fn from(error: milepost::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<JobFailure> for Error {
    fn from(failure: JobFailure) -> Self {
        match failure {
            JobFailure { error, remedy: None, result: None } => Self::Engine(error),
            failure => Self::Restore(failure),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Restore(failure) => failure.fmt(f),
            Self::Forbidden(text) | Self::TooMuch(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
