//! A handle on a task.

use std::ops::RangeBounds;

use milepost_codec::{Epoch, Error, Head, LineageId, Offset, Result, TaskNo};
use milepost_store::index::TaskEntry;

use super::participation::Captured;
use crate::TaskInfo;
use crate::commit::append::{Append, Appended, Committed};
use crate::commit::subscribe::{SubscribeOptions, Subscription};
use crate::handles::engine::Engine;
use crate::handles::lineage::{Lineage, LineageInfo, info};
use crate::handles::ticket::Ticket;
use crate::history::checkpoint::{Checkpoint, Mark};
use crate::history::events::Events;
use crate::history::point::Point;

/// A handle on a task and the lineage it went on with when the handle was taken. Cheap to clone.
///
/// When somebody restores the task, it goes on with another lineage: writes through this handle
/// are `Conflict` from then on, and the error's detail names the lineage. [`Engine::task`] gives a
/// new handle.
#[derive(Debug, Clone)]
pub struct Task {
    engine: Engine,
    no: TaskNo,
    user: std::sync::Arc<str>,
    epoch: Epoch,
    lineage: Lineage,
}

impl Task {
    pub(crate) fn of(engine: &Engine, no: TaskNo) -> Result<Self> {
        let catalog = &engine.inner.catalog;
        let (epoch, entry) = catalog.active(no)?;
        catalog.lineage(no, entry.lineage)?;
        let lineage = entry.lineage;
        Ok(Self::made(engine, (no, &catalog.task(no)?), lineage, epoch))
    }

    /// A handle on a task whose entry was read, and the lineage that it goes on with.
    pub(crate) fn made(
        engine: &Engine,
        (no, entry): (TaskNo, &TaskEntry),
        lineage: LineageId,
        epoch: Epoch,
    ) -> Self {
        Self {
            engine: engine.clone(),
            no,
            user: entry.user.as_str().into(),
            epoch,
            lineage: Lineage::made(engine, (no, entry), lineage, Some(epoch)),
        }
    }

    /// A handle that goes on with this lineage.
    pub(crate) fn on(engine: &Engine, lineage: &Lineage) -> Result<Self> {
        Ok(Self { lineage: lineage.clone(), ..Self::of(engine, lineage.task())? })
    }

    /// The caller's id for it.
    pub fn id(&self) -> &str {
        self.lineage.task_id()
    }

    /// Whose it is.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Its number in the store.
    pub fn no(&self) -> TaskNo {
        self.no
    }

    /// Where the sequences of its states are read from: see [`Engine::chunks`].
    pub fn chunks(&self) -> std::sync::Arc<dyn milepost_replay::Chunks> {
        self.engine.chunks()
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The activation that the handle was taken in.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The lineage it went on with then, or was taken for.
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// A handle on one of its lineages, that goes on with it whatever is active.
    ///
    /// # Errors
    ///
    /// `NotFound` where it has no such lineage.
    pub fn lineage_named(&self, id: LineageId) -> Result<Lineage> {
        Lineage::new(&self.engine, self.no, id, None)
    }

    /// Its lineages, in the order they were opened.
    ///
    /// # Errors
    ///
    /// `Unavailable` where the store is closed.
    pub fn lineages(&self) -> Result<Vec<LineageInfo>> {
        let catalog = &self.engine.inner.catalog;
        let active = catalog.active(self.no)?.1.lineage;
        let all = catalog.lineages(self.no)?.into_iter();
        all.map(|(id, entry)| info(&self.engine, self.no, id, entry, active)).collect()
    }

    /// What is known of it, now.
    ///
    /// # Errors
    ///
    /// `NotFound`: it was deleted. `Unavailable` where the store is closed.
    pub fn info(&self) -> Result<TaskInfo> {
        let entry = self.engine.inner.catalog.task(self.no)?;
        self.engine.inner.catalog.task_info(self.no, entry)
    }

    /// How many checkpoints it has, on all its lineages.
    ///
    /// # Errors
    ///
    /// `Unavailable` where the store is closed.
    pub fn checkpoints(&self) -> Result<u64> {
        Ok(self.engine.inner.catalog.tally(self.no)?.marks)
    }

    /// How many events were erased from it, on all its lineages. It only grows: whoever keeps what
    /// was read knows by it that the same point may read otherwise now.
    pub fn erased(&self) -> u64 {
        self.engine.inner.catalog.erased_of(self.no).count()
    }

    /// Appends events, as [`Lineage::append`], with the hooks of the engine before and after a
    /// checkpoint that goes with them.
    ///
    /// # Errors
    ///
    /// As [`Lineage::append`]; `Invalid` where a hook refuses.
    pub fn append(&self, append: impl Into<Append>) -> Result<Appended> {
        self.append_marked(append.into()).map(|committed| committed.appended)
    }

    /// The same, with the mark that it made.
    pub(crate) fn append_marked(&self, append: Append) -> Result<Committed> {
        let (append, _captured) = self.with_captures(append)?;
        self.append_as_it_is(append)
    }

    /// Appends events, without what takes part in the task.
    pub(crate) fn append_as_it_is(&self, append: Append) -> Result<Committed> {
        self.ask_hooks(append.marked().as_ref())?;
        let committed = self.lineage.append_marked(&append)?;
        let hooks = &self.engine.inner.options.hooks;
        if committed.marked.is_some() && !hooks.is_empty() {
            let checkpoint = self.lineage.checkpoint_behind(committed.clone())?;
            hooks.tell("a checkpoint", |hook| hook.after_checkpoint(&checkpoint));
        }
        Ok(committed)
    }

    /// See [`Lineage::submit`]. Hooks may refuse a checkpoint that goes with the events; they are
    /// not told when it is there.
    ///
    /// # Errors
    ///
    /// As there; `Invalid` where a hook refuses.
    pub fn submit(&self, append: impl Into<Append>) -> Result<Ticket> {
        let (append, _captured) = self.with_captures(append.into())?;
        self.ask_hooks(append.marked().as_ref())?;
        self.lineage.submit(append)
    }

    /// As [`Task::submit`], of an append that [is plain](Append::is_plain) and without a wait for
    /// others: nothing where more is queued than may be, 16 MiB. For tasks of a runtime, which must
    /// not hold up its threads. A body of over 256 KiB is stored before it is queued, which may
    /// wait for the disk all the same.
    ///
    /// # Errors
    ///
    /// As [`Lineage::submit`]; `Invalid` where the append is not plain.
    pub fn try_submit(&self, append: &Append) -> Result<Option<Ticket>> {
        if !append.is_plain() {
            let why = "a mark, a change of control or of phase may wait: use append";
            return Err(Error::invalid(why));
        }
        self.lineage.try_submit(append)
    }

    /// With what takes part in the task captured between the events and the checkpoint, where there
    /// is one.
    fn with_captures(&self, append: Append) -> Result<(Append, Captured)> {
        let Some(mark) = append.mark_given() else {
            return Ok((append, Captured::default()));
        };
        let mut captured = self.engine.captured(self, |name| mark.asks(name))?;
        let bodies = std::mem::take(&mut captured.bodies);
        if bodies.is_empty() {
            return Ok((append, captured));
        }
        if append.has_key() {
            // Whoever asks again is answered the same, whatever there is to capture then.
            let count = bodies.len() as u64;
            self.lineage.append_ref(&Append::batch(bodies))?;
            return Ok((append.behind(count), captured));
        }
        Ok((append.and(bodies), captured))
    }

    fn ask_hooks(&self, mark: Option<&Mark>) -> Result<()> {
        let Some(mark) = mark else {
            return Ok(());
        };
        let hooks = &self.engine.inner.options.hooks;
        hooks.ask("a checkpoint", |hook| hook.before_checkpoint(self, mark))
    }

    /// Marks a checkpoint, as [`Lineage::checkpoint`], with the hooks of the engine before and
    /// after it.
    ///
    /// # Errors
    ///
    /// As [`Lineage::checkpoint`]; `Invalid` where a hook refuses.
    pub fn checkpoint(&self, mark: Mark) -> Result<Checkpoint> {
        if let Some(marked) = self.lineage.marked_already(&mark)? {
            return Ok(marked);
        }
        // One of an earlier point is not of what there is now.
        let mut captured = match mark.is_of_the_head() {
            true => self.engine.captured(self, |name| mark.asks(name))?,
            false => Captured::default(),
        };
        let bodies = std::mem::take(&mut captured.bodies);
        if bodies.is_empty() {
            return self.mark(mark);
        }
        let append = Append::batch(bodies).mark(mark).under_conditions()?;
        let committed = self.append_as_it_is(append)?;
        self.lineage.checkpoint_behind(committed)
    }

    /// Marks a checkpoint, without what takes part in the task.
    pub(crate) fn mark(&self, mark: Mark) -> Result<Checkpoint> {
        self.ask_hooks(Some(&mark))?;
        let checkpoint = self.lineage.checkpoint(mark)?;
        let hooks = &self.engine.inner.options.hooks;
        hooks.tell("a checkpoint", |hook| hook.after_checkpoint(&checkpoint));
        Ok(checkpoint)
    }

    /// See [`Lineage::last_successful`].
    pub fn last_successful(&self) -> Result<Option<Checkpoint>> {
        self.lineage.last_successful()
    }

    /// See [`Lineage::head`].
    pub fn head(&self) -> Result<Head> {
        self.lineage.head()
    }

    /// See [`Lineage::read`].
    pub fn read(&self, range: impl RangeBounds<Offset>) -> Result<Events> {
        self.lineage.read(range)
    }

    /// See [`Lineage::subscribe`].
    pub fn subscribe(&self, from: Offset, options: SubscribeOptions) -> Result<Subscription> {
        self.lineage.subscribe(from, options)
    }

    /// See [`Lineage::point`].
    pub fn point(&self, offset: Offset) -> Result<Point> {
        self.lineage.point(offset)
    }
}
