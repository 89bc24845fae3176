//! Stores that lines are recorded to: engines, and others that the caller brings.

use milepost::calls::Cancel;
use milepost::{Body, Engine, ErrorKind, Mark, Offset};

use super::write::LineageWriter;
use crate::error::Result;
use crate::progress::Durable;

/// A store that lines are recorded to.
pub trait LineStore {
    /// Returns `true` if each event is made durable before the next line is read.
    fn is_alone(&self) -> bool {
        true
    }

    /// Opens the active lineage of a task, which is started if missing.
    ///
    /// # Errors
    ///
    /// Errors of the store.
    fn open(&self, task: &str, user: &str) -> Result<Box<dyn LineSink + '_>>;

    /// Returns the flag that ends the recording.
    fn cancel(&self) -> &Cancel {
        &Cancel::NEVER
    }
}

/// A lineage that lines are recorded to. By default each event is durable at once.
pub trait LineSink {
    /// Adds an event, which may be durable later. `number` names it if it is refused; `bytes` is
    /// its approximate size.
    ///
    /// # Errors
    ///
    /// Errors of the store. A refused event is not an error.
    fn push(&mut self, number: u64, body: Body, _bytes: usize) -> Result<()> {
        self.push_alone(number, body, None).map(drop)
    }

    /// Marks a checkpoint after all events so far, which may be durable later.
    ///
    /// # Errors
    ///
    /// As [`LineSink::mark_alone`].
    fn mark(&mut self, mark: Mark) -> Result<()> {
        self.mark_alone(mark).map(drop)
    }

    /// Waits until each event so far is durable or refused.
    ///
    /// # Errors
    ///
    /// Errors of the store.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    /// Makes an event durable, with a mark after it in the same commit. Returns `None` if the event
    /// was refused.
    ///
    /// # Errors
    ///
    /// Errors of the store.
    fn push_alone(
        &mut self,
        number: u64,
        body: Body,
        mark: Option<Mark>,
    ) -> Result<Option<Durable>>;

    /// Marks a checkpoint after all events so far, and makes it durable.
    ///
    /// # Errors
    ///
    /// `Engine`, with an `Invalid` of the engine: the mark is refused. Errors of the store.
    fn mark_alone(&mut self, mark: Mark) -> Result<Durable>;

    /// Returns the events that were refused since the last call.
    fn take_refused(&mut self) -> Vec<RefusedLine>;

    /// Returns the number of events and checkpoints so far.
    fn counts(&self) -> LineCounts;

    /// Returns the offset after the last event of the lineage.
    ///
    /// # Errors
    ///
    /// Errors of the store.
    fn head(&self) -> Result<Offset>;
}

/// An event that a store refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedLine {
    /// The number given to it.
    pub number: u64,
    /// The reason.
    pub why: String,
}

/// The number of recorded events and checkpoints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// The number of events.
    pub events: u64,
    /// The number of checkpoints.
    pub checkpoints: u64,
    /// True if there are events after the last checkpoint.
    pub unmarked: bool,
}

impl LineStore for Engine {
    fn is_alone(&self) -> bool {
        false
    }

    fn open(&self, task: &str, user: &str) -> Result<Box<dyn LineSink + '_>> {
        let task = match self.task(task) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.start_task(task, user)?,
            task => task?,
        };
        Ok(Box::new(LineageWriter::new(task.lineage().clone())?))
    }

    fn cancel(&self) -> &Cancel {
        milepost::View::cancel(self)
    }
}

impl LineSink for LineageWriter {
    fn push(&mut self, number: u64, body: Body, bytes: usize) -> Result<()> {
        Self::push(self, number, body, bytes)
    }

    fn mark(&mut self, mark: Mark) -> Result<()> {
        Self::mark(self, mark)
    }

    fn flush(&mut self) -> Result<()> {
        Self::flush(self)
    }

    fn push_alone(
        &mut self,
        number: u64,
        body: Body,
        mark: Option<Mark>,
    ) -> Result<Option<Durable>> {
        Self::push_alone(self, number, body, mark)
    }

    fn mark_alone(&mut self, mark: Mark) -> Result<Durable> {
        Self::mark_alone(self, mark)
    }

    fn take_refused(&mut self) -> Vec<RefusedLine> {
        let refused = Self::take_refused(self).into_iter();
        refused.map(|refused| RefusedLine { number: refused.number, why: refused.why }).collect()
    }

    fn counts(&self) -> LineCounts {
        let Self { events, checkpoints, unmarked, .. } = *self;
        LineCounts { events, checkpoints, unmarked }
    }

    fn head(&self) -> Result<Offset> {
        Ok(self.lineage().head()?.next)
    }
}
