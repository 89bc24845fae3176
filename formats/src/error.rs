//! Errors: a kind for programs, a remedy for the next step, and a message with its place.

use std::fmt::{self, Display};
use std::io;

use serde::{Deserialize, Serialize};

use crate::format::Format;

/// Result of the functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A value of a record, or the reason why it is not written.
pub(crate) type Converted<T> = std::result::Result<T, String>;

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input cannot be converted.
    Invalid,
    /// The store has a task or a checkpoint that differs from the input.
    Conflict,
    /// The input is damaged.
    Corrupt,
    /// An input or an output failed.
    Io,
    /// The engine failed; [`Error::engine`] returns its error.
    Engine,
    /// A defect of this crate.
    Bug,
}

/// The next step after an error, for a caller that knows how its options are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// The path of a run is to be checked.
    CheckPath,
    /// The files of a folder are to be named, not the folder.
    NameFiles,
    /// A file is to be named, not a folder or a stream.
    NameFile,
    /// The input is empty: it needs events.
    GiveEvents,
    /// The lines are blank: each needs an event.
    GiveEventLines,
    /// The lines have kinds that are unknown: they are to be allowed.
    AllowUnknown,
    /// The lines are blank: the file is to be a session.
    GiveSession,
    /// The folder has no session.
    GiveSessionFolder,
    /// The folder has nothing to import, or too much to search.
    GiveRunFolder,
    /// The database has no checkpoint.
    GiveUsedDatabase,
    /// The file is not a database with checkpoints.
    GiveDatabase,
    /// The tables of the database are not those that its program makes.
    GiveOrdinaryDatabase,
    /// The database cannot be read to its end.
    CheckDatabase,
    /// The folder has no checkpoint file.
    GiveCheckpointFolder,
    /// The folder cannot be listed.
    CheckFolder,
    /// The format of the input is unknown.
    NameFormat,
    /// The input is not in the format it was read as.
    NameOtherFormat(Format),
    /// The file is to be converted to UTF-8.
    ConvertToUtf8,
    /// The document is too large and is to be split.
    SplitDocument,
    /// The limit for events is to be raised to a number of bytes.
    RaiseEventMax(usize),
    /// Only JSON Lines are recorded line by line: a file is to be named.
    GiveLinesOrFile,
    /// The task exists: another name is needed.
    NameOtherTask,
    /// The task has another history: the import needs another name.
    ImportUnderOtherName,
    /// The file was changed after it was recorded: it is another task.
    ImportAsOtherTask,
    /// The store has another key: a task is to be imported as a copy.
    ImportAsCopy,
    /// The task exists: it is to be imported as a copy under another name.
    ImportAsOtherCopy,
    /// The export is incomplete or malformed and is to be made again.
    ExportAgain,
    /// The export was changed or damaged and is to be made again.
    ExportUnchanged,
    /// The export cannot be imported, and nothing of it was.
    NothingImported,
    /// The export is to include captured files.
    IncludeFiles,
    /// The task is to be exported without redaction.
    ExportUnredacted,
    /// Events up to the last one that was acknowledged are recorded.
    KeepRecorded,
}

/// Error of a conversion.
#[derive(Debug, thiserror::Error)]
#[error("{place}{cause}")]
pub struct Error {
    kind: ErrorKind,
    remedy: Option<Remedy>,
    /// The place, with the colon after it.
    place: String,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Reason(String),
    Engine(Box<milepost::Error>),
    Io(io::Error),
}

impl Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reason(reason) => f.write_str(reason),
            Self::Engine(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl Error {
    fn new(kind: ErrorKind, cause: Cause) -> Self {
        Self { kind, remedy: None, place: String::new(), cause }
    }

    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, Cause::Reason(reason.into()))
    }

    pub(crate) fn conflict(reason: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, Cause::Reason(reason.into()))
    }

    pub(crate) fn corrupt(reason: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, Cause::Reason(reason.into()))
    }

    pub(crate) fn bug(reason: impl Into<String>) -> Self {
        Self::new(ErrorKind::Bug, Cause::Reason(reason.into()))
    }

    /// Sets the next step.
    #[must_use]
    pub(crate) fn remedied_by(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// Puts a place in front of the message.
    #[must_use]
    pub(crate) fn at(mut self, place: impl Display) -> Self {
        self.place = format!("{place}: {}", self.place);
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the next step, unless the kind or the engine's error has it.
    pub fn remedy(&self) -> Option<Remedy> {
        self.remedy
    }

    /// Returns the error of the engine that caused this one.
    pub fn engine(&self) -> Option<&milepost::Error> {
        match &self.cause {
            Cause::Engine(error) => Some(error),
            Cause::Reason(_) | Cause::Io(_) => None,
        }
    }

    /// Returns the error of an input or an output that caused this one.
    pub fn io(&self) -> Option<&io::Error> {
        match &self.cause {
            Cause::Io(error) => Some(error),
            Cause::Reason(_) | Cause::Engine(_) => None,
        }
    }
}

impl From<milepost::Error> for Error {
    fn from(error: milepost::Error) -> Self {
        Self::new(ErrorKind::Engine, Cause::Engine(Box::new(error)))
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::new(ErrorKind::Io, Cause::Io(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_precede_the_message_the_outermost_first() {
        let error = Error::invalid("no task").at("line 3").at("run.jsonl");
        assert_eq!(error.to_string(), "run.jsonl: line 3: no task");
        assert_eq!((error.kind(), error.remedy()), (ErrorKind::Invalid, None));
        let error = Error::from(milepost::Error::new(milepost::ErrorKind::Conflict, "taken"))
            .at("run.jsonl");
        assert_eq!(error.to_string(), "run.jsonl: taken");
        assert_eq!(error.engine().unwrap().kind(), milepost::ErrorKind::Conflict);
    }
}
