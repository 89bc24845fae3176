//! The one error type of Milepost: what kind of remedy it needs, what was wrong, and where.

use std::fmt;

use crate::id::{Epoch, Head, LineageId, RestoreId};

/// The result of everything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller can do about an error. Detail is in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request cannot be met as it was made: change it.
    Invalid,
    /// What was named does not exist.
    NotFound,
    /// Somebody else was first: look at the actual head and decide again.
    Conflict,
    /// Not now: the store is open elsewhere, the disk failed, a limit was reached.
    Unavailable,
    /// Stored bytes are not what was written.
    Corrupt,
    /// Written by a newer version than this one.
    Unsupported,
    /// An earlier write failed: reopen the store.
    Poisoned,
    /// Two things that must agree do not.
    Diverged,
}

/// What goes with an error beside its message, for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detail {
    /// Where damage was found, what should have been there, and what was.
    Corruption {
        /// File, lineage and offset, as far as they are known.
        place: String,
        /// What the place should hold.
        expected: String,
        /// What it holds.
        found: String,
    },
    /// A name in a store that no store makes: a link, a pipe, a file of another user.
    Foreign {
        /// The path.
        path: String,
    },
    /// A write to a store that was opened for reading only.
    ReadOnly {
        /// The store's folder.
        path: String,
    },
    /// The head that a conflicting append met.
    Head(Head),
    /// The activation that a handle of an older epoch met.
    Active {
        /// The lineage the task goes on with.
        lineage: LineageId,
        /// The epoch of its activation.
        epoch: Epoch,
    },
    /// The restore that has begun and not ended: until it has, the task is blocked.
    Pending {
        /// The restore.
        restore: RestoreId,
        /// The task.
        task: String,
        /// When it began, in microseconds since the Unix epoch.
        since_us: u64,
        /// Where it changes something: of a workspace its folder.
        place: String,
    },
    /// Who refused what would have been done.
    Refused {
        /// The name of the hook.
        hook: String,
    },
}

/// What went wrong, by remedy ([`ErrorKind`]), with a message for people and a [`Detail`] for
/// programs.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    detail: Option<Box<Detail>>,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` that says `message`: lower case, no full stop, the wrong value in it.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), detail: None, source: None }
    }

    /// Short for [`ErrorKind::Invalid`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// Short for [`ErrorKind::NotFound`].
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Short for [`ErrorKind::Corrupt`]: `place` is what was read, `expected` and `found` differ.
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

    /// The same error with `place` put in front of where it happened.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        if let Some(Detail::Corruption { place: inner, .. }) = self.detail.as_deref_mut() {
            *inner = format!("{place}: {inner}");
        }
        self
    }

    /// The same error with a detail.
    #[must_use]
    pub fn with_detail(mut self, detail: Detail) -> Self {
        self.detail = Some(Box::new(detail));
        self
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What goes with it, if anything does.
    pub fn detail(&self) -> Option<&Detail> {
        self.detail.as_deref()
    }
}
