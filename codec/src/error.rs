//! The error type of all Milepost crates: the kind of remedy, the problem and its place.

use std::fmt;

use crate::id::{Epoch, Head, LineageId, RestoreId};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Classifies errors by remedy. The message has the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is not possible as made: change it.
    Invalid,
    /// A named object does not exist.
    NotFound,
    /// Another writer was first: read the current head and decide again.
    Conflict,
    /// Temporary failure: the store is open elsewhere, the disk failed, a limit was reached.
    Unavailable,
    /// Stored bytes differ from the written ones.
    Corrupt,
    /// The data has a newer version than this program reads.
    Unsupported,
    /// An earlier write failed: reopen the store.
    Poisoned,
    /// Two things that must agree do not.
    Diverged,
}

/// Machine-readable details of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detail {
    /// Damaged data.
    Corruption {
        /// File, lineage and offset, as far as known.
        place: String,
        /// The expected content.
        expected: String,
        /// The actual content.
        found: String,
    },
    /// A file in a store that Milepost does not create: a link, a pipe, a file of another user.
    Foreign {
        /// The path.
        path: String,
    },
    /// The store has another key than the one given to open it, or one of the two has none.
    WrongKey {
        /// Set if the store has a key.
        has_key: bool,
    },
    /// Another process has the store open.
    InUse {
        /// The store's folder.
        path: String,
        /// The process, if it could be read.
        pid: Option<u32>,
    },
    /// A write to a store that was opened for reading only.
    ReadOnly {
        /// The store's folder.
        path: String,
    },
    /// The actual head of a log that an append conflicted with.
    Head(Head),
    /// The current activation, reported to a handle of an older epoch.
    Active {
        /// The active lineage.
        lineage: LineageId,
        /// The epoch of its activation.
        epoch: Epoch,
    },
    /// A restore that has begun and not ended. The task is blocked until it ends.
    Pending {
        /// The restore.
        restore: RestoreId,
        /// The task.
        task: String,
        /// The time of its beginning, in microseconds since the Unix epoch.
        since_us: u64,
        /// The place that it changes: for a workspace, the folder.
        place: String,
    },
    /// A hook refused the operation.
    Refused {
        /// The name of the hook.
        hook: String,
    },
}

/// The error type: a remedy ([`ErrorKind`]), a message for people and a [`Detail`] for programs.
///
/// `Debug` gives the message and the kind on one line, so that it reads well where `main` returns
/// the error: `there is a task `essay` (Conflict)`.
#[derive(thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    detail: Option<Box<Detail>>,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?})", self.message, self.kind)
    }
}

impl Error {
    /// Creates an error. `message` is lower case, has no full stop and contains the wrong value.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), detail: None, source: None }
    }

    /// Creates an error of [`ErrorKind::Invalid`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// Creates an error of [`ErrorKind::NotFound`].
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Creates an error of [`ErrorKind::Corrupt`]: at `place`, `found` differs from `expected`.
    pub fn corrupt(
        place: impl Into<String>,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        let (place, expected, found) = (place.into(), expected.to_string(), found.to_string());
        let message = format!("{place} is damaged: expected {expected}, found {found}");
        Self::new(ErrorKind::Corrupt, message).with_detail(Detail::Corruption {
            place,
            expected,
            found,
        })
    }

    /// Puts `place` in front of the message and of the place of a corruption.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        if let Some(Detail::Corruption { place: inner, .. }) = self.detail.as_deref_mut() {
            *inner = format!("{place}: {inner}");
        }
        self
    }

    /// Adds a detail.
    #[must_use]
    pub fn with_detail(mut self, detail: Detail) -> Self {
        self.detail = Some(Box::new(detail));
        self
    }

    /// Adds a cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the detail, if there is one.
    pub fn detail(&self) -> Option<&Detail> {
        self.detail.as_deref()
    }
}
