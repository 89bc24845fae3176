//! A handle on a task.

use std::ops::Deref;

use milepost_codec::{Epoch, Error, Head, LineageId, LogId, Result, TaskNo};
use milepost_replay::RunState;
use milepost_store::clock::Clock;
use milepost_store::index::TaskEntry;

use super::audit::AuditEvent;
use super::hooks::{Alert, AlertKind};
use super::participation::Captured;
use crate::commit::append::{Append, Appended, Committed};
use crate::conditions::Conditions;
use crate::handles::engine::Engine;
use crate::handles::lineage::{Lineage, LineageInfo, info};
use crate::handles::messages::Messages;
use crate::handles::ticket::Ticket;
use crate::history::checkpoint::{Checkpoint, Mark};
use crate::history::lists::TaskInfo;

/// A handle on a task, and on the lineage that was active when it was taken. Cheap to clone.
///
/// After a restore of the task another lineage is active. Writes through this handle then fail with
/// `Conflict`, and the error's detail names that lineage. [`Engine::task`] returns a new handle.
///
/// A task dereferences to this lineage, for its head, events, points and marks. An append and a
/// mark through the task, other than through the lineage, call the engine's hooks and participants.
#[derive(Debug, Clone)]
pub struct Task {
    user: std::sync::Arc<str>,
    epoch: Epoch,
    lineage: Lineage,
}

impl Deref for Task {
    type Target = Lineage;

    fn deref(&self) -> &Lineage {
        &self.lineage
    }
}

impl Task {
    pub(crate) fn of(engine: &Engine, no: TaskNo) -> Result<Self> {
        let catalog = &engine.inner.catalog;
        let (epoch, entry) = catalog.active(no)?;
        catalog.lineage(no, entry.lineage)?;
        let lineage = entry.lineage;
        Ok(Self::made(engine, (no, &catalog.task(no)?), lineage, epoch))
    }

    /// Creates a handle on a task, given its entry and its active lineage.
    pub(crate) fn made(
        engine: &Engine,
        (no, entry): (TaskNo, &TaskEntry),
        lineage: LineageId,
        epoch: Epoch,
    ) -> Self {
        Self {
            user: entry.user.as_str().into(),
            epoch,
            lineage: Lineage::made(engine, (no, entry), lineage, Some(epoch)),
        }
    }

    /// Creates a handle on the task of this lineage, on the lineage itself.
    pub(crate) fn on(engine: &Engine, lineage: &Lineage) -> Result<Self> {
        Ok(Self { lineage: lineage.clone(), ..Self::of(engine, lineage.task())? })
    }

    /// Returns the task's id, chosen by the caller.
    pub fn id(&self) -> &str {
        self.lineage.task_id()
    }

    /// Returns the owner.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Returns the task's number in the store.
    pub fn no(&self) -> TaskNo {
        self.lineage.task()
    }

    /// Returns the reader of the sequences in its states: see [`Engine::chunks`].
    pub fn chunks(&self) -> std::sync::Arc<dyn milepost_replay::Chunks> {
        self.engine().chunks()
    }

    /// Returns the clock for the times of events.
    pub fn clock(&self) -> &dyn Clock {
        self.inner().options.log.clock.as_ref()
    }

    /// Returns a handle on the lineage that is active now.
    ///
    /// # Errors
    ///
    /// `NotFound`: the task was deleted. `Unavailable`: the store is closed.
    pub fn renewed(&self) -> Result<Self> {
        Self::of(self.engine(), self.no())
    }

    /// Returns the state at the head, folded by the built-in reducer.
    ///
    /// # Errors
    ///
    /// As [`Engine::run_state`].
    pub fn state(&self) -> Result<RunState> {
        let point = self.point(self.head()?.next)?;
        self.engine().run_state(&point)
    }

    /// Returns the messages of the conversation at the head, oldest first. Erased ones are left
    /// out.
    ///
    /// ```
    /// use milepost::events::Message;
    /// use milepost::{Engine, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.task_or_start("essay", "ana")?;
    /// task.append(Message::text("user", "Write a first sentence."))?;
    /// let messages: Vec<Message> = task.messages()?.collect::<Result<_, _>>()?;
    /// assert_eq!(messages.len(), 1);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Engine::run_state`]; each message, as it is read, `Corrupt`.
    pub fn messages(&self) -> Result<Messages> {
        Ok(Messages::new(self.state()?.messages, self.chunks()))
    }

    /// Returns the epoch of the handle.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns the lineage of the handle.
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// Returns a handle on one of its lineages, independent of the active one.
    ///
    /// # Errors
    ///
    /// `NotFound`: it has no such lineage.
    pub fn lineage_named(&self, id: LineageId) -> Result<Lineage> {
        Lineage::new(self.engine(), self.no(), id, None)
    }

    /// Returns its lineages, in the order they were opened.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn lineages(&self) -> Result<Vec<LineageInfo>> {
        let catalog = &self.inner().catalog;
        let active = catalog.active(self.no())?.1.lineage;
        let all = catalog.lineages(self.no())?.into_iter();
        all.map(|(id, entry)| info(self.engine(), self.no(), id, entry, active)).collect()
    }

    /// Returns the current summary of the task.
    ///
    /// # Errors
    ///
    /// `NotFound`: it was deleted. `Unavailable`: the store is closed.
    pub fn info(&self) -> Result<TaskInfo> {
        let entry = self.inner().catalog.task(self.no())?;
        self.inner().catalog.task_info(self.no(), entry)
    }

    /// Returns the number of checkpoints on all its lineages.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn checkpoints(&self) -> Result<u64> {
        Ok(self.inner().catalog.tally(self.no())?.marks)
    }

    /// Returns the number of erased events on all its lineages. The number only grows: a cache of
    /// read events or states of one store is stale if it has changed. Two copies of a store may
    /// have erased different events: their control logs have different heads.
    pub fn erased(&self) -> u64 {
        self.inner().catalog.erased_of(self.no()).count()
    }

    /// Returns the head of the control log, which has what changes the task without an event on a
    /// lineage, such as a removal of checkpoints or an erasure.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn controls(&self) -> Result<Head> {
        self.inner().catalog.head(LogId::control(self.no()))
    }

    /// Appends events, as [`Lineage::append`], and calls the engine's hooks before and after a
    /// checkpoint in the append.
    ///
    /// # Errors
    ///
    /// As [`Lineage::append`]. `Invalid`: a hook refuses.
    pub fn append(&self, append: impl Into<Append>) -> Result<Appended> {
        let append = append.into();
        match append.is_each_keyed() {
            true => self.append_each(append).map(|each| each.appended),
            false => self.append_captured(append).map(|committed| committed.appended),
        }
    }

    /// Appends events and a checkpoint after them, as [`Task::append`] with [`Append::mark`].
    /// Returns the checkpoint. Nothing is read after the commit.
    ///
    /// # Errors
    ///
    /// As [`Task::append`]. `Invalid`: each event has its own key; use [`Task::append_each`].
    pub fn append_marked(&self, append: impl Into<Append>, mark: Mark) -> Result<Checkpoint> {
        let committed = self.append_captured(append.into().mark(mark))?;
        self.lineage.checkpoint_behind(committed)
    }

    /// Appends events after a capture by each participant of the task, all in one commit. For an
    /// operation that may change what participants capture, such as a tool call.
    ///
    /// # Errors
    ///
    /// As [`Task::append`], and errors of the captures. `Invalid`: the append has a mark, which has
    /// captures of its own, or an idempotency key: a repetition would have other captures.
    pub fn append_after_capture(&self, append: impl Into<Append>) -> Result<Appended> {
        let append = append.into();
        if append.has_key() || append.mark_given().is_some() {
            let why = "captures precede an append without a mark and without an idempotency key";
            return Err(Error::invalid(why));
        }
        let mut captured = self.engine().captured(self, |_| true)?;
        let bodies = std::mem::take(&mut captured.bodies);
        self.append(append.after(bodies))
    }

    /// Reports that a checkpoint could not be saved and the program continues without it: to the
    /// audit log, with this correlation id, and to the hooks as [`AlertKind::SaveFailed`].
    pub fn save_failed(&self, error: &Error, correlation: Option<&str>) {
        let inner = self.inner();
        let failed = AuditEvent {
            correlation,
            ..AuditEvent::of("checkpoint_failed", self.no(), self.lineage.id())
        };
        failed.tell_failed(self.engine(), error);
        inner.options.hooks.alert(&Alert {
            kind: AlertKind::SaveFailed,
            task: Some(self.id().to_owned()),
            message: format!("task `{}`: a checkpoint could not be saved: {error}", self.id()),
        });
    }

    /// Appends events with the captures for their checkpoint, and returns the mark too.
    pub(crate) fn append_captured(&self, append: Append) -> Result<Committed> {
        let (append, _captured) = self.with_captures(append)?;
        self.append_as_it_is(append)
    }

    /// Appends events without captures of the participants.
    pub(crate) fn append_as_it_is(&self, append: Append) -> Result<Committed> {
        self.ask_hooks(append.marked().as_ref())?;
        let committed = self.lineage.append_marked(&append)?;
        if committed.marked.is_some() && !self.inner().options.hooks.is_empty() {
            self.tell_hooks(&self.lineage.checkpoint_behind(committed.clone())?);
        }
        Ok(committed)
    }

    pub(crate) fn tell_hooks(&self, checkpoint: &Checkpoint) {
        let hooks = &self.inner().options.hooks;
        hooks.tell("a checkpoint", |hook| hook.after_checkpoint(self, checkpoint));
    }

    /// Queues events: see [`Lineage::submit`]. Hooks may refuse a checkpoint in the append; they
    /// are not called after it was marked.
    ///
    /// # Errors
    ///
    /// As [`Lineage::submit`]. `Invalid`: a hook refuses.
    pub fn submit(&self, append: impl Into<Append>) -> Result<Ticket> {
        let (append, _captured) = self.with_captures(append.into())?;
        self.ask_hooks(append.marked().as_ref())?;
        self.lineage.submit(append)
    }

    /// Queues an append that [is plain](Append::is_plain), as [`Task::submit`], without waiting for
    /// other appends. Returns `None` if the queue is full, at 16 MiB. For tasks of a runtime, which
    /// must not block its threads. A body over 256 KiB is stored before it is queued, which may
    /// still wait for the disk.
    ///
    /// # Errors
    ///
    /// As [`Lineage::submit`]. `Invalid`: the append is not plain.
    pub fn try_submit(&self, append: &Append) -> Result<Option<Ticket>> {
        if !append.is_plain() {
            let why = "a mark, a change of control or of phase may wait: use append";
            return Err(Error::invalid(why));
        }
        self.lineage.try_submit(append)
    }

    /// Adds captures of the participants between the events and the checkpoint, if there is one.
    fn with_captures(&self, append: Append) -> Result<(Append, Captured)> {
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
            self.lineage.append_ref(&Append::batch(bodies))?;
            return Ok((append.behind(count), captured));
        }
        Ok((append.and(bodies), captured))
    }

    /// Returns `true` if a checkpoint of the task calls a hook or a participant. If not,
    /// [`Lineage::submit`] can queue it.
    pub fn calls_at_checkpoints(&self) -> bool {
        !self.inner().options.hooks.is_empty() || !self.engine().joined(self.no()).is_empty()
    }

    pub(crate) fn ask_hooks(&self, mark: Option<&Mark>) -> Result<()> {
        let Some(mark) = mark else {
            return Ok(());
        };
        let hooks = &self.inner().options.hooks;
        hooks.ask("a checkpoint", |hook| hook.before_checkpoint(self, mark))
    }

    /// Marks a checkpoint, as [`Lineage::checkpoint`], and calls the engine's hooks before and
    /// after it.
    ///
    /// # Errors
    ///
    /// As [`Lineage::checkpoint`]. `Invalid`: a hook refuses.
    pub fn checkpoint(&self, mark: Mark) -> Result<Checkpoint> {
        if let Some(marked) = self.lineage.marked_already(&mark)? {
            return Ok(marked);
        }
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
        let committed = self.append_as_it_is(append)?;
        self.lineage.checkpoint_behind(committed)
    }

    /// Marks a checkpoint without captures of the participants.
    pub(crate) fn mark(&self, mark: Mark) -> Result<Checkpoint> {
        self.ask_hooks(Some(&mark))?;
        let checkpoint = self.lineage.checkpoint(mark)?;
        let hooks = &self.inner().options.hooks;
        hooks.tell("a checkpoint", |hook| hook.after_checkpoint(self, &checkpoint));
        Ok(checkpoint)
    }
}
