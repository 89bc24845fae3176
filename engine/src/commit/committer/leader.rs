//! The leader: admits requests, assigns offsets, chains, and commits one batch.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use milepost_codec::{
    Chain, CheckpointId, Detail, Epoch, Error, ErrorKind, FRAME_HEADER_LEN, FRAME_PAYLOAD_MAX,
    Head, LineageId, LogId, LogKind, Offset, RestoreId, Result, Seq, TaskNo,
};

use super::log_append::{Effect, LogAppend};
use super::plan::Plan;
use super::request::Request;
use super::results::{Answer, CommitResult, Results, refused, unknown};
use milepost_store::CommitBatch;
use milepost_store::index::{LogHead, PendingEntry, Tally};
use milepost_store::metrics::Meters;
use smallvec::SmallVec;

use crate::history::catalog::Catalog;

/// A lineage and an offset at which its snapshot is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SnapshotDue {
    pub(crate) log: LogId,
    pub(crate) at: Offset,
    /// The lineage's own record bytes before the offset.
    pub(crate) bytes: u64,
}

/// A job for the background thread.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BackgroundJob {
    Snapshot(SnapshotDue),
    /// Snapshots that a lineage should have and has not.
    Missing(LogId),
    Stop,
}

/// The cached head, chain and snapshot threshold of one log.
pub(super) struct LogState {
    pub(super) head: LogHead,
    pub(super) chain: Chain,
    /// The newest mark of the lineage or its ancestors; `None` until it is looked up.
    pub(super) last_mark: Option<Option<CheckpointId>>,
    /// Record bytes at which a snapshot is due.
    snapshot_at: u64,
    /// The restore that blocks the task.
    pending: Option<PendingEntry>,
}

/// Cached logs above which the cache is cleared. Everything in it can be read again.
const KNOWN_MAX: usize = 1 << 16;

/// Maximum number of requests for which a buffer is kept.
const ROOM_MAX: usize = 256;

/// The leader's state. One thread at a time holds it.
pub(crate) struct Leader {
    pub(super) catalog: Catalog,
    seq: Seq,
    /// Set while a commit is in progress. If it is set when the next commit begins, a panic ended
    /// the earlier one.
    committing: bool,
    pub(super) logs: HashMap<LogId, LogState>,
    pub(super) active: HashMap<TaskNo, (Epoch, LineageId)>,
    /// Cached tallies of tasks.
    pub(super) tallies: HashMap<TaskNo, Tally>,
    /// Tasks deleted in the current batch. The index does not show it yet.
    pub(super) deleted: HashSet<TaskNo>,
    /// Tasks whose cached state the current batch changes: a restore begins, a lineage is dropped.
    /// It is read again after the commit, when the index has the batch.
    pub(super) changed: HashSet<TaskNo>,
    /// Logs of tasks that are not visible yet. Their growth in this batch is not reported.
    pub(super) unseen: HashSet<LogId>,
    /// The last due snapshot of each task: its lineage and that lineage's own bytes before it.
    due: HashMap<TaskNo, (LineageId, u64)>,
    /// The plan of the request that is being admitted.
    pub(super) plan: Plan,
    /// A buffer for the requests of a batch.
    taken: VecDeque<(Request, Answer)>,
    /// Keys in the current batch. They are not in the index yet.
    pub(super) keys: HashSet<(TaskNo, String)>,
    /// The last commits with a capture or an activation.
    pub(super) folders: super::overtaken::FolderCommits,
    meters: Arc<Meters>,
}

/// A log that has grown, the new offsets, and its snapshot if one is due.
pub(super) type Growth = (LogId, Range<Offset>, Option<SnapshotDue>);
pub(super) type AllGrown = SmallVec<[Growth; 1]>;

/// The answer and the result of a request whose batch is being committed.
type Admitted = (Answer, CommitResult);

enum Admission {
    /// The request is in the batch.
    In(CommitResult),
    /// The request was committed before.
    Repeated(CommitResult),
    /// The request has to wait for the next batch.
    Later,
}

impl Leader {
    pub(crate) fn new(catalog: Catalog, meters: Arc<Meters>) -> Self {
        let seq = catalog.log().seq();
        Self {
            catalog,
            seq,
            committing: false,
            logs: HashMap::new(),
            active: HashMap::new(),
            tallies: HashMap::new(),
            deleted: HashSet::new(),
            changed: HashSet::new(),
            unseen: HashSet::new(),
            due: HashMap::new(),
            plan: Plan::default(),
            taken: VecDeque::new(),
            keys: HashSet::new(),
            folders: Default::default(),
            meters,
        }
    }

    /// Commits at least one request from the front of `queue` and adds the results. Returns the
    /// logs that have grown, their new offsets, and the snapshots that are due. After a panic all
    /// requests are refused, since the state of the caches is unknown.
    pub(crate) fn commit(
        &mut self,
        queue: &mut VecDeque<(Request, Answer)>,
        results: &mut Results,
    ) -> AllGrown {
        if std::mem::replace(&mut self.committing, true) {
            let refused = || {
                let why = "an earlier commit panicked: reopen the store";
                self.meters.refused(Err(Error::new(ErrorKind::Poisoned, why)))
            };
            results.extend(queue.drain(..).map(|(_, answer)| (answer, refused())));
            return AllGrown::new();
        }
        let grown = self.commit_front(queue, results);
        self.committing = false;
        grown
    }

    fn commit_front(
        &mut self,
        queue: &mut VecDeque<(Request, Answer)>,
        results: &mut Results,
    ) -> AllGrown {
        if self.logs.len() > KNOWN_MAX {
            self.forget();
        }
        self.keys.clear();
        self.deleted.clear();
        self.changed.clear();
        self.unseen.clear();
        let bytes: usize = queue.iter().map(|(request, _)| request.bytes()).sum();
        // Sections add less than 1/64. A buffer slightly too small would double, and it stays in
        // the tail.
        let mut batch = CommitBatch::with_room(self.seq + 1, bytes + bytes / 64 + 1024);
        let mut admitted: SmallVec<[Admitted; 1]> = SmallVec::new();
        while let Some((request, slot)) = queue.pop_front() {
            match self.admit(&request, &mut batch) {
                Ok(Admission::In(done)) => admitted.push((slot, done)),
                Ok(Admission::Repeated(done)) => {
                    self.meters.repeated.add(1);
                    results.push((slot, Ok(done)));
                }
                Ok(Admission::Later) => {
                    queue.push_front((request, slot));
                    break;
                }
                Err(error) => results.push((slot, self.meters.refused(Err(error)))),
            }
        }
        if batch.is_empty() {
            return AllGrown::new();
        }
        let groups = batch.groups.iter();
        let mut grown: SmallVec<[_; 1]> = groups
            .filter(|group| !self.unseen.contains(&group.log))
            .map(|group| (group.log, group.first..group.head.head.next))
            .collect();
        grown.dedup_by(|(log, more), (before, offsets)| {
            let same = log == before;
            offsets.end = if same { more.end } else { offsets.end };
            same
        });
        let events = events_of(&batch);
        match self.catalog.log().append(batch) {
            Ok(()) => {
                self.seq += 1;
                self.count(&admitted, events);
                for (slot, done) in admitted {
                    results.push((slot, Ok(done)));
                }
                let grown = grown.into_iter();
                let grown = grown.map(|(log, offsets)| (log, offsets, self.due(log))).collect();
                // Marks of these tasks may be removed, and are then no parents of later marks. Or
                // all of a task is removed.
                if !self.changed.is_empty() {
                    self.logs.retain(|log, _| !self.changed.contains(&log.task));
                }
                grown
            }
            Err(error) => {
                // The caches include the batch, which is not in the log, or may not be.
                self.forget();
                self.folders.back_to(self.seq);
                self.meters.append_errors.add(admitted.len() as u64);
                let failed = self.catalog.log().has_failed();
                for (slot, _) in admitted {
                    let told = match failed {
                        true => unknown(&error),
                        false => refused(&error),
                    };
                    results.push((slot, Err(told)));
                }
                AllGrown::new()
            }
        }
    }

    /// Applies the effect of a control event that is in the batch.
    pub(super) fn take_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Activates(task, active) => drop(self.active.insert(task, active)),
            Effect::Changes(task) | Effect::BeginsRestore(task) | Effect::EndsRestore(task, _) => {
                self.changed.insert(task);
            }
            Effect::Deletes(task) => {
                self.deleted.insert(task);
                self.changed.insert(task);
            }
        }
    }

    /// Returns an empty buffer for the requests of a batch.
    pub(crate) fn room(&mut self) -> VecDeque<(Request, Answer)> {
        std::mem::take(&mut self.taken)
    }

    /// Keeps the buffer for the next batch, unless it is large.
    pub(crate) fn keep_room(&mut self, taken: VecDeque<(Request, Answer)>) {
        if taken.is_empty() && taken.capacity() <= ROOM_MAX {
            self.taken = taken;
        }
    }

    /// Clears everything that can be read again.
    pub(crate) fn forget(&mut self) {
        self.logs.clear();
        self.active.clear();
        self.tallies.clear();
        self.due.clear();
    }

    /// Adds a commit to the meters.
    fn count(&self, admitted: &[Admitted], events: u64) {
        let appends = admitted.len() as u64;
        let marked = admitted.iter().filter(|(_, done)| done.checkpoint.is_some());
        let meters = &self.meters;
        meters.commits.add(1);
        meters.appends.add(appends);
        meters.appends_per_commit.record(appends);
        meters.events.add(events);
        meters.events_per_commit.record(events);
        meters.checkpoints.add(marked.count() as u64);
    }

    fn due(&mut self, log: LogId) -> Option<SnapshotDue> {
        let known = self.logs.get_mut(&log)?;
        let LogKind::Lineage(lineage) = log.kind else {
            return None;
        };
        if known.head.bytes < known.snapshot_at {
            return None;
        }
        if self.due.len() > KNOWN_MAX {
            self.due.clear();
        }
        self.due.insert(log.task, (lineage, known.head.bytes));
        // The snapshot's own size is known once it is made. Until then the next one is not due.
        known.snapshot_at = known.head.bytes + self.catalog.snapshot_distance(log);
        Some(SnapshotDue { log, at: known.head.head.next, bytes: known.head.bytes })
    }

    /// Checks all appends of a request, plans it, and merges the plan into the batch.
    fn admit(&mut self, request: &Request, batch: &mut CommitBatch) -> Result<Admission> {
        let ends = request.ends();
        for append in request.appends() {
            // The index has this batch's changes only after it: a key, a restore that blocks the
            // task, a dropped lineage.
            let same_key = !self.keys.is_empty()
                && append.keys().any(|key| self.keys.contains(&(append.log.task, key.clone())));
            let is_changed = matches!(append.log.kind, LogKind::Lineage(_))
                && self.changed.contains(&append.log.task);
            if same_key || is_changed {
                return Ok(Admission::Later);
            }
            if let Some(done) = self.check(append, ends)? {
                return Ok(Admission::Repeated(done));
            }
        }
        for (log, expected) in request.heads() {
            self.not_grown(*log, *expected)?;
        }
        self.folders.check(request.knows())?;
        let done = self.plan(request, batch.seq)?;
        let (needs, room) =
            (self.plan.frame_bytes, FRAME_HEADER_LEN + FRAME_PAYLOAD_MAX - batch.buf.len());
        if needs > room && !batch.is_empty() {
            return Ok(Admission::Later);
        }
        if needs > room {
            return Err(Error::invalid(format!(
                "one commit may have {} MiB of events, this request has {needs} bytes: split it",
                FRAME_PAYLOAD_MAX >> 20
            )));
        }
        self.merge(request, batch);
        Ok(Admission::In(done))
    }

    /// Checks an append against the log: the caller's conditions, and the key.
    fn check(
        &mut self,
        append: &LogAppend,
        ends: Option<RestoreId>,
    ) -> Result<Option<CommitResult>> {
        if self.deleted.contains(&append.log.task) {
            let task = append.log.task.0;
            return Err(Error::not_found(format!("there is no task #{task}")));
        }
        if append.open.is_some() {
            let there = self.logs.contains_key(&append.log)
                || self.catalog.log().head(append.log)?.is_some();
            if there {
                return Err(Error::new(ErrorKind::Conflict, format!("{} is there", append.log)));
            }
            let pending = match append.log.kind {
                // Imported restores have ended.
                LogKind::Lineage(_) if append.adopted.is_none() => {
                    self.catalog.pending(append.log.task)?
                }
                _ => None,
            };
            return self.blocked(append, pending, ends).map(|()| None);
        }
        let pending = self.known(append)?.pending;
        self.blocked(append, pending, ends)?;
        if let Some(epoch) = append.epoch {
            let (now, lineage) = self.active(append.log.task)?;
            if now != epoch {
                return Err(outdated(lineage, now, epoch));
            }
        }
        if let (Some(key), LogKind::Lineage(lineage)) = (&append.key, append.log.kind)
            && let Some(seen) = self.catalog.seen(append, lineage, key)?
        {
            return Ok(Some(seen));
        }
        let head = self.known(append)?.head.head;
        self.catalog.check_event_keys(append, head.next)?;
        if let (Some(draft), LogKind::Lineage(lineage)) = (&append.mark, append.log.kind)
            && draft.mark.parent.is_none()
            && self.known(append)?.last_mark.is_none()
        {
            // Read here, where a failure is possible: adding the mark after the records must not
            // fail.
            let last = self.catalog.last_mark(append.log.task, lineage)?;
            self.known(append)?.last_mark = Some(last);
        }
        match append.expect {
            Some(expect) if expect != head.next => Err(Error::new(
                ErrorKind::Conflict,
                format!("expected the head at {expect}, it is at {}", head.next),
            )
            .with_detail(Detail::Head(head))),
            _ => Ok(None),
        }
    }

    /// Refuses a request that was computed from a log up to a head, if the log has grown since.
    fn not_grown(&self, log: LogId, expected: Offset) -> Result<()> {
        let head = match self.logs.get(&log) {
            Some(known) => Some(known.head),
            None => self.catalog.log().head(log)?,
        };
        match head.map(|head| head.head) {
            Some(head) if head.next != expected => Err(Error::new(
                ErrorKind::Conflict,
                format!("{log} grew to offset {}: look at it again", head.next),
            )
            .with_detail(Detail::Head(head))),
            _ => Ok(()),
        }
    }

    /// Refuses an append to a task that a restore blocks, unless the request ends that restore.
    fn blocked(
        &self,
        append: &LogAppend,
        pending: Option<PendingEntry>,
        ends: Option<RestoreId>,
    ) -> Result<()> {
        match pending.filter(|entry| Some(entry.restore) != ends) {
            Some(entry) => Err(self.catalog.held_up_by(append.log.task, &entry)),
            None => Ok(()),
        }
    }

    fn active(&mut self, task: TaskNo) -> Result<(Epoch, LineageId)> {
        if let Some(active) = self.active.get(&task) {
            return Ok(*active);
        }
        let (epoch, entry) = self.catalog.active(task)?;
        self.active.insert(task, (epoch, entry.lineage));
        Ok((epoch, entry.lineage))
    }

    /// Returns the state of a log that an append opens, before its records. The log does not exist
    /// yet, so nothing of it is cached.
    pub(super) fn opened(&self, append: &LogAppend, head: Head) -> Result<LogState> {
        let snapshot_at = match append.parent {
            Some(parent) => {
                let planned = self.due.get(&append.log.task).copied();
                let fork = (parent, head.next);
                self.catalog.snapshot_behind(append.log, fork, planned)?
            }
            None => self.catalog.snapshot_distance(append.log),
        };
        Ok(LogState {
            head: LogHead { head, bytes: 0, start: head.next },
            chain: self.catalog.chain(append.origin, append.log),
            last_mark: None,
            snapshot_at,
            // Pending restores were checked before. This request ends the restore, if any.
            pending: None,
        })
    }

    /// Returns the state of an existing log, from the cache or the store.
    pub(super) fn known(&mut self, append: &LogAppend) -> Result<&mut LogState> {
        let known = match self.logs.entry(append.log) {
            Entry::Occupied(known) => return Ok(known.into_mut()),
            Entry::Vacant(vacant) => vacant,
        };
        let mut pending = None;
        if append.log.task != TaskNo::STORE && append.adopted.is_none() {
            // Refuses deleted tasks and dropped lineages.
            self.catalog.task(append.log.task)?;
            if let LogKind::Lineage(lineage) = append.log.kind {
                self.catalog.lineage(append.log.task, lineage)?;
                pending = self.catalog.pending(append.log.task)?;
            }
        }
        let head = self
            .catalog
            .log()
            .head(append.log)?
            .ok_or_else(|| Error::not_found(format!("there is no {}", append.log)))?;
        Ok(known.insert(LogState {
            head,
            chain: self.catalog.chain(append.origin, append.log),
            last_mark: None,
            snapshot_at: self.catalog.snapshot_at(append.log)?,
            pending,
        }))
    }
}

/// Counts the lineage events of a batch.
fn events_of(batch: &CommitBatch) -> u64 {
    let groups = batch.groups.iter();
    let of_lineages = groups.filter(|group| matches!(group.log.kind, LogKind::Lineage(_)));
    of_lineages.map(|group| u64::from(group.count)).sum()
}

/// Returns the error of a handle whose activation is not the present one.
pub(crate) fn outdated(lineage: LineageId, now: Epoch, handle: Epoch) -> Error {
    let message = format!(
        "lineage {lineage} is active since activation {now}, and this handle is of activation \
         {handle}: take the task again"
    );
    let detail = Detail::Active { lineage, epoch: now };
    Error::new(ErrorKind::Conflict, message).with_detail(detail)
}
