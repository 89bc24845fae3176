//! Appends and marks, with the hooks and participants that a checkpoint calls.

use std::borrow::Cow;

use milepost_codec::{Error, Result};

use super::participation::Captured;
use crate::commit::append::Append;
use crate::commit::appended::{Appended, Committed};
use crate::conditions::Conditions;
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;
use crate::handles::ticket::Ticket;
use crate::history::checkpoint::{Checkpoint, Mark};

/// An argument of [`Lineage::append`] and [`Lineage::submit`]: an [`Append`] or what converts into
/// one, such as the body of an event, or a reference to an `Append` that the program keeps.
pub trait IntoAppend<'a> {
    /// Returns the append.
    fn into_append(self) -> Cow<'a, Append>;
}

impl<T: Into<Append>> IntoAppend<'_> for T {
    fn into_append(self) -> Cow<'static, Append> {
        Cow::Owned(self.into())
    }
}

impl<'a> IntoAppend<'a> for &'a Append {
    fn into_append(self) -> Cow<'a, Append> {
        Cow::Borrowed(self)
    }
}

impl Lineage {
    /// Appends events. They survive power loss when this returns. A checkpoint in the append calls
    /// the engine's hooks before and after it, and is preceded by captures of the participants of
    /// the task.
    ///
    /// If [each event has its own key](Append::each_keyed), only new events are appended, and the
    /// result has the place of each event.
    ///
    /// # Errors
    ///
    /// - `Conflict`: the head is not the expected one (the error's detail has the head), a key was
    ///   used for other events, or the handle is of an earlier activation.
    /// - `Invalid`: an event is too large or made by the engine only, the run does not allow a
    ///   change of control, or a hook refuses.
    /// - `Poisoned`: a write failed now or earlier; a reopen shows if the events were written.
    /// - `Unavailable`: the store is closed.
    ///
    /// Errors of captures too.
    pub fn append<'a>(&self, append: impl IntoAppend<'a>) -> Result<Appended> {
        let append = append.into_append();
        match append.is_each_keyed() {
            true => self.append_each(&append),
            false => self.append_observed(append).map(|committed| committed.appended),
        }
    }

    /// Appends events and a checkpoint after them, as [`Lineage::append`] with [`Append::mark`].
    /// Returns the checkpoint. Nothing is read after the commit.
    ///
    /// # Errors
    ///
    /// As [`Lineage::append`]. `Invalid`: each event has its own key.
    pub fn append_marked(&self, append: impl Into<Append>, mark: Mark) -> Result<Checkpoint> {
        let committed = self.append_observed(Cow::Owned(append.into().mark(mark)))?;
        self.checkpoint_behind(committed)
    }

    /// Queues events, in the order of calls from one thread. They survive power loss when the
    /// ticket is done. Hooks may refuse a checkpoint in the append; they are not called after it
    /// was marked.
    ///
    /// # Errors
    ///
    /// `Invalid` and `Unavailable` as [`Lineage::append`]; others come through the ticket. A change
    /// of control is `Invalid` as well: it is checked when it is committed.
    pub fn submit<'a>(&self, append: impl IntoAppend<'a>) -> Result<Ticket> {
        let append = append.into_append();
        let Some(task) = self.observed(&append)? else {
            return self.submit_unobserved(&append);
        };
        let (append, _captured) = task.with_captures(append.into_owned())?;
        task.ask_hooks(append.marked().as_ref())?;
        self.submit_unobserved(&append)
    }

    /// Queues an append that [is plain](Append::is_plain), as [`Lineage::submit`], without waiting
    /// for other appends. Returns `None` if the queue is full, at 16 MiB. For tasks of a runtime:
    /// they must not block its threads. A body over 256 KiB is stored before it is queued, and may
    /// wait for the disk.
    ///
    /// # Errors
    ///
    /// As [`Lineage::submit`]. `Invalid`: the append is not plain.
    pub fn try_submit(&self, append: &Append) -> Result<Option<Ticket>> {
        if !append.is_plain() {
            let why = "a mark, a capture, a change of control or of phase may wait: use append";
            return Err(Error::invalid(why));
        }
        self.try_submit_plain(append)
    }

    /// Marks a checkpoint: one small durable append, for a state of any size. Calls the engine's
    /// hooks before and after it.
    ///
    /// # Errors
    ///
    /// As [`Lineage::append`]. `Invalid`: the label or metadata is not allowed, or the offset is
    /// past the head. `NotFound`: retention trimmed the offset.
    pub fn checkpoint(&self, mark: Mark) -> Result<Checkpoint> {
        if let Some(marked) = self.marked_already(&mark)? {
            return Ok(marked);
        }
        match self.calls_at_checkpoints() {
            true => self.as_task()?.checkpoint_observed(mark),
            false => self.checkpoint_unobserved(mark),
        }
    }

    /// Returns `true` if a checkpoint calls a hook or a participant.
    pub fn calls_at_checkpoints(&self) -> bool {
        !self.inner().options.hooks.is_empty() || !self.engine().joined(self.task()).is_empty()
    }

    /// Returns its task as a handle on this lineage, independent of the active one.
    ///
    /// # Errors
    ///
    /// `NotFound`: the task was deleted. `Unavailable`: the store is closed.
    pub fn as_task(&self) -> Result<Task> {
        Task::on(self.engine(), self)
    }

    /// Returns the task if the append calls its hooks or participants. A repetition calls none.
    fn observed(&self, append: &Append) -> Result<Option<Task>> {
        let is_asked = append.is_after_capture() || append.mark_given().is_some();
        if !(is_asked && self.calls_at_checkpoints()) {
            return Ok(None);
        }
        // Before anything is captured. The encoding checks other appends.
        append.check()?;
        append.check_looked_up()?;
        match append.key_given() {
            Some(key) if self.appended_under(key)?.is_some() => Ok(None),
            _ => self.as_task().map(Some),
        }
    }

    /// Appends events with the captures for their checkpoint, and returns the mark too.
    pub(crate) fn append_observed(&self, append: Cow<'_, Append>) -> Result<Committed> {
        match self.observed(&append)? {
            None => self.append_unobserved(&append),
            Some(task) => {
                let (append, _captured) = task.with_captures(append.into_owned())?;
                task.append_uncaptured(&append)
            }
        }
    }
}

impl Task {
    /// Appends events without captures of the participants.
    pub(crate) fn append_uncaptured(&self, append: &Append) -> Result<Committed> {
        self.ask_hooks(append.marked().as_ref())?;
        let committed = self.append_unobserved(append)?;
        if committed.marked.is_some() && !self.inner().options.hooks.is_empty() {
            self.tell_hooks(&self.checkpoint_behind(committed.clone())?);
        }
        Ok(committed)
    }

    /// Adds captures of the participants: before the events, or between them and their checkpoint.
    fn with_captures(&self, append: Append) -> Result<(Append, Captured)> {
        if append.is_after_capture() {
            let mut captured = self.engine().captured(self, |_| true)?;
            let bodies = std::mem::take(&mut captured.bodies);
            return Ok((append.after(bodies), captured));
        }
        let Some(mark) = append.mark_given() else {
            return Ok((append, Captured::default()));
        };
        let mut captured = self.engine().captured(self, |name| mark.asks(name))?;
        let bodies = std::mem::take(&mut captured.bodies);
        if bodies.is_empty() {
            return Ok((append, captured));
        }
        if append.has_key() {
            // A repetition has to be equal to the first append, so captures are appended
            // separately.
            let count = bodies.len() as u64;
            self.append_unobserved(&Append::batch(bodies))?;
            return Ok((append.behind(count), captured));
        }
        Ok((append.and(bodies), captured))
    }

    pub(crate) fn ask_hooks(&self, mark: Option<&Mark>) -> Result<()> {
        let Some(mark) = mark else {
            return Ok(());
        };
        let hooks = &self.inner().options.hooks;
        hooks.ask("a checkpoint", |hook| hook.before_checkpoint(self, mark))
    }

    pub(crate) fn tell_hooks(&self, checkpoint: &Checkpoint) {
        let hooks = &self.inner().options.hooks;
        hooks.tell("a checkpoint", |hook| hook.after_checkpoint(self, checkpoint));
    }

    /// Marks a checkpoint with captures of the participants.
    fn checkpoint_observed(&self, mark: Mark) -> Result<Checkpoint> {
        // A capture of the present state does not belong to an earlier point.
        let mut captured = match mark.is_of_the_head() {
            true => self.engine().captured(self, |name| mark.asks(name))?,
            false => Captured::default(),
        };
        let bodies = std::mem::take(&mut captured.bodies);
        if bodies.is_empty() {
            return self.mark(mark);
        }
        let append = Append::batch(bodies).conditions(mark.under());
        let append = append.mark(mark.conditions(Conditions::new()));
        let committed = self.append_uncaptured(&append)?;
        self.checkpoint_behind(committed)
    }

    /// Marks a checkpoint without captures of the participants.
    pub(crate) fn mark(&self, mark: Mark) -> Result<Checkpoint> {
        self.ask_hooks(Some(&mark))?;
        let checkpoint = self.checkpoint_unobserved(mark)?;
        self.tell_hooks(&checkpoint);
        Ok(checkpoint)
    }
}
