//! Tasks, lineages and checkpoints as the index has them.

use smallvec::smallvec;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use milepost_codec::{
    Body, BodyForm, Chain, CheckpointId, CheckpointMarked, Epoch, Error, ErrorKind, Head,
    LineageId, LogId, Offset, Origin, Result, StoreKey, TaskNo,
};
use parking_lot::RwLock;

use crate::base::KeyDigest;
use crate::committer::{Done, Draft, Part};
use crate::hashes::Walked;
use crate::index::keys::{self, Kind};
use crate::index::{
    ActivationEntry, BaseEntry, KeyEntry, LineageEntry, MarkEntry, Tally, TaskEntry,
};
use crate::log::Log;
use crate::read::{Ancestry, Cursor, Inherited, LineageTrees};
use crate::retention::ErasedEvents;
use crate::state::Pieces;

/// Who looks: a user, who sees their own tasks only, or whoever sees all.
pub(crate) type Viewer<'a> = Option<&'a str>;

/// Reads the index.
#[derive(Clone)]
pub(crate) struct Catalog {
    log: Arc<dyn Log>,
    /// The key of a keyed store.
    key: Option<StoreKey>,
    /// The spacing of the newest snapshot of a lineage, where one was made since the store is open.
    pub(crate) sizes: Arc<Mutex<HashMap<LogId, u64>>>,
    /// Events that were erased: few tasks have any.
    pub(crate) erased: Arc<RwLock<HashMap<TaskNo, ErasedEvents>>>,
    withdrawals: Arc<AtomicU64>,
    pub(crate) trees: Arc<LineageTrees>,
    /// Chunks of states that somebody may hold.
    pub(crate) pieces: Pieces,
    /// The chain hashes that were walked through last.
    pub(crate) walked: Arc<Mutex<Option<Walked>>>,
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalog")
            .field("seq", &self.log.seq())
            .finish_non_exhaustive()
    }
}

impl Catalog {
    pub(crate) fn new(log: Arc<dyn Log>, key: Option<StoreKey>) -> Self {
        Self {
            log,
            key,
            sizes: Arc::default(),
            erased: Arc::default(),
            withdrawals: Arc::default(),
            trees: Arc::default(),
            pieces: Pieces::default(),
            walked: Arc::default(),
        }
    }

    /// The chain of a log whose history began with `origin`.
    pub(crate) fn chain(&self, origin: Origin, log: LogId) -> Chain {
        Chain::new(origin, log).keyed(self.key.as_ref())
    }

    /// The key of a keyed store.
    pub(crate) fn key(&self) -> Option<&StoreKey> {
        self.key.as_ref()
    }

    pub(crate) fn log(&self) -> &Arc<dyn Log> {
        &self.log
    }

    /// The number of a task, by name.
    pub(crate) fn find(&self, name: &str) -> Result<Option<TaskNo>> {
        let entry = self.log.get(&keys::task_name(name))?;
        entry
            .map(|bytes| number(&bytes, "task name entry").map(TaskNo))
            .transpose()
    }

    /// The number of a task that somebody may see; everybody's, where nobody is named. One of somebody
    /// else is as good as none.
    pub(crate) fn find_for(&self, name: &str, viewer: Viewer<'_>) -> Result<TaskNo> {
        match self.find(name)? {
            Some(task) if self.shows(task, viewer)? => Ok(task),
            _ => Err(Error::not_found(format!("there is no task `{name}`"))),
        }
    }

    /// Whether a task is there, and the viewer's.
    pub(crate) fn shows(&self, task: TaskNo, viewer: Viewer<'_>) -> Result<bool> {
        let entry = self.task_ever(task)?;
        Ok(entry.deleted_us.is_none() && viewer.is_none_or(|user| entry.user == user))
    }

    /// A task that is there.
    pub(crate) fn task(&self, task: TaskNo) -> Result<TaskEntry> {
        match self.task_ever(task) {
            Ok(entry) if entry.deleted_us.is_some() => Err(no_task(task)),
            entry => entry,
        }
    }

    /// A task that is there, or was until it was deleted.
    pub(crate) fn task_ever(&self, task: TaskNo) -> Result<TaskEntry> {
        match self.log.get(&keys::task(task))? {
            Some(bytes) => TaskEntry::decode(&bytes),
            None => Err(no_task(task)),
        }
    }

    /// A lineage that is there.
    pub(crate) fn lineage(&self, task: TaskNo, lineage: LineageId) -> Result<LineageEntry> {
        match self.lineage_ever(task, lineage) {
            Ok(entry) if entry.dropped => Err(Error::not_found(format!(
                "retention dropped lineage {lineage} of the task"
            ))),
            entry => entry,
        }
    }

    /// A lineage that is there, or was until it was dropped.
    pub(crate) fn lineage_ever(&self, task: TaskNo, lineage: LineageId) -> Result<LineageEntry> {
        match self.log.get(&keys::lineage(task, lineage))? {
            Some(bytes) => LineageEntry::decode(&bytes),
            None => Err(Error::not_found(format!(
                "the task has no lineage {lineage}"
            ))),
        }
    }

    /// Lets go of what is in memory of a task's states: they may hold what is gone.
    pub(crate) fn forget_pieces(&self, task: TaskNo) {
        self.pieces.lock().remove(&task);
    }

    /// Lineages of a task were trimmed: forgets where they begin.
    pub(crate) fn forget_lineages(&self, task: TaskNo) {
        self.trees.forget(task);
    }

    /// Counts erasures, deletions and trims since the store is open. A reader that finds another
    /// number than before looks again at what it may give.
    pub(crate) fn withdrawals(&self) -> u64 {
        self.withdrawals.load(Ordering::Acquire)
    }

    /// Content was withdrawn: readers that are under way find out before they give the next event.
    pub(crate) fn withdrew(&self) {
        self.withdrawals.fetch_add(1, Ordering::AcqRel);
    }

    /// Pieces of states that somebody may hold.
    pub(crate) fn all_pieces(&self) -> HashSet<milepost_codec::ChunkId> {
        let pieces = self.pieces.lock();
        let of_tasks = pieces.values().map(|pieces| pieces.lock());
        of_tasks
            .flat_map(|pieces| pieces.iter().copied().collect::<Vec<_>>())
            .collect()
    }

    /// `NotFound` where a point is of a deleted task, a dropped lineage, or before a base.
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

    /// The last key of a prefix.
    fn last(&self, prefix: &[u8]) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        Ok(self
            .log
            .scan(prefix, &keys::after_prefix(prefix), true, 1)?
            .pop())
    }

    /// The activation a task is in.
    pub(crate) fn active(&self, task: TaskNo) -> Result<(Epoch, ActivationEntry)> {
        match self.last(&keys::of_task(Kind::Activation, task))? {
            Some((key, value)) => Ok((keys::tail_u64(&key), ActivationEntry::decode(&value)?)),
            None => Err(no_task(task)),
        }
    }

    pub(crate) fn activation(&self, task: TaskNo, epoch: Epoch) -> Result<ActivationEntry> {
        match self.log.get(&keys::activation(task, epoch))? {
            Some(bytes) => ActivationEntry::decode(&bytes),
            None => Err(Error::not_found(format!(
                "the task has no activation {epoch}"
            ))),
        }
    }

    /// Where a lineage begins, if it was trimmed.
    pub(crate) fn base(&self, task: TaskNo, lineage: LineageId) -> Result<Option<BaseEntry>> {
        let entry = self.log.get(&keys::base(task, lineage))?;
        entry.map(|bytes| BaseEntry::decode(&bytes)).transpose()
    }

    /// What is counted of a task.
    pub(crate) fn tally(&self, task: TaskNo) -> Result<Tally> {
        match self.log.get(&keys::tally(task))? {
            Some(bytes) => Tally::decode(&bytes),
            None => Ok(Tally::default()),
        }
    }

    /// The number the next task gets.
    pub(crate) fn next_task(&self) -> Result<TaskNo> {
        let last = self.last(&keys::all(Kind::Task))?;
        Ok(TaskNo(last.map_or(0, |(key, _)| keys::first_u64(&key)) + 1))
    }

    /// The number the next lineage of a task gets.
    pub(crate) fn next_lineage(&self, task: TaskNo) -> Result<LineageId> {
        let last = self.last(&keys::of_task(Kind::Lineage, task))?;
        let last = last.and_then(|(key, _)| key.last_chunk::<4>().copied());
        Ok(LineageId(
            last.map_or(0, |bytes| u32::from_be_bytes(bytes) + 1),
        ))
    }

    /// The lineages of a task, in the order they were opened.
    pub(crate) fn lineages(&self, task: TaskNo) -> Result<Vec<(LineageId, LineageEntry)>> {
        let prefix = keys::of_task(Kind::Lineage, task);
        let all = self
            .log
            .scan(&prefix, &keys::after_prefix(&prefix), false, usize::MAX)?;
        let lineage = |(key, value): (Vec<u8>, Vec<u8>)| {
            let number = key
                .last_chunk::<4>()
                .map_or(0, |bytes| u32::from_be_bytes(*bytes));
            LineageEntry::decode(&value).map(|entry| (LineageId(number), entry))
        };
        let dropped = |found: &Result<(LineageId, LineageEntry)>| {
            found.as_ref().is_ok_and(|(_, entry)| entry.dropped)
        };
        let all = all.into_iter().map(lineage);
        all.filter(|found| !dropped(found)).collect()
    }

    /// The newest mark before `before` in a lineage or its ancestors that `wanted` takes.
    pub(crate) fn newest_mark(
        &self,
        task: TaskNo,
        lineage: LineageId,
        before: Offset,
        wanted: &mut dyn FnMut(LineageId, Offset, &MarkEntry) -> Result<bool>,
    ) -> Result<Option<(LineageId, Offset, MarkEntry)>> {
        let marks = Inherited {
            ancestry: &Ancestry::of(self, task, lineage)?,
            prefix: &keys::of_task(Kind::Mark, task),
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

    /// The newest checkpoint on a lineage or its ancestors.
    pub(crate) fn last_mark(
        &self,
        task: TaskNo,
        lineage: LineageId,
    ) -> Result<Option<CheckpointId>> {
        let newest = self.newest_mark(task, lineage, Offset::MAX, &mut |_, _, _| Ok(true))?;
        Ok(newest.map(|(_, _, entry)| entry.id))
    }

    /// What a mark says: from its entry, or from the log where it is too large for one.
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

    /// Where an idempotency key was used in a lineage or its ancestors before the fork, if the
    /// append had the same bodies; `Conflict` where it had others.
    pub(crate) fn seen(&self, part: &Part, lineage: LineageId, key: &str) -> Result<Option<Done>> {
        let task = part.log.task;
        let Some((owner, to, entry)) = self.keyed(task, lineage, key)? else {
            return Ok(None);
        };
        let conflict = |why: String| {
            Error::new(
                ErrorKind::Conflict,
                format!("the key `{key}` was used for {why}"),
            )
        };
        let end = entry.first + u64::from(entry.count);
        if let Some((salt, digest)) = entry.trimmed {
            return match digest == digest_of(part, &salt)? {
                true => Ok(Some(trimmed(&entry, end))),
                false => Err(conflict(format!("other events, at offset {}", entry.first))),
            };
        }
        if end > to {
            return Err(conflict(format!(
                "{} events of which the fork at {to} kept a part",
                entry.count
            )));
        }
        if !self.same_bodies(part, owner, &entry)? {
            return Err(conflict(format!("other events, at offset {}", entry.first)));
        }
        let checkpoint = match &part.mark {
            Some(draft) if end < to && self.marked_behind(task, owner, end, draft)? => {
                // Nothing where retention removed the mark since.
                let entry = self.log.get(&keys::mark(task, owner, end))?;
                let entry = entry.map(|entry| MarkEntry::decode(&entry)).transpose()?;
                entry.map(|entry| entry.id)
            }
            Some(_) => {
                let why = "events that another checkpoint, or none, follows";
                return Err(conflict(why.to_owned()));
            }
            None => None,
        };
        let next = end + u64::from(part.mark.is_some());
        let hash = crate::hashes::hash_at(self, part.origin, LogId::lineage(task, owner), next)?;
        Ok(Some(Done {
            parts: smallvec![(entry.first, Head { next, hash })],
            seq: entry.seq,
            repeated: Some(entry.count),
            checkpoint,
        }))
    }

    /// Returns `true` if the event at an offset is a mark that says what a draft does, whether the mark
    /// was removed since or not.
    pub(crate) fn marked_behind(
        &self,
        task: TaskNo,
        lineage: LineageId,
        offset: Offset,
        draft: &Draft,
    ) -> Result<bool> {
        let mut cursor = Cursor::new(&self.log, LogId::lineage(task, lineage), offset);
        let found = cursor.next_record(|_, record| {
            let header = record.header()?;
            if header.kind != CheckpointMarked::KIND || record.form != BodyForm::Inline {
                return Ok(false);
            }
            let Body::CheckpointMarked(mut body) = Body::decode(header.kind, record.payload)?
            else {
                return Ok(false);
            };
            body.parent = body.parent.filter(|_| draft.mark.parent.is_some());
            Ok(body == draft.mark)
        })?;
        Ok(found == Some(true))
    }

    /// Where a key was used, in a lineage or its ancestors before the forks: the lineage, how far it
    /// is an ancestor, and the events.
    pub(crate) fn keyed(
        &self,
        task: TaskNo,
        lineage: LineageId,
        key: &str,
    ) -> Result<Option<(LineageId, Offset, KeyEntry)>> {
        let ancestry = Ancestry::of(self, task, lineage)?;
        let prefix = keys::uses_of_key(task, key);
        // A base keeps keys of its lineage, also where nothing is inherited of it but the base.
        let mut end = keys::after_prefix(&prefix);
        loop {
            let page = self.log.scan(&prefix, &end, true, 16)?;
            let Some((last, _)) = page.last() else { break };
            end.clone_from(last);
            for (name, value) in page {
                let owner = keys::tail_lineage(&name);
                let Some((_, to)) = ancestry.span(owner) else {
                    continue;
                };
                let entry = KeyEntry::decode(&value)?;
                if entry.first < to {
                    return Ok(Some((owner, to, entry)));
                }
            }
        }
        match ancestry.base() {
            Some((owner, base)) if self.log.get(&keys::keyless(task, owner))?.is_some() => {
                Err(Error::corrupt(
                    format!("lineage {owner}"),
                    format!("the keys used before offset {}", base.head.next),
                    format!(
                        "chunk {} of its base damaged: put `packs/` back from a copy and repair \
                         the store, until then no new key is taken there",
                        base.chunk
                    ),
                ))
            }
            _ => Ok(None),
        }
    }

    fn same_bodies(&self, part: &Part, lineage: LineageId, entry: &KeyEntry) -> Result<bool> {
        if part.records.len() != entry.count as usize {
            return Ok(false);
        }
        let erased = self.erased_of(part.log.task);
        let log = LogId::lineage(part.log.task, lineage);
        let mut cursor = Cursor::new(&self.log, log, entry.first);
        for meta in &part.records {
            let new = milepost_codec::Records::new(part.slice((meta.start, meta.end))).next();
            let Some(new) = new.transpose()? else {
                return Ok(false);
            };
            let same = cursor.next_record(|at, old| {
                if erased.has(lineage, at) {
                    return Ok(false);
                }
                let same_kind = old.header()?.kind == new.header()?.kind;
                Ok(old.form != BodyForm::Erased && same_kind && old.payload == new.payload)
            })?;
            if same != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What an append is answered with whose events were trimmed.
fn trimmed(entry: &KeyEntry, end: Offset) -> Done {
    let head = Head {
        next: end,
        hash: milepost_codec::Hash::ZERO,
    };
    Done {
        parts: smallvec![(entry.first, head)],
        seq: entry.seq,
        repeated: Some(entry.count),
        checkpoint: None,
    }
}

/// The digest of a part's bodies, as a base keeps it.
fn digest_of(part: &Part, salt: &[u8; 16]) -> Result<milepost_codec::Hash> {
    let mut digest = KeyDigest::new(salt);
    for meta in &part.records {
        for record in milepost_codec::Records::new(part.slice((meta.start, meta.end))) {
            let record = record?;
            digest.take(record.header()?.kind, &record);
        }
    }
    Ok(digest.finish())
}

fn no_task(task: TaskNo) -> Error {
    Error::not_found(format!("there is no task #{}", task.0))
}

fn number(bytes: &[u8], what: &str) -> Result<u64> {
    let bytes =
        <[u8; 8]>::try_from(bytes).map_err(|_| Error::corrupt(what, "8 bytes", bytes.len()))?;
    Ok(u64::from_be_bytes(bytes))
}
