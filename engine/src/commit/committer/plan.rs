//! Plans: everything that a request adds to a commit, computed before anything changes.
//!
//! Planning reads the log and may fail at every step. A [`Plan`] that exists is complete, and
//! [`Leader::merge`] moves it into the batch and the caches by code that cannot fail. So a refused
//! request leaves memory and disk unchanged, and the next append finds the log's actual head.

use std::collections::HashMap;
use std::ops::Range;

use milepost_codec::{
    Body, BodyForm, Chain, CheckpointId, Error, Hash, Head, Header, LogId, LogKind, Offset, Result,
    SECTION_RAW_TARGET, SectionRef, Seed, Seq, TaskNo, begin_log_batch, checkpoint_id,
};
use milepost_store::index::IndexPut;
use milepost_store::index::{
    ENTRY_MAX, IndexInput, LogHead, PriorIndex, Tallies, Tally, index_record,
};
use milepost_store::{CommitBatch, LogBatchMeta};
use smallvec::SmallVec;

use super::leader::{Leader, LogState};
use super::log_append::LogAppend;
use super::request::Request;
use super::results::{CommitResult, Marked};
use crate::history::checkpoint::PendingMark;

/// Maximum bytes of a group without records and explicit salts: six numbers of up to nine bytes, a
/// seed and a flag.
const GROUP_OVERHEAD: usize = 6 * 9 + 16 + 1;

/// Everything that one request adds to a commit. The leader reuses one plan for all requests, so
/// that planning allocates little.
#[derive(Default)]
pub(super) struct Plan {
    steps: Vec<Step>,
    cuts: Vec<Cut>,
    /// Appends of marks, encoded here once their parents are known.
    marks: Vec<LogAppend>,
    index: Vec<IndexPut>,
    tallies: SmallVec<[(TaskNo, Tally); 1]>,
    /// Maximum bytes that the groups take in a frame.
    pub(super) frame_bytes: usize,
}

/// Records of one log, chained from its head.
struct Step {
    log: LogId,
    append: AppendAt,
    /// The range of its cuts in the plan.
    cuts: Range<usize>,
    /// The head after the records.
    head: LogHead,
    /// The mark that this step appends, if any.
    mark: Option<CheckpointId>,
    /// The state of the log before the records, if the append opens it.
    opened: Option<Box<LogState>>,
}

/// The location of an append: in the request, or among the marks of the plan.
#[derive(Clone, Copy)]
enum AppendAt {
    Given(usize),
    Mark(usize),
}

/// Records that become one section.
struct Cut {
    records: Range<usize>,
    first: Offset,
    /// The chain hash before the first record.
    prev: Hash,
    /// The head after the last record.
    head: LogHead,
}

/// A log before the records of an append.
struct Start {
    head: LogHead,
    chain: Chain,
    /// The newest mark in the log or its ancestors.
    last_mark: Option<CheckpointId>,
    opened: Option<Box<LogState>>,
}

impl Plan {
    fn clear(&mut self) {
        self.steps.clear();
        self.cuts.clear();
        self.marks.clear();
        self.index.clear();
        self.tallies.clear();
        self.frame_bytes = 0;
    }

    /// Returns the last step that appends to a log.
    fn last(&self, log: LogId) -> Option<&Step> {
        self.steps.iter().rev().find(|step| step.log == log)
    }
}

/// Tallies after a plan, layered over the cached ones.
struct PlannedTallies<'a> {
    known: &'a HashMap<TaskNo, Tally>,
    changed: &'a mut SmallVec<[(TaskNo, Tally); 1]>,
}

impl Tallies for PlannedTallies<'_> {
    fn tally(&self, task: TaskNo) -> Option<Tally> {
        let changed = self.changed.iter().find(|(of, _)| *of == task);
        changed.map(|(_, tally)| *tally).or(self.known.tally(task))
    }

    fn put(&mut self, task: TaskNo, tally: Tally) {
        match self.changed.iter_mut().find(|(of, _)| *of == task) {
            Some((_, changed)) => *changed = tally,
            None => self.changed.push((task, tally)),
        }
    }
}

impl Leader {
    /// Plans a request for the commit `seq` in the leader's plan. Besides the plan it changes only
    /// caches of stored data.
    ///
    /// # Errors
    ///
    /// - `Corrupt`: a record that needs an index entry cannot be decoded.
    /// - `Invalid`: an index entry exceeds its limit.
    /// - Errors of reading the log.
    pub(super) fn plan(&mut self, request: &Request, seq: Seq) -> Result<CommitResult> {
        let mut plan = std::mem::take(&mut self.plan);
        plan.clear();
        let planned = self.plan_appends(&mut plan, request, seq);
        self.plan = plan;
        planned
    }

    fn plan_appends(
        &mut self,
        plan: &mut Plan,
        request: &Request,
        seq: Seq,
    ) -> Result<CommitResult> {
        let mut done = CommitResult {
            appended: SmallVec::new(),
            seq,
            repeated: None,
            checkpoint: None,
            marked: None,
        };
        for (n, append) in request.appends().iter().enumerate() {
            let mut start = self.start(plan, append)?;
            let first = start.head.head.next;
            let begun = plan.cuts.len();
            start.head = self.chain(plan, append, &start, seq)?;
            plan.steps.push(Step {
                log: append.log,
                append: AppendAt::Given(n),
                cuts: begun..plan.cuts.len(),
                head: start.head,
                mark: None,
                opened: start.opened.take(),
            });
            if let Some(draft) = &append.mark {
                let (marked, head) = self.mark(plan, append, draft, &start, seq)?;
                done.checkpoint = Some(marked.id);
                done.marked = Some(Box::new(marked));
                start.head = head;
            }
            done.appended.push((first, start.head.head));
        }
        Ok(done)
    }

    /// Returns a log before the records of an append: after the earlier steps of the plan, as the
    /// append opens it, or as it is stored.
    fn start(&mut self, plan: &Plan, append: &LogAppend) -> Result<Start> {
        let planned = plan.last(append.log);
        if let Some(head) = append.open {
            if planned.is_some() {
                return Err(Error::invalid(format!("{} is opened twice", append.log)));
            }
            let opened = self.opened(append, head)?;
            return Ok(Start {
                head: opened.head,
                chain: opened.chain,
                last_mark: None,
                opened: Some(Box::new(opened)),
            });
        }
        if let Some(step) = planned {
            return Ok(Start {
                head: step.head,
                chain: self.catalog.chain(append.origin, append.log),
                last_mark: self.planned_mark(plan, append.log),
                opened: None,
            });
        }
        let known = self.known(append)?;
        Ok(Start {
            head: known.head,
            chain: known.chain,
            last_mark: known.last_mark.flatten(),
            opened: None,
        })
    }

    /// Returns the newest mark of a log that a plan appends to.
    fn planned_mark(&self, plan: &Plan, log: LogId) -> Option<CheckpointId> {
        let steps = plan.steps.iter().rev().filter(|step| step.log == log);
        let mark = steps.filter_map(|step| step.mark).next();
        let known = || self.logs.get(&log).and_then(|known| known.last_mark.flatten());
        mark.or_else(known)
    }

    /// Chains an append's records from the head of its log, cuts them into sections and adds their
    /// index entries. Returns the head after them.
    fn chain(
        &self,
        plan: &mut Plan,
        append: &LogAppend,
        start: &Start,
        seq: Seq,
    ) -> Result<LogHead> {
        let mut log = start.head;
        let (mut from, mut prev, mut first) = (0, log.head.hash, log.head.next);
        for (at, meta) in append.records.iter().enumerate() {
            let before = log.head;
            if let Some((_, header)) = append.indexed.iter().find(|(n, _)| *n as usize == at) {
                let payload = meta.payload.map(|span| append.slice(span));
                self.index(plan, append, (header, payload), before, seq)?;
            }
            let header = append.slice(meta.header);
            let hash = (start.chain).next(before.next, &before.hash, header, &meta.body);
            log.head = Head { next: before.next + 1, hash };
            let start = append.records.get(from).map_or(0, |meta| meta.start);
            let full = (meta.end - start) as usize >= SECTION_RAW_TARGET;
            if full || at + 1 == append.records.len() {
                let bytes = (meta.end - start) as usize;
                let salts = append.adopted.as_ref().map_or(0, |_| (at + 1 - from) * 16);
                plan.frame_bytes += bytes + salts + GROUP_OVERHEAD;
                log.bytes += bytes as u64;
                plan.cuts.push(Cut { records: from..at + 1, first, prev, head: log });
                (from, prev, first) = (at + 1, log.head.hash, log.head.next);
            }
        }
        Ok(log)
    }

    /// Adds the index entries of a record to a plan, from its header, its inline payload and the
    /// head before it.
    fn index(
        &self,
        plan: &mut Plan,
        append: &LogAppend,
        (header, payload): (&Header, Option<&[u8]>),
        before: Head,
        seq: Seq,
    ) -> Result<()> {
        let log = self.catalog.log();
        let record = IndexInput {
            log: append.log,
            origin: append.origin,
            offset: before.next,
            before: before.hash,
            seq,
            header,
            payload,
        };
        let mut earlier = PriorIndex {
            entry: &|key| log.get(key),
            tallies: &mut PlannedTallies { known: &self.tallies, changed: &mut plan.tallies },
        };
        let made = plan.index.len();
        index_record(&record, &mut earlier, &mut plan.index)?;
        let made = plan.index.iter().skip(made);
        let sizes = made.map(|(key, value)| key.len().max(value.as_ref().map_or(0, Vec::len)));
        match sizes.max() {
            Some(size) if size > ENTRY_MAX => Err(Error::invalid(format!(
                "an index entry of the event takes {size} bytes, the limit is {ENTRY_MAX}: \
                 shorten its label, aliases or names"
            ))),
            _ => Ok(()),
        }
    }

    /// Plans a mark after the records of an append. Returns the mark and the head after it.
    fn mark(
        &self,
        plan: &mut Plan,
        append: &LogAppend,
        draft: &PendingMark,
        start: &Start,
        seq: Seq,
    ) -> Result<(Marked, LogHead)> {
        let LogKind::Lineage(lineage) = append.log.kind else {
            return Err(Error::invalid("a control log has no checkpoints"));
        };
        let mut body = draft.mark.clone();
        body.parent = body.parent.or(start.last_mark);
        let (head, time_us) = (start.head.head, draft.header.time_us);
        let id = checkpoint_id(append.origin, lineage, head, time_us, &body);
        let marked = Marked { id, before: head, body: body.clone(), time_us };
        let (kind, payload) = Body::CheckpointMarked(body).encode();
        // A separate seed: the append's salts are used by its records.
        let seed = Seed(seed_of_mark(&append.seed.0));
        let mut event = LogAppend::new(append.log, append.origin, seed);
        let header = Header { kind, ..draft.header.clone() };
        event.push(header, BodyForm::Inline, &payload)?;
        let begun = plan.cuts.len();
        let head = self.chain(plan, &event, start, seq)?;
        plan.steps.push(Step {
            log: append.log,
            append: AppendAt::Mark(plan.marks.len()),
            cuts: begun..plan.cuts.len(),
            head,
            mark: Some(id),
            opened: None,
        });
        plan.marks.push(event);
        Ok((marked, head))
    }

    /// Moves the leader's plan into the batch and the caches.
    pub(super) fn merge(&mut self, request: &Request, batch: &mut CommitBatch) {
        let mut plan = std::mem::take(&mut self.plan);
        for step in plan.steps.drain(..) {
            let append = match step.append {
                AppendAt::Given(n) => request.appends().get(n),
                AppendAt::Mark(n) => plan.marks.get(n),
            };
            let Some(append) = append else { continue };
            self.folders.note(append, batch.seq);
            batch.names_chunks |= append.storing.is_some();
            for cut in plan.cuts.get(step.cuts).expect("the plan has the cuts of its steps") {
                put_section(append, cut, batch);
            }
            self.keys.extend(append.keys().map(|key| (append.log.task, key.clone())));
            if append.adopted.is_some() {
                self.unseen.insert(append.log);
            }
            if let Some(opened) = step.opened {
                self.logs.insert(step.log, *opened);
            }
            // Planning has cached a log that this step does not open.
            if let Some(log) = self.logs.get_mut(&step.log) {
                log.head = step.head;
                if let Some(mark) = step.mark {
                    log.last_mark = Some(Some(mark));
                }
            }
        }
        match batch.index.is_empty() {
            true => std::mem::swap(&mut batch.index, &mut plan.index),
            false => batch.index.append(&mut plan.index),
        }
        self.tallies.extend(plan.tallies.drain(..));
        self.plan = plan;
        for effect in request.effects() {
            self.take_effect(*effect);
        }
    }
}

/// Appends a cut of an append to the batch as a group.
fn put_section(append: &LogAppend, cut: &Cut, batch: &mut CommitBatch) {
    let span = append
        .records
        .get(cut.records.clone())
        .and_then(|records| Some((records.first()?.start, records.last()?.end)))
        .expect("a cut has records of its append");
    begin_log_batch(&mut batch.buf, append.log, cut.first);
    let start = batch.buf.len();
    let count = cut.records.len() as u32;
    SectionRef {
        seq: batch.seq,
        salts: append.salts(cut.records.clone()),
        count,
        records: append.slice(span),
    }
    .encode(&mut batch.buf);
    batch.groups.push(LogBatchMeta {
        log: append.log,
        first: cut.first,
        count,
        prev: cut.prev,
        head: cut.head,
        section: start..batch.buf.len(),
    });
}

/// Derives the seed of a mark from the append's seed, one-way.
fn seed_of_mark(seed: &[u8; 16]) -> [u8; 16] {
    let mut out = [0; 16];
    let hash = blake3::derive_key("milepost 1 seed of a mark", seed);
    out.copy_from_slice(hash.split_at(16).0);
    out
}
