//! A handle on a task.

use std::ops::Deref;

use milepost_codec::{Epoch, Error, Head, LineageId, LogId, Result, TaskNo};
use milepost_replay::RunState;
use milepost_store::clock::Clock;
use milepost_store::index::TaskEntry;

use super::audit::AuditEvent;
use super::hooks::{Alert, AlertKind};
use crate::handles::engine::Engine;
use crate::handles::lineage::{Lineage, LineageInfo, info};
use crate::handles::messages::Messages;
use crate::history::lists::TaskInfo;

/// A handle on a task, and on the lineage that was active when it was taken. Cheap to clone.
///
/// After a restore of the task another lineage is active. Writes through this handle then fail with
/// `Conflict`, and the error's detail names that lineage. [`View::task`](crate::View::task) returns
/// a new handle.
///
/// A task dereferences to this lineage, for its head, events, points, appends and marks.
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
        let active = Self::of(engine, lineage.task())?;
        let epoch = lineage.epoch().unwrap_or(active.epoch);
        Ok(Self { lineage: lineage.clone(), epoch, ..active })
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

    /// Returns the reader of the sequences in its states: see
    /// [`View::chunks`](crate::View::chunks).
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
    /// As [`View::run_state`](crate::View::run_state).
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
    /// As [`View::run_state`](crate::View::run_state); each message, as it is read, `Corrupt`.
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
}
