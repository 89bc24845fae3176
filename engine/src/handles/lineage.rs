//! A handle on one lineage.

// tidy: one handle

use std::ops::RangeBounds;

use milepost_codec::{
    CheckpointId, Epoch, Error, Head, LineageId, LineageType, LogId, Offset, Origin, Parent,
    PhaseChanged, Result, TaskNo,
};
use milepost_store::index::{LineageEntry, TaskEntry};

use crate::cancel::Cancel;
use crate::commit::append::Append;
use crate::commit::appended::{Appended, Committed};
use crate::commit::committer::{LogAppend, Marked, Request};
use crate::commit::subscribe::{SubscribeOptions, Subscription};
use crate::context::Context;
use crate::handles::audit::AuditEvent;
use crate::handles::engine::Engine;
use crate::handles::inner::Inner;
use crate::handles::ticket::Ticket;
use crate::history::checkpoint::{Checkpoint, Mark};
use crate::history::events::Events;
use crate::history::point::Point;

/// A handle on one lineage. Cheap to clone.
///
/// A handle taken by name ([`crate::Task::lineage_named`], [`View::branch`](crate::View::branch))
/// is independent of the active lineage. A handle taken through a [`crate::Task`] has the epoch of
/// the activation: after a restore its appends are `Conflict`.
#[derive(Debug, Clone)]
pub struct Lineage {
    engine: Engine,
    task: TaskNo,
    name: std::sync::Arc<str>,
    origin: Origin,
    id: LineageId,
    epoch: Option<Epoch>,
}

/// Summary of a lineage.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineageInfo {
    /// The lineage's number in the task.
    pub id: LineageId,
    /// The way in which the lineage was created.
    pub lineage_type: LineageType,
    /// The purpose, in words.
    pub description: Option<String>,
    /// The fork from another lineage; `None` for a root.
    pub parent: Option<Parent>,
    /// Time of its opening, in microseconds since the Unix epoch.
    pub opened_us: u64,
    /// The head.
    pub head: Head,
    /// The first offset that exists: 0, unless retention trimmed events.
    pub begin: Offset,
    /// Its own events, without those before the fork and trimmed ones.
    pub events: u64,
    /// `true` if it is the active lineage.
    pub active: bool,
}

impl Lineage {
    pub(crate) fn new(
        engine: &Engine,
        task: TaskNo,
        id: LineageId,
        epoch: Option<Epoch>,
    ) -> Result<Self> {
        let catalog = &engine.inner.catalog;
        let entry = catalog.task(task)?;
        catalog.lineage(task, id).map_err(|e| e.at(format!("task `{}`", entry.name)))?;
        Ok(Self::made(engine, (task, &entry), id, epoch))
    }

    /// Creates a handle on an existing lineage, given the entry of its task.
    pub(crate) fn made(
        engine: &Engine,
        (task, entry): (TaskNo, &TaskEntry),
        id: LineageId,
        epoch: Option<Epoch>,
    ) -> Self {
        Self {
            engine: engine.clone(),
            task,
            name: entry.name.as_str().into(),
            origin: entry.origin,
            id,
            epoch,
        }
    }

    /// Returns the lineage's number in the task.
    pub fn id(&self) -> LineageId {
        self.id
    }

    /// Returns the task's id.
    pub fn task_id(&self) -> &str {
        &self.name
    }

    pub(crate) fn task(&self) -> TaskNo {
        self.task
    }

    /// Returns the activation that appends have to be of.
    pub(super) fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// Returns the flag that cancels the calls of the handle: see [`Engine::with_cancel`].
    pub fn cancel(&self) -> &Cancel {
        self.engine.cancel()
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.engine.inner
    }

    pub(crate) fn log(&self) -> LogId {
        LogId::lineage(self.task, self.id)
    }

    /// Appends events without hooks and captures, and returns the mark too. Nothing is read after
    /// the commit.
    pub(crate) fn append_unobserved(&self, append: &Append) -> Result<Committed> {
        if append.control_changes().next().is_some() {
            return super::run_control::append(self, append);
        }
        let committed = self.commit_append(append)?;
        self.appended(append, &committed.appended);
        Ok(committed)
    }

    /// Returns a handle on another lineage of the task, independent of the active one.
    pub(crate) fn sibling(&self, id: LineageId) -> Result<Self> {
        Self::new(&self.engine, self.task, id, None)
    }

    /// Appends events of any size, without the effects of `appended`.
    pub(crate) fn append_unlimited(&self, append: &Append) -> Result<()> {
        let inner = &self.engine.inner;
        let mut to = self.engine.log_append(self.log(), self.origin);
        append.encode(&mut to, inner.catalog.log(), inner.now_us(), usize::MAX)?;
        inner.commit(Request::from(to)).map(|_| ())
    }

    /// Appends without the check of run control, and without the effects of `appended`.
    pub(crate) fn commit_append(&self, append: &Append) -> Result<Committed> {
        let request = self.request(append)?;
        let mut done = self.engine.inner.commit(request)?;
        Ok(Committed { marked: done.marked.take(), appended: Appended::of(&done)? })
    }

    /// Handles the effects of an append. Takes the lock of the task's control, so the caller must
    /// not hold it.
    pub(crate) fn appended(&self, append: &Append, appended: &Appended) {
        if let Some(changed) = append.phase_entered() {
            self.entered(changed, append.context(), appended.repeated);
        }
        if let (Some(id), false) = (appended.checkpoint, appended.repeated) {
            self.tell_marked(id, append.marked().as_ref());
        }
    }

    /// Handles the effects of a change of phase.
    pub(crate) fn entered(&self, changed: &PhaseChanged, context: &Context, repeated: bool) {
        super::run_control::entered(self.inner(), self.task, self.id, changed);
        if repeated {
            return;
        }
        let before = super::run_control::phase_before(self.inner(), self.task, self.id);
        let done = AuditEvent {
            phase_before: Some(before.as_deref().unwrap_or("")),
            user: context.user.as_deref(),
            correlation: context.correlation.as_deref(),
            ..AuditEvent::of("phase_changed", self.task, self.id)
        };
        done.tell(&self.engine);
    }

    pub(super) fn tell_marked(&self, id: CheckpointId, mark: Option<&Mark>) {
        let done = AuditEvent {
            correlation: mark.and_then(|mark| mark.context().correlation.as_deref()),
            checkpoint: mark.map(|mark| (id, mark.cause_given())),
            ..AuditEvent::of("checkpoint_marked", self.task, self.id)
        };
        done.tell(&self.engine);
    }

    /// Queues events without hooks and captures.
    pub(crate) fn submit_unobserved(&self, append: &Append) -> Result<Ticket> {
        if append.control_changes().next().is_some() {
            let why = "a change of control is not queued: use append or `Task::control`";
            return self.inner().meters.refused(Err(Error::invalid(why)));
        }
        let request = self.request(append)?;
        let slot = self.engine.inner.committer.submit(request)?;
        Ok(Ticket::new(slot, self, append))
    }

    /// Queues a plain append: see [`Lineage::try_submit`].
    pub(crate) fn try_submit_plain(&self, append: &Append) -> Result<Option<Ticket>> {
        let request = self.request(append)?;
        let slot = self.engine.inner.committer.try_submit(request)?;
        Ok(slot.map(|slot| Ticket::new(slot, self, append)))
    }

    fn request(&self, append: &Append) -> Result<Request> {
        let request = self.encoded(append);
        self.inner().meters.refused(request)
    }

    fn encoded(&self, append: &Append) -> Result<Request> {
        let inner = &self.engine.inner;
        if append.has_key() {
            inner.catalog.read_keys_ahead(self.task, self.id);
        }
        let to = self.engine.log_append(self.log(), self.origin);
        let to = to.epoch(self.epoch).expect(append.expected());
        Ok(self.encoded_to(to, append)?.into())
    }

    /// Adds the events and the mark of an append to records of the lineage.
    pub(crate) fn encoded_to(&self, to: LogAppend, append: &Append) -> Result<LogAppend> {
        self.engine.with_mark_of(append, self.engine.with_events_of(append, to)?)
    }

    /// Returns the checkpoint marked earlier under the key of its conditions.
    pub(crate) fn marked_already(&self, mark: &Mark) -> Result<Option<Checkpoint>> {
        let (inner, key) = (&self.engine.inner, mark.under().checked_key()?);
        let (Some(key), None) = (key, mark.offset()) else {
            return Ok(None);
        };
        let draft = mark.clone().draft(self.engine.context(), None, inner.now_us())?;
        let found = inner.catalog.marked_under(self.task, self.id, key, &draft)?;
        let checkpoint = |(owner, offset)| inner.catalog.checkpoint_at(self.task, owner, offset);
        found.map(checkpoint).transpose()
    }

    /// Marks a checkpoint without hooks and captures.
    pub(crate) fn checkpoint_unobserved(&self, mark: Mark) -> Result<Checkpoint> {
        let inner = &self.engine.inner;
        let mut structure = None;
        let at = match mark.offset() {
            None => None,
            Some(next) => {
                let head = self.head()?;
                if next > head.next {
                    return Err(Error::invalid(format!(
                        "offset {next} is past the head, which is {}",
                        head.next
                    )));
                }
                // The lock prevents a trim of the point during the check.
                structure = Some(inner.structure()?);
                inner.catalog.readable((self.task, self.id, next))?;
                Some(Head { next, hash: inner.hash_at(self.task, self.id, next)? })
            }
        };
        let mut draft = mark.clone().draft(self.engine.context(), at, inner.now_us())?;
        if let Some(key) = mark.under().checked_key()? {
            // The lock prevents another mark under the key during the check.
            structure = match structure {
                None => Some(inner.structure()?),
                held => held,
            };
            let found = inner.catalog.marked_under(self.task, self.id, key, &draft)?;
            if let Some((owner, offset)) = found {
                return inner.catalog.checkpoint_at(self.task, owner, offset);
            }
            (draft.header.key, draft.header.batch) = (Some(key.to_owned()), 1);
        }
        let append = self.engine.log_append(self.log(), self.origin);
        let append = append.epoch(self.epoch).expect(mark.under().expected()).mark(draft);
        let done = inner.commit(append)?;
        drop(structure);
        let marked = done.marked.map(|marked| self.checkpoint_of(*marked));
        let marked = marked.ok_or_else(|| Error::invalid("a mark without an event"))?;
        self.tell_marked(marked.id, Some(&mark));
        Ok(marked)
    }

    /// Returns the checkpoint of a committed mark on the lineage.
    fn checkpoint_of(&self, marked: Marked) -> Checkpoint {
        let Marked { id, before, body, time_us } = marked;
        Checkpoint::of(id, (&self.name, self.id), before, body, time_us)
    }

    /// Returns the newest checkpoint of a success, on the lineage or its ancestors before the
    /// forks.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn last_successful(&self) -> Result<Option<Checkpoint>> {
        let catalog = &self.engine.inner.catalog;
        let found = catalog.last_successful(self.task, self.id)?;
        let checkpoint = |(owner, offset, entry)| {
            catalog.checkpoint(self.task, &self.name, owner, offset, &entry)
        };
        found.map(checkpoint).transpose()
    }

    /// Returns the offsets of the events appended under a key, on the lineage or its ancestors
    /// before the forks.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn appended_under(&self, key: &str) -> Result<Option<std::ops::Range<Offset>>> {
        let found = self.engine.inner.catalog.keyed(self.task, self.id, key)?;
        Ok(found.map(|used| used.first..used.end().min(used.to)))
    }

    /// Returns the checkpoint of an append. It is read from the store only for a repeated append.
    pub(crate) fn checkpoint_behind(&self, committed: Committed) -> Result<Checkpoint> {
        let Committed { appended, marked } = committed;
        if let Some(marked) = marked {
            return Ok(self.checkpoint_of(*marked));
        }
        let mark = appended.head.next.saturating_sub(1);
        self.inner().catalog.checkpoint_at(self.task, self.id, mark)
    }

    /// Returns the offset of the newest mark's event, on the lineage or its ancestors before the
    /// forks, and its time in microseconds since the Unix epoch. Reads no event.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn newest_mark(&self) -> Result<Option<(Offset, u64)>> {
        let catalog = &self.engine.inner.catalog;
        let mut any = |_, _, _: &_| Ok(true);
        let found = catalog.newest_mark(self.task, self.id, Offset::MAX, &mut any)?;
        Ok(found.map(|(_, offset, entry)| (offset, entry.time_us)))
    }

    /// Returns the id of the checkpoint that the event at an offset marks, unless it was removed.
    ///
    /// # Errors
    ///
    /// As [`Lineage::newest_mark`].
    pub fn marked_at(&self, mark: Offset) -> Result<Option<CheckpointId>> {
        self.engine.inner.catalog.marked_at(self.task, self.id, mark)
    }

    /// Returns the first offset after the events that opened the lineage.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn first_behind_opening(&self) -> Result<Offset> {
        let entry = self.engine.inner.catalog.lineage(self.task, self.id)?;
        let start = entry.parent.map_or(0, |parent| parent.offset);
        let restored = matches!(entry.lineage_type, LineageType::Restore | LineageType::Rollback);
        Ok(start + 1 + u64::from(restored))
    }

    /// Returns the head.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed. `NotFound`: the task was deleted.
    pub fn head(&self) -> Result<Head> {
        let catalog = &self.engine.inner.catalog;
        catalog.task(self.task)?;
        catalog.head(self.log())
    }

    /// Reads the events of a range of offsets, through the ancestors, up to the current head.
    ///
    /// # Errors
    ///
    /// `Invalid`: the range begins past the head.
    pub fn read(&self, range: impl RangeBounds<Offset>) -> Result<Events> {
        Events::new(&self.engine.catalog(), self.task, self.id, range)
    }

    /// Subscribes to the events from an offset on, existing and future ones.
    ///
    /// # Errors
    ///
    /// As [`Lineage::read`].
    pub fn subscribe(&self, from: Offset, options: SubscribeOptions) -> Result<Subscription> {
        // Watches before it reads: a commit in between is then seen twice instead of missed.
        let inner = &self.engine.inner;
        let watch = inner.committer.watch(self.log());
        let events = self.read(from..)?;
        let catalog = inner.catalog.clone();
        Ok(Subscription::new(catalog, self.log(), events, watch, options))
    }

    /// Returns a point of the lineage.
    ///
    /// # Errors
    ///
    /// `Invalid`: the offset is past the head.
    pub fn point(&self, offset: Offset) -> Result<Point> {
        let head = self.head()?;
        if offset > head.next {
            let head = head.next;
            return Err(Error::invalid(format!("offset {offset} is past the head, {head}")));
        }
        Ok(Point {
            task: self.name.to_string(),
            no: self.task,
            lineage: self.id,
            offset,
            checkpoint: None,
        })
    }

    /// Returns the summary of the lineage.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn info(&self) -> Result<LineageInfo> {
        let catalog = &self.engine.inner.catalog;
        let entry = catalog.lineage(self.task, self.id)?;
        let active = catalog.active(self.task)?.1.lineage;
        info(&self.engine, self.task, self.id, entry, active)
    }
}

pub(crate) fn info(
    engine: &Engine,
    task: TaskNo,
    id: LineageId,
    entry: LineageEntry,
    active: LineageId,
) -> Result<LineageInfo> {
    let head = engine.inner.catalog.head(LogId::lineage(task, id))?;
    let begin = crate::history::events::Ancestry::of(&engine.inner.catalog, task, id)?.begin();
    let start = entry.parent.map_or(0, |parent| parent.offset).max(begin);
    Ok(LineageInfo {
        begin,
        id,
        lineage_type: entry.lineage_type,
        description: entry.description,
        parent: entry.parent,
        opened_us: entry.opened_us,
        head,
        events: head.next.saturating_sub(start),
        active: id == active,
    })
}

/// Returns the engine of a handle, with its caller and its conditions.
pub fn engine_of(lineage: &Lineage) -> &Engine {
    &lineage.engine
}
