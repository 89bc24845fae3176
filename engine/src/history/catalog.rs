//! Tasks, lineages and checkpoints, as the index has them.

use std::collections::HashMap;
use std::sync::Arc;

use milepost_codec::{
    Body, Chain, CheckpointId, CheckpointMarked, ChunkId, Epoch, Error, Head, LineageId, LogId,
    Offset, Origin, Result, StoreKey, TaskNo,
};
use milepost_store::index::keys::{self, KeyKind};
use milepost_store::index::{
    ActivationEntry, BaseEntry, LineageEntry, MarkEntry, Tally, TaskEntry,
};
use milepost_store::sync::Mutex;
use milepost_store::sync::atomic::{AtomicU64, Ordering};
use milepost_store::{Cache, Log};
use parking_lot::RwLock;

use super::chain_hash::HashCache;
use super::events::{Ancestry, Cursor, Inherited, LineageTrees};
use crate::cancel::Cancel;
use crate::history::base::KnownKeys;
use crate::history::erased::ErasedEvents;
use crate::history::pieces::Pieces;

/// The maximum bytes of rebuilt pieces that stay in memory: a conversation of this length is
/// rebuilt from its events once, however many of its states are read.
const MADE_PIECES_MAX: usize = 4 << 20;

/// The tasks that a caller may see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Viewer<'a> {
    /// Only tasks of this user.
    pub(crate) user: Option<&'a str>,
    /// Only the one with this name.
    pub(crate) task: Option<&'a str>,
}

impl Viewer<'_> {
    /// Sees all tasks.
    pub(crate) const ALL: Self = Self { user: None, task: None };

    pub(crate) fn sees(&self, entry: &TaskEntry) -> bool {
        self.user.is_none_or(|user| entry.user == user)
            && self.task.is_none_or(|task| entry.name == task)
    }

    pub(crate) fn sees_all(&self) -> bool {
        self.user.is_none() && self.task.is_none()
    }
}

/// Reader of the index.
#[derive(Clone)]
pub(crate) struct Catalog {
    log: Arc<dyn Log>,
    /// The key of a keyed store.
    key: Option<StoreKey>,
    /// Size of the newest snapshot of a lineage, if one was made or read since the store was
    /// opened.
    pub(crate) sizes: Arc<Mutex<HashMap<LogId, u64>>>,
    /// Erased events. Few tasks have any.
    pub(crate) erased: Arc<RwLock<HashMap<TaskNo, ErasedEvents>>>,
    withdrawals: Arc<AtomicU64>,
    pub(crate) trees: Arc<LineageTrees>,
    /// Chunks of states that readers may hold.
    pub(crate) pieces: Pieces,
    /// Pieces that were made again of events, by the number of withdrawals at that time.
    pub(crate) made_pieces: Arc<Cache<(u64, ChunkId), [u8]>>,
    /// The chain hashes computed last.
    pub(crate) walked: Arc<Mutex<Option<HashCache>>>,
    pub(crate) known_keys: Arc<KnownKeys>,
    /// Ends the reads of events and chunks.
    cancel: Cancel,
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalog").field("seq", &self.log.seq()).finish_non_exhaustive()
    }
}

impl Catalog {
    /// Creates a catalog over a log. A base keeps at least `key_window` keys.
    pub(crate) fn new(log: Arc<dyn Log>, key: Option<StoreKey>, key_window: usize) -> Self {
        Self {
            log,
            key,
            sizes: Arc::default(),
            erased: Arc::default(),
            withdrawals: Arc::default(),
            trees: Arc::default(),
            pieces: Pieces::default(),
            made_pieces: Arc::new(Cache::of(MADE_PIECES_MAX)),
            walked: Arc::default(),
            known_keys: Arc::new(KnownKeys::new(key_window)),
            cancel: Cancel::NEVER,
        }
    }

    /// Returns the catalog for reads that a flag ends.
    pub(crate) fn cancelled_by(&self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self.clone() }
    }

    /// Returns the flag that ends reads.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Returns the chain of a log whose history began with `origin`.
    pub(crate) fn chain(&self, origin: Origin, log: LogId) -> Chain {
        Chain::new(origin, log).keyed(self.key.as_ref())
    }

    /// Returns the key of a keyed store.
    pub(crate) fn key(&self) -> Option<&StoreKey> {
        self.key.as_ref()
    }

    pub(crate) fn log(&self) -> &Arc<dyn Log> {
        &self.log
    }

    /// Returns the number of a task, given its name.
    pub(crate) fn find(&self, name: &str) -> Result<Option<TaskNo>> {
        let entry = self.log.get(&keys::task_name(name))?;
        entry.map(|bytes| number(&bytes, "task name entry").map(TaskNo)).transpose()
    }

    /// Returns the number of a task that the viewer may see. Any other is reported as missing.
    pub(crate) fn find_for(&self, name: &str, viewer: Viewer<'_>) -> Result<TaskNo> {
        match self.find(name)? {
            Some(task) if self.shows(task, viewer)? => Ok(task),
            _ => Err(Error::not_found(format!("there is no task `{name}`"))),
        }
    }

    /// Returns `true` if a task exists and the viewer may see it.
    pub(crate) fn shows(&self, task: TaskNo, viewer: Viewer<'_>) -> Result<bool> {
        let entry = self.task_ever(task)?;
        Ok(entry.deleted_us.is_none() && viewer.sees(&entry))
    }

    /// Returns a task that is not deleted.
    pub(crate) fn task(&self, task: TaskNo) -> Result<TaskEntry> {
        match self.task_ever(task) {
            Ok(entry) if entry.deleted_us.is_some() => Err(no_task(task)),
            entry => entry,
        }
    }

    /// Returns a task, also a deleted one.
    pub(crate) fn task_ever(&self, task: TaskNo) -> Result<TaskEntry> {
        match self.log.get(&keys::task(task))? {
            Some(bytes) => TaskEntry::decode(&bytes),
            None => Err(no_task(task)),
        }
    }

    /// Returns a lineage that is not dropped.
    pub(crate) fn lineage(&self, task: TaskNo, lineage: LineageId) -> Result<LineageEntry> {
        match self.lineage_ever(task, lineage) {
            Ok(entry) if entry.dropped => {
                Err(Error::not_found(format!("retention dropped lineage {lineage} of the task")))
            }
            entry => entry,
        }
    }

    /// Returns a lineage, also a dropped one.
    pub(crate) fn lineage_ever(&self, task: TaskNo, lineage: LineageId) -> Result<LineageEntry> {
        match self.log.get(&keys::lineage(task, lineage))? {
            Some(bytes) => LineageEntry::decode(&bytes),
            None => Err(Error::not_found(format!("the task has no lineage {lineage}"))),
        }
    }

    /// Forgets the pieces of a task's states, which may hold erased content.
    pub(crate) fn forget_pieces(&self, task: TaskNo) {
        self.pieces.forget(task);
    }

    /// Returns a function from an ancestor to the offset up to which a lineage inherits from it.
    pub(crate) fn inherited(
        &self,
        task: TaskNo,
        lineage: LineageId,
    ) -> Result<impl Fn(LineageId) -> Option<Offset> + use<>> {
        let ancestry = Ancestry::of(self, task, lineage)?;
        Ok(move |of| ancestry.span(of).map(|(_, to)| to))
    }

    /// Forgets the cached lineages of a task, after some were trimmed.
    pub(crate) fn forget_lineages(&self, task: TaskNo) {
        self.trees.forget(task);
    }

    /// Returns the number of erasures, deletions, trims and compactions since the store was opened.
    /// A reader that finds a changed number checks again which events it may return.
    pub(crate) fn withdrawals(&self) -> u64 {
        self.withdrawals.load(Ordering::Acquire)
    }

    /// Counts a withdrawal. Active readers notice it before they return the next event.
    pub(crate) fn withdrew(&self) {
        self.withdrawals.fetch_add(1, Ordering::AcqRel);
        self.made_pieces.clear();
    }

    /// Checks that a point can be read. The error is `NotFound` for a point of a deleted task, of a
    /// dropped lineage, or before a base.
    pub(crate) fn readable(
        &self,
        (task, lineage, offset): (TaskNo, LineageId, Offset),
    ) -> Result<()> {
        self.task(task)?;
        self.lineage(task, lineage)?;
        Ancestry::of(self, task, lineage)?.check(offset)
    }

    pub(crate) fn head(&self, log: LogId) -> Result<Head> {
        match self.log.head(log)? {
            Some(head) => Ok(head.head),
            None => Err(Error::not_found(format!("there is no {log}"))),
        }
    }

    /// Returns the last entry with a prefix.
    fn last(&self, prefix: &[u8]) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        Ok(self.log.scan(prefix, &keys::after_prefix(prefix), true, 1)?.pop())
    }

    /// Returns the current activation of a task.
    pub(crate) fn active(&self, task: TaskNo) -> Result<(Epoch, ActivationEntry)> {
        match self.last(&keys::of_task(KeyKind::Activation, task))? {
            Some((key, value)) => Ok((keys::tail_u64(&key), ActivationEntry::decode(&value)?)),
            None => Err(no_task(task)),
        }
    }

    pub(crate) fn activation(&self, task: TaskNo, epoch: Epoch) -> Result<ActivationEntry> {
        match self.log.get(&keys::activation(task, epoch))? {
            Some(bytes) => ActivationEntry::decode(&bytes),
            None => Err(Error::not_found(format!("the task has no activation {epoch}"))),
        }
    }

    /// Returns `true` if a lineage of a task has a base. Most tasks have none, whatever the number
    /// of their lineages.
    pub(crate) fn has_bases(&self, task: TaskNo) -> Result<bool> {
        let prefix = keys::of_task(KeyKind::Base, task);
        Ok(!self.log.scan(&prefix, &keys::after_prefix(&prefix), false, 1)?.is_empty())
    }

    /// Returns the base of a lineage, if it was trimmed.
    pub(crate) fn base(&self, task: TaskNo, lineage: LineageId) -> Result<Option<BaseEntry>> {
        let entry = self.log.get(&keys::base(task, lineage))?;
        entry.map(|bytes| BaseEntry::decode(&bytes)).transpose()
    }

    /// Returns the counters of a task.
    pub(crate) fn tally(&self, task: TaskNo) -> Result<Tally> {
        match self.log.get(&keys::tally(task))? {
            Some(bytes) => Tally::decode(&bytes),
            None => Ok(Tally::default()),
        }
    }

    /// Returns the number for the next task.
    pub(crate) fn next_task(&self) -> Result<TaskNo> {
        let last = self.last(&keys::all(KeyKind::Task))?;
        Ok(TaskNo(last.map_or(0, |(key, _)| keys::first_u64(&key)) + 1))
    }

    /// Returns the number for the next lineage of a task.
    pub(crate) fn next_lineage(&self, task: TaskNo) -> Result<LineageId> {
        let last = self.last(&keys::of_task(KeyKind::Lineage, task))?;
        let last = last.and_then(|(key, _)| key.last_chunk::<4>().copied());
        Ok(LineageId(last.map_or(0, |bytes| u32::from_be_bytes(bytes) + 1)))
    }

    /// Returns the lineages of a task, in the order they were opened.
    pub(crate) fn lineages(&self, task: TaskNo) -> Result<Vec<(LineageId, LineageEntry)>> {
        let prefix = keys::of_task(KeyKind::Lineage, task);
        let all = self.log.scan(&prefix, &keys::after_prefix(&prefix), false, usize::MAX)?;
        let lineage = |(key, value): (Vec<u8>, Vec<u8>)| {
            let number = key.last_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes));
            LineageEntry::decode(&value).map(|entry| (LineageId(number), entry))
        };
        let dropped = |found: &Result<(LineageId, LineageEntry)>| {
            found.as_ref().is_ok_and(|(_, entry)| entry.dropped)
        };
        let all = all.into_iter().map(lineage);
        all.filter(|found| !dropped(found)).collect()
    }

    /// Returns the newest mark before `before`, on a lineage or its ancestors, that `wanted`
    /// accepts.
    pub(crate) fn newest_mark(
        &self,
        task: TaskNo,
        lineage: LineageId,
        before: Offset,
        wanted: &mut dyn FnMut(LineageId, Offset, &MarkEntry) -> Result<bool>,
    ) -> Result<Option<(LineageId, Offset, MarkEntry)>> {
        let marks = Inherited {
            ancestry: &Ancestry::of(self, task, lineage)?,
            prefix: &keys::of_task(KeyKind::Mark, task),
            middle: &[],
            before,
            inclusive: false,
        };
        marks.newest(self.log.as_ref(), &mut |owner, offset, _, value| {
            let entry = MarkEntry::decode(value)?;
            let wanted = wanted(owner, offset, &entry)?;
            Ok(wanted.then_some((owner, offset, entry)))
        })
    }

    /// Returns the newest checkpoint on a lineage or its ancestors.
    pub(crate) fn last_mark(
        &self,
        task: TaskNo,
        lineage: LineageId,
    ) -> Result<Option<CheckpointId>> {
        let newest = self.newest_mark(task, lineage, Offset::MAX, &mut |_, _, _| Ok(true))?;
        Ok(newest.map(|(_, _, entry)| entry.id))
    }

    /// Returns the body of a mark, from its entry or, if that is too large for an entry, from the
    /// log.
    pub(crate) fn mark_body(
        &self,
        task: TaskNo,
        lineage: LineageId,
        offset: Offset,
        entry: &MarkEntry,
    ) -> Result<CheckpointMarked> {
        if !entry.elided {
            return Ok(entry.body.clone());
        }
        let mut cursor = Cursor::new(&self.log, LogId::lineage(task, lineage), offset);
        let found =
            cursor.next_record(|_, record| Body::decode(record.header()?.kind, record.payload))?;
        match found {
            Some(Body::CheckpointMarked(body)) => Ok(body),
            _ => Err(Error::corrupt(
                format!("lineage {lineage} at offset {offset}"),
                "a checkpoint's mark",
                "another event",
            )),
        }
    }
}

fn no_task(task: TaskNo) -> Error {
    Error::not_found(format!("there is no task #{}", task.0))
}

fn number(bytes: &[u8], what: &str) -> Result<u64> {
    let bytes =
        <[u8; 8]>::try_from(bytes).map_err(|_| Error::corrupt(what, "8 bytes", bytes.len()))?;
    Ok(u64::from_be_bytes(bytes))
}

impl Catalog {
    /// Loads the erased events when the store is opened.
    pub(crate) fn load_erased(&self) -> Result<()> {
        self.log().walk(&keys::all(KeyKind::Erased), &mut |key, _| {
            let (lineage, offset) = keys::mark_place(key);
            self.now_erased(TaskNo(keys::first_u64(key)), lineage, offset);
            Ok(())
        })
    }

    /// Records the erasure of an event.
    pub(crate) fn now_erased(&self, task: TaskNo, lineage: LineageId, offset: Offset) {
        let mut all = self.erased.write();
        let of_task = all.entry(task).or_default();
        Arc::make_mut(&mut of_task.0).insert((lineage, offset));
    }

    /// Returns the erased events of a task.
    pub(crate) fn erased_of(&self, task: TaskNo) -> ErasedEvents {
        let all = self.erased.read();
        all.get(&task).cloned().unwrap_or_else(ErasedEvents::default)
    }

    /// Returns the number of erased events of a task. A snapshot made with another number may hold
    /// an erased event. The number only grows, even if an erased event is trimmed.
    pub(crate) fn erased_count(&self, task: TaskNo) -> u64 {
        self.erased_of(task).count()
    }
}
