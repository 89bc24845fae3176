//! A recording of one input: its settings, and its result.

use std::fs::Metadata;
use std::path::PathBuf;

use jiff::Timestamp;
use milepost::clock::{Clock, SystemClock};
use milepost::{Engine, Offset};

use crate::error::Error;
use crate::format::Format;

/// Settings of a recording.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// The owner of the tasks.
    pub user: String,
    /// The task to record into. Default: the file's name without its extension, or the id of a
    /// session. For an input with several tasks, the prefix of their names.
    pub task: Option<String>,
    /// The name of the input for a task that has none of its own. Default: the file's name without
    /// its extension.
    pub stem: Option<String>,
    /// The format of the run. Default: detected by the beginning of the input.
    pub format: Option<Format>,
    /// Stop at the first line or task that cannot be recorded.
    pub strict: bool,
    /// Make each event durable before the next line is read, and pass it to
    /// [`Progress::acknowledge`](crate::Progress::acknowledge).
    pub acknowledge: bool,
    /// Record JSON Lines of an unknown kind as `application` events, instead of refusing them.
    pub allow_unknown: bool,
    /// The largest event, in bytes.
    pub event_max: usize,
}

/// Result of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedTask {
    /// The id of the task.
    pub task: String,
    /// The format of the input.
    pub format: Format,
    /// The number of lineages that the input has in the task.
    pub lineages: u64,
    /// The number of events that were appended.
    pub events: u64,
    /// The number of checkpoints that were marked.
    pub checkpoints: u64,
    /// The offset after the last event of the task.
    pub head: Offset,
}

/// Result of one input.
#[derive(Debug, Default)]
pub struct RecordReport {
    /// The recorded tasks.
    pub tasks: Vec<RecordedTask>,
    /// The number of lines that were not recorded.
    pub bad_lines: u64,
    /// The number of those lines with an unknown kind.
    pub unknown_kinds: u64,
    /// The number of checkpoints of a database, and of their writes, that were not recorded.
    pub bad_checkpoints: u64,
    /// The first error of a whole task, if others of the input were recorded.
    pub failed: Option<Error>,
}

impl RecordReport {
    /// Returns `true` if the whole input was recorded.
    pub fn is_complete(&self) -> bool {
        self.bad_lines == 0 && self.bad_checkpoints == 0 && self.failed.is_none()
    }
}

/// A recording of one input into a store.
pub(super) struct Job<'a, S: ?Sized = Engine> {
    pub(super) store: &'a S,
    pub(super) options: &'a RecordOptions,
    /// Name of the input in messages.
    pub(super) name: &'a str,
    /// Name of the file without its extension; `None` for a stream.
    pub(super) stem: Option<&'a str>,
    /// `true` for a regular file, and not for a pipe, which may be idle for hours.
    pub(super) is_file: bool,
    /// Size in bytes, if known.
    pub(super) size: Option<u64>,
}

impl<'a, S: ?Sized> Job<'a, S> {
    pub(super) fn new(store: &'a S, begun: &'a Begun, options: &'a RecordOptions) -> Self {
        Self {
            store,
            options,
            name: &begun.name,
            stem: begun.stem.as_deref(),
            is_file: begun.metadata.as_ref().is_some_and(Metadata::is_file),
            size: begun.metadata.as_ref().filter(|_| !begun.is_packed).map(Metadata::len),
        }
    }

    /// Returns the id of the task for an input that names no tasks.
    pub(super) fn task_id(&self) -> String {
        let named = self.options.task.as_deref().or(self.stem);
        named.map_or_else(|| format!("stdin-{}", now()), str::to_owned)
    }
}

/// An input with a known format.
pub(super) struct Begun {
    pub(super) name: String,
    pub(super) path: Option<PathBuf>,
    pub(super) stem: Option<String>,
    pub(super) metadata: Option<Metadata>,
    /// The beginning of the content.
    pub(super) start: Vec<u8>,
    pub(super) is_packed: bool,
    pub(super) format: Format,
}

/// Returns the current time without separators.
fn now() -> String {
    let us = SystemClock.now_us();
    let stamp = i64::try_from(us).ok().and_then(|us| Timestamp::from_microsecond(us).ok());
    let text = stamp.map_or_else(|| format!("{us} us"), |stamp| stamp.to_string());
    text.replace([':', '-'], "")
}
