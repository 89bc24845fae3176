//! The lead: admits requests, assigns offsets, chains, and commits one batch.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use milepost_codec::{
    Body, BodyForm, Chain, CheckpointId, Detail, Epoch, Error, ErrorKind, Head, LineageId, LogId,
    LogKind, Offset, RestoreId, Result, SECTION_RAW_TARGET, SectionRef, Seq, TaskNo, begin_group,
    checkpoint_id,
};

use super::request::{Draft, Part, PartBuilder, Request};
use super::ticket::{Done, Results, Slot};
use smallvec::SmallVec;

use crate::catalog::Catalog;
use crate::index::{Before, Indexed, LogHead, PendingEntry, Tally, index_record};
use crate::log::{Batch, GroupMeta};
use crate::metrics::Meters;

/// A snapshot of a lineage is due at an offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    pub(crate) log: LogId,
    pub(crate) at: Offset,
    /// The lineage's own record bytes before the offset.
    pub(crate) bytes: u64,
}

/// What the snapshotter is asked to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Errand {
    Snapshot(Due),
    Stop,
}

/// What the lead knows of a log it has written to.
struct Known {
    head: LogHead,
    chain: Chain,
    /// The newest mark of the lineage or its ancestors, once it was asked for.
    last_mark: Option<Option<CheckpointId>>,
    /// Record bytes at which a snapshot is due.
    snapshot_at: u64,
    /// The restore that holds up its task.
    pending: Option<PendingEntry>,
}

/// A cache larger than this is begun anew; all of it can be read again.
const KNOWN_MAX: usize = 1 << 16;

/// For how many requests room is kept.
const ROOM_MAX: usize = 256;

/// One at a time leads.
pub(crate) struct Lead {
    catalog: Catalog,
    seq: Seq,
    logs: HashMap<LogId, Known>,
    active: HashMap<TaskNo, (Epoch, LineageId)>,
    /// What is counted of tasks.
    tallies: HashMap<TaskNo, Tally>,
    /// Tasks that were deleted in the batch that is being made: the index does not say so yet.
    deleted: HashSet<TaskNo>,
    /// Tasks of which a restore begins in the batch that is being made.
    begun: HashSet<TaskNo>,
    /// Tasks of which this batch changes what is known: it is read again once the batch is committed, and
    /// not before, since the index does not have the batch yet.
    changed: Vec<TaskNo>,
    /// Logs of tasks that nobody sees yet: nobody is told that they have grown in this batch.
    unseen: HashSet<LogId>,
    /// Room for the requests of a batch.
    taken: VecDeque<(Request, Arc<Slot>)>,
    /// Keys in the batch that is being made: they are not in the index yet.
    keys: HashSet<(TaskNo, String)>,
    meters: Arc<Meters>,
}

/// A log that has grown, by which offsets, and whether a snapshot of it is due.
pub(super) type Grown = (LogId, Range<Offset>, Option<Due>);
pub(super) type AllGrown = SmallVec<[Grown; 1]>;

/// What is left of a request while its batch is committed.
type Admitted = (Arc<Slot>, Done);

enum Admission {
    /// It is in the batch.
    In(Done),
    /// It was appended before.
    Repeated(Done),
    /// It has to wait for the next batch.
    Later,
}

impl Lead {
    pub(crate) fn new(catalog: Catalog, meters: Arc<Meters>) -> Self {
        let seq = catalog.log().seq();
        Self {
            catalog,
            seq,
            logs: HashMap::new(),
            active: HashMap::new(),
            tallies: HashMap::new(),
            deleted: HashSet::new(),
            begun: HashSet::new(),
            changed: Vec::new(),
            unseen: HashSet::new(),
            taken: VecDeque::new(),
            keys: HashSet::new(),
            meters,
        }
    }

    /// Commits requests from the front of `queue`, at least one, and adds their results.
    /// Gives the logs that have grown, by which offsets, and which of them want a snapshot.
    pub(crate) fn commit(
        &mut self,
        queue: &mut VecDeque<(Request, Arc<Slot>)>,
        results: &mut Results,
    ) -> AllGrown {
        if self.logs.len() > KNOWN_MAX {
            self.forget();
        }
        self.keys.clear();
        self.deleted.clear();
        self.begun.clear();
        self.changed.clear();
        self.unseen.clear();
        let bytes: usize = queue.iter().map(|(request, _)| request.bytes()).sum();
        // Sections add less than a sixty-fourth. Room that is short by a little would be doubled, and
        // the buffer stays in the tail.
        let mut batch = Batch::with_room(self.seq + 1, bytes + bytes / 64 + 1024);
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
                let grown = grown
                    .map(|(log, offsets)| (log, offsets, self.due(log)))
                    .collect();
                for task in std::mem::take(&mut self.changed) {
                    // Marks of it may be gone, and the next is not their child; or all of it is.
                    self.logs.retain(|log, _| log.task != task);
                }
                grown
            }
            Err(error) => {
                // What is cached counts the batch as there, which is unknown now.
                self.forget();
                self.meters.append_errors.add(admitted.len() as u64);
                for (slot, _) in admitted {
                    results.push((slot, Err(unknown(&error))));
                }
                AllGrown::new()
            }
        }
    }

    /// Room for the requests of a batch, without any.
    pub(crate) fn room(&mut self) -> VecDeque<(Request, Arc<Slot>)> {
        std::mem::take(&mut self.taken)
    }

    /// Keeps it for the next one, unless it is large.
    pub(crate) fn keep_room(&mut self, taken: VecDeque<(Request, Arc<Slot>)>) {
        if taken.is_empty() && taken.capacity() <= ROOM_MAX {
            self.taken = taken;
        }
    }

    /// Lets go of all that can be read again.
    pub(crate) fn forget(&mut self) {
        self.logs.clear();
        self.active.clear();
        self.tallies.clear();
    }

    /// Counts a commit.
    fn count(&self, admitted: &[Admitted], events: u64) {
        let appends = admitted.len() as u64;
        let marked = admitted
            .iter()
            .filter(|(_, done)| done.checkpoint.is_some());
        let meters = &self.meters;
        meters.commits.add(1);
        meters.appends.add(appends);
        meters.appends_per_commit.record(appends);
        meters.events.add(events);
        meters.events_per_commit.record(events);
        meters.checkpoints.add(marked.count() as u64);
    }

    fn due(&mut self, log: LogId) -> Option<Due> {
        let known = self.logs.get_mut(&log)?;
        if !matches!(log.kind, LogKind::Lineage(_)) || known.head.bytes < known.snapshot_at {
            return None;
        }
        // The snapshot's own size is known when it is made; until then the next is not due.
        known.snapshot_at = known.head.bytes + self.catalog.snapshot_distance(log);
        Some(Due {
            log,
            at: known.head.head.next,
            bytes: known.head.bytes,
        })
    }

    /// Checks all parts of a request, then chains them into the batch.
    fn admit(&mut self, request: &Request, batch: &mut Batch) -> Result<Admission> {
        for part in &request.parts {
            if let Some(key) = &part.key
                && self.keys.contains(&(part.log.task, key.clone()))
            {
                return Ok(Admission::Later);
            }
            if let Some(done) = self.check(part, request.settles)? {
                return Ok(Admission::Repeated(done));
            }
        }
        let mut done = Done {
            parts: SmallVec::new(),
            seq: batch.seq,
            repeated: None,
            checkpoint: None,
        };
        for part in &request.parts {
            if let Some(key) = &part.key {
                self.keys.insert((part.log.task, key.clone()));
            }
            if part.adopted.is_some() {
                self.unseen.insert(part.log);
            }
            let first = self.known(part)?.head.head.next;
            self.chain(part, batch)?;
            if let Some(draft) = &part.mark {
                done.checkpoint = Some(self.mark(part, draft, batch)?);
            }
            let head = self.known(part)?.head.head;
            done.parts.push((first, head));
        }
        self.changed.extend(request.changes);
        self.deleted.extend(request.deletes);
        self.begun.extend(request.begins);
        if let Some(activate) = request.activates {
            self.active
                .insert(activate.task, (activate.epoch, activate.lineage));
        }
        Ok(Admission::In(done))
    }

    /// Everything that can be refused is refused here, before anything is changed.
    fn check(&mut self, part: &Part, settles: Option<RestoreId>) -> Result<Option<Done>> {
        if self.deleted.contains(&part.log.task) {
            let task = part.log.task.0;
            return Err(Error::not_found(format!("there is no task #{task}")));
        }
        if part.open.is_some() {
            let there =
                self.logs.contains_key(&part.log) || self.catalog.log().head(part.log)?.is_some();
            if there {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!("{} is there", part.log),
                ));
            }
            let pending = match part.log.kind {
                // Restores that come from elsewhere have ended.
                LogKind::Lineage(_) if part.adopted.is_none() => {
                    self.catalog.pending(part.log.task)?
                }
                _ => None,
            };
            return self.held_up(part, pending, settles).map(|()| None);
        }
        let pending = self.known(part)?.pending;
        self.held_up(part, pending, settles)?;
        if let Some(epoch) = part.epoch {
            let (now, lineage) = self.active(part.log.task)?;
            if now != epoch {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "the task goes on with lineage {lineage} since activation {now}, this \
                         handle is of activation {epoch}: take the task again"
                    ),
                )
                .with_detail(Detail::Active {
                    lineage,
                    epoch: now,
                }));
            }
        }
        if let (Some(key), LogKind::Lineage(lineage)) = (&part.key, part.log.kind)
            && let Some(seen) = self.catalog.seen(part, lineage, key)?
        {
            return Ok(Some(seen));
        }
        let head = self.known(part)?.head.head;
        if let (Some(draft), LogKind::Lineage(lineage)) = (&part.mark, part.log.kind)
            && draft.mark.parent.is_none()
            && self.known(part)?.last_mark.is_none()
        {
            // Read here, where it may fail: behind the part's records a mark must not.
            let last = self.catalog.last_mark(part.log.task, lineage)?;
            self.known(part)?.last_mark = Some(last);
        }
        match part.expect {
            Some(expect) if expect != head.next => Err(Error::new(
                ErrorKind::Conflict,
                format!("expected the head at {expect}, it is at {}", head.next),
            )
            .with_detail(Detail::Head(head))),
            _ => Ok(None),
        }
    }

    /// While a restore changes what is outside of the log, nothing is appended to the task's lineages but
    /// what ends it.
    fn held_up(
        &self,
        part: &Part,
        pending: Option<PendingEntry>,
        settles: Option<RestoreId>,
    ) -> Result<()> {
        match pending.filter(|entry| Some(entry.restore) != settles) {
            Some(entry) => Err(self.catalog.held_up_by(part.log.task, &entry)),
            None if self.begun.contains(&part.log.task)
                && matches!(part.log.kind, LogKind::Lineage(_)) =>
            {
                Err(Error::new(
                    ErrorKind::Unavailable,
                    "a restore of the task has just begun: wait for its end",
                ))
            }
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

    fn known(&mut self, part: &Part) -> Result<&mut Known> {
        if !self.logs.contains_key(&part.log) {
            let chain = self.catalog.chain(part.origin, part.log);
            let pending = match (part.log.kind, part.open) {
                (LogKind::Lineage(_), None) if part.adopted.is_none() => {
                    self.catalog.pending(part.log.task)?
                }
                // What opens one was looked at, and what it says then ends with this request.
                _ => None,
            };
            let known = match part.open {
                Some(head) => {
                    let head = LogHead {
                        head,
                        bytes: 0,
                        start: head.next,
                    };
                    let snapshot_at = self.catalog.snapshot_distance(part.log);
                    Known {
                        head,
                        chain,
                        last_mark: None,
                        snapshot_at,
                        pending,
                    }
                }
                None => {
                    if part.log.task != TaskNo::STORE && part.adopted.is_none() {
                        // A deleted one does not come back, nor does a lineage that was dropped.
                        self.catalog.task(part.log.task)?;
                        if let LogKind::Lineage(lineage) = part.log.kind {
                            self.catalog.lineage(part.log.task, lineage)?;
                        }
                    }
                    let head = self
                        .catalog
                        .log()
                        .head(part.log)?
                        .ok_or_else(|| Error::not_found(format!("there is no {}", part.log)))?;
                    let snapshot_at = self.catalog.snapshot_at(part.log)?;
                    Known {
                        head,
                        chain,
                        last_mark: None,
                        snapshot_at,
                        pending,
                    }
                }
            };
            self.logs.insert(part.log, known);
        }
        self.logs
            .get_mut(&part.log)
            .ok_or_else(|| Error::invalid("no such log"))
    }

    /// Chains a part's records into sections of the batch.
    fn chain(&mut self, part: &Part, batch: &mut Batch) -> Result<()> {
        let mut tallies = std::mem::take(&mut self.tallies);
        let chained = self.chain_into(part, batch, &mut tallies);
        self.tallies = tallies;
        chained
    }

    fn chain_into(
        &mut self,
        part: &Part,
        batch: &mut Batch,
        tallies: &mut HashMap<TaskNo, Tally>,
    ) -> Result<()> {
        let seq = batch.seq;
        let log = Arc::clone(self.catalog.log());
        let known = self.known(part)?;
        let (mut from, mut prev, mut first) = (0, known.head.head.hash, known.head.head.next);
        for (at, meta) in part.records.iter().enumerate() {
            let Head { next, hash } = known.head.head;
            let next_hash = known
                .chain
                .next(next, &hash, part.slice(meta.header), &meta.body);
            if let Some((_, header)) = part.indexed.iter().find(|(n, _)| *n as usize == at) {
                let payload = meta.payload.map(|span| part.slice(span));
                let indexed = Indexed {
                    log: part.log,
                    origin: part.origin,
                    offset: next,
                    before: hash,
                    seq,
                    header,
                    payload,
                };
                let mut before = Before {
                    entry: &|key| log.get(key),
                    chunk: &|id| log.get_chunk(id),
                    tallies,
                };
                index_record(&indexed, &mut before, &mut batch.index)?;
            }
            known.head.head = Head {
                next: next + 1,
                hash: next_hash,
            };
            let start = part.records.get(from).map_or(0, |meta| meta.start);
            let full = (meta.end - start) as usize >= SECTION_RAW_TARGET;
            if full || at + 1 == part.records.len() {
                let records = part.slice((start, meta.end));
                known.head.bytes += records.len() as u64;
                begin_group(&mut batch.buf, part.log, first);
                let section_start = batch.buf.len();
                let salts = part.salts(from..at + 1);
                let count = (at + 1 - from) as u32;
                SectionRef {
                    seq,
                    salts,
                    count,
                    records,
                }
                .encode(&mut batch.buf);
                let section = section_start..batch.buf.len();
                let (log, head) = (part.log, known.head);
                batch.groups.push(GroupMeta {
                    log,
                    first,
                    count,
                    prev,
                    head,
                    section,
                });
                (from, prev, first) = (at + 1, known.head.head.hash, known.head.head.next);
            }
        }
        Ok(())
    }

    /// Makes a mark at the head the lineage has now.
    fn mark(&mut self, part: &Part, draft: &Draft, batch: &mut Batch) -> Result<CheckpointId> {
        let LogKind::Lineage(lineage) = part.log.kind else {
            return Err(Error::invalid("a control log has no checkpoints"));
        };
        let mut body = draft.mark.clone();
        if body.parent.is_none() {
            body.parent = self.known(part)?.last_mark.flatten();
        }
        let head = self.known(part)?.head.head;
        let id = checkpoint_id(part.origin, lineage, head, draft.header.time_us, &body);
        let (kind, payload) = Body::CheckpointMarked(body).encode();
        // A seed of its own: the part's salts are taken by its records.
        let seed = milepost_codec::Seed(blake3_seed(&part.seed.0));
        let mut builder = PartBuilder::new(part.log, part.origin, seed);
        let header = milepost_codec::Header {
            kind,
            ..draft.header.clone()
        };
        builder.push(header.clone(), BodyForm::Inline, &payload)?;
        let mut marked = builder.finish();
        marked.indexed = vec![(0, header)];
        self.chain(&marked, batch)?;
        self.known(part)?.last_mark = Some(Some(id));
        Ok(id)
    }
}

/// How many events of lineages a batch has.
fn events_of(batch: &Batch) -> u64 {
    let groups = batch.groups.iter();
    let of_lineages = groups.filter(|group| matches!(group.log.kind, LogKind::Lineage(_)));
    of_lineages.map(|group| u64::from(group.count)).sum()
}

/// A seed that follows from another and does not give it away.
fn blake3_seed(seed: &[u8; 16]) -> [u8; 16] {
    let mut out = [0; 16];
    let hash = blake3::derive_key("milepost 1 seed of a mark", seed);
    out.copy_from_slice(hash.split_at(16).0);
    out
}

fn unknown(error: &Error) -> Error {
    Error::new(
        ErrorKind::Poisoned,
        format!("the write failed, whether the events are there shows after a reopen: {error}"),
    )
}
