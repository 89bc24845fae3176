//! Progress of a conversion, reported to the caller.

use std::io;
use std::path::Path;

use milepost::{Hash, Offset};

use crate::error::Error;

/// The unit that a piece of work is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of an input.
    Bytes,
    /// Events and marks of a document.
    Items,
    /// Checkpoints of a database.
    Checkpoints,
    /// Files of a folder.
    Files,
    /// Events of a store.
    Events,
}

/// A piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work<'a> {
    /// The name of the input, or of the activity.
    pub name: &'a str,
    /// The unit of the total.
    pub unit: Unit,
    /// The total, if known.
    pub total: Option<u64>,
}

/// A fact that does not end the conversion.
#[derive(Debug, Clone, Copy)]
pub enum Note<'a> {
    /// A line, a file or a checkpoint is not converted.
    Skipped {
        /// The place in the input.
        place: &'a str,
        /// The reason.
        reason: &'a str,
    },
    /// A task is not converted; the other tasks of the input are.
    Failed(&'a Error),
    /// A folder with checkpoint files has sessions, too, which are not imported.
    SessionsIgnored {
        /// The folder.
        folder: &'a Path,
        /// The number of sessions.
        sessions: u64,
    },
    /// A folder with runs has other files, which are not imported.
    FilesIgnored {
        /// The folder.
        folder: &'a Path,
        /// The number of files.
        files: u64,
    },
    /// Lines of a session repeat the id of an earlier line. No line continues from them.
    RepeatedIds {
        /// The name of the input.
        input: &'a str,
        /// The number of lines.
        lines: u64,
    },
    /// Lines of a session name a missing parent. They continue from the line before.
    MissingParents {
        /// The name of the input.
        input: &'a str,
        /// The number of lines.
        lines: u64,
    },
}

/// An event that is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durable {
    /// The offset of the event.
    pub offset: Offset,
    /// The hash of the chain after the event.
    pub hash: Hash,
}

/// Listener to the progress of a conversion. `()` ignores everything.
pub trait Progress {
    /// Begins a piece of work.
    fn begin(&mut self, _work: Work<'_>) {}

    /// Adds to the part that is done.
    fn advance(&mut self, _done: u64) {}

    /// Ends the piece of work.
    fn end(&mut self) {}

    /// Receives a note.
    fn note(&mut self, _note: Note<'_>) {}

    /// Receives a durable event, if the caller asked for acknowledgements.
    ///
    /// # Errors
    ///
    /// An error ends the conversion.
    fn acknowledge(&mut self, _event: Durable) -> io::Result<()> {
        Ok(())
    }
}

impl Progress for () {}
