//! Failed inputs: the kinds and remedies of their errors, for an answer.

use std::io;

use milepost::{Detail, ErrorKind};
use milepost_api::{FailedInput, Remedy};
use milepost_formats::{Error, ErrorKind as FormatsKind};

use super::remedies::named;

/// The failure of one input. The others are imported.
#[derive(Debug)]
pub(crate) struct InputFailure {
    pub(crate) message: String,
    pub(crate) kind: &'static str,
    pub(crate) remedy: Option<Remedy>,
}

impl InputFailure {
    /// Creates a failure of the request, with the field that does not fit in backquotes.
    pub(crate) fn of_request(message: String, remedy: Remedy) -> Self {
        Self { message, kind: "input", remedy: Some(remedy) }
    }

    /// Returns the failure of a named input.
    pub(crate) fn of(self, input: String, is_noted: bool) -> FailedInput {
        let Self { message, kind, remedy } = self;
        FailedInput { input, message, kind: kind.to_owned(), remedy, is_noted }
    }
}

impl From<&Error> for InputFailure {
    fn from(error: &Error) -> Self {
        let kind = match (error.engine(), error.kind()) {
            (Some(error), _) => name(error.kind()),
            (None, FormatsKind::Invalid | FormatsKind::Engine) => "input",
            (None, FormatsKind::Conflict) => "conflict",
            (None, FormatsKind::Corrupt) => "corrupt",
            (None, FormatsKind::Io) => "io",
            (None, FormatsKind::Bug) => "bug",
        };
        let is_denied = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        let remedy = match error.remedy() {
            _ if error.io().is_some_and(is_denied) => Some(Remedy::CheckPermission),
            Some(remedy) => named(remedy),
            None => error.engine().and_then(of_engine),
        };
        Self { message: error.to_string(), kind, remedy }
    }
}

impl From<Error> for InputFailure {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl From<milepost::Error> for InputFailure {
    fn from(error: milepost::Error) -> Self {
        Self::from(Error::from(error))
    }
}

/// Returns the remedy of an error of the engine.
fn of_engine(error: &milepost::Error) -> Option<Remedy> {
    match error.detail()? {
        Detail::Pending { task, .. } => Some(Remedy::Recover { task: task.clone() }),
        Detail::Refused { .. } => Some(Remedy::LookAtHooks),
        _ => None,
    }
}

/// Returns the name of a kind.
fn name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Invalid => "invalid",
        ErrorKind::NotFound => "not_found",
        ErrorKind::Conflict => "conflict",
        ErrorKind::Unavailable => "unavailable",
        ErrorKind::Corrupt => "corrupt",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Poisoned => "poisoned",
        ErrorKind::Diverged => "diverged",
        _ => "bug",
    }
}
