//! Plans: all that a request adds to a commit, computed before anything changes.
//!
//! Planning reads the log and may fail at every step. A [`Plan`] that exists is whole, and
//! [`Lead::merge`] moves it into the batch and the caches by code that cannot fail. So a refused
//! request leaves memory and disk as they were, and the next append finds the head that the log
//! has.

use std::collections::HashMap;
use std::ops::Range;

use milepost_codec::{
    Body, BodyForm, CheckpointId, ChunkId, Error, ErrorKind, Hash, Head, Header, LogId, LogKind,
    Offset, Result, SECTION_RAW_TARGET, SectionRef, Seed, Seq, TaskNo, begin_group, checkpoint_id,
};
use smallvec::SmallVec;

use super::lead::{Lead, LogState};
use super::request::{Draft, Part, PartBuilder, Request};
use super::ticket::Done;
use crate::index::{Before, ENTRY_MAX, Indexed, LogHead, Tallies, Tally, index_record};
use crate::log::{Batch, GroupMeta, IndexPut};

/// Bytes of a group at most, its records and explicit salts not counted: six numbers of up to nine
/// bytes, a seed and a flag.
const GROUP_OVERHEAD: usize = 6 * 9 + 16 + 1;

/// Everything that one request adds to a commit.
pub(super) struct Plan<'a> {
    steps: SmallVec<[Step<'a>; 2]>,
    index: Vec<IndexPut>,
    tallies: SmallVec<[(TaskNo, Tally); 1]>,
    /// Bytes of the frame that its groups take at most.
    pub(super) frame_bytes: usize,
    pub(super) done: Done,
}

/// Records of one log, chained from its head.
struct Step<'a> {
    part: Source<'a>,
    cuts: SmallVec<[Cut; 4]>,
    /// The state of the log after the records.
    log: LogState,
}

/// Records that a caller encoded, or those of a mark, which are encoded here.
#[expect(
    clippy::large_enum_variant,
    reason = "a mark needs no allocation for its place in a plan"
)]
enum Source<'a> {
    Given(&'a Part),
    Mark(Part),
}

impl Source<'_> {
    fn part(&self) -> &Part {
        match self {
            Self::Given(part) => part,
            Self::Mark(part) => part,
        }
    }
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

/// Tallies as a plan leaves them, over those that are known.
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

impl Plan<'_> {
    /// The state that this plan leaves a log in, where it appends to the log.
    fn log(&self, log: LogId) -> Option<&LogState> {
        let mut steps = self.steps.iter().rev();
        steps
            .find(|step| step.part.part().log == log)
            .map(|step| &step.log)
    }
}

impl Lead {
    /// Plans a request for the commit `seq`. Fills caches of what the log holds and changes nothing
    /// else.
    ///
    /// # Errors
    ///
    /// Those of reading the log; `Corrupt` where a record that needs an index entry cannot be
    /// decoded; `Invalid` where an index entry is over its limit.
    pub(super) fn plan<'a>(&mut self, request: &'a Request, seq: Seq) -> Result<Plan<'a>> {
        let mut plan = Plan {
            steps: SmallVec::new(),
            index: Vec::new(),
            tallies: SmallVec::new(),
            frame_bytes: 0,
            done: Done {
                parts: SmallVec::new(),
                seq,
                repeated: None,
                checkpoint: None,
            },
        };
        for part in &request.parts {
            let log = self.state_before(&plan, part)?;
            let first = log.head.head.next;
            let mut head = self.chain(&mut plan, Source::Given(part), log)?;
            if let Some(draft) = &part.mark {
                let (id, marked) = self.mark(&mut plan, part, draft)?;
                plan.done.checkpoint = Some(id);
                head = marked;
            }
            plan.done.parts.push((first, head));
        }
        Ok(plan)
    }

    /// The state of a part's log before its records.
    fn state_before(&mut self, plan: &Plan<'_>, part: &Part) -> Result<LogState> {
        match (plan.log(part.log), part.open) {
            (Some(log), None) => Ok(log.clone()),
            (Some(_), Some(_)) => Err(Error::invalid(format!("{} is opened twice", part.log))),
            (None, Some(head)) => self.opened(part, head),
            (None, None) => self.known(part).cloned(),
        }
    }

    /// Chains a part's records from the head of its log, cuts them into sections and makes their
    /// index entries. Returns the head after them.
    fn chain<'a>(
        &self,
        plan: &mut Plan<'a>,
        source: Source<'a>,
        mut log: LogState,
    ) -> Result<Head> {
        let part = source.part();
        let mut cuts = SmallVec::new();
        let (mut from, mut prev, mut first) = (0, log.head.head.hash, log.head.head.next);
        for (at, meta) in part.records.iter().enumerate() {
            let before = log.head.head;
            if let Some((_, header)) = part.indexed.iter().find(|(n, _)| *n as usize == at) {
                let payload = meta.payload.map(|span| part.slice(span));
                self.index(plan, part, header, payload, before)?;
            }
            let header = part.slice(meta.header);
            log.head.head = Head {
                next: before.next + 1,
                hash: log
                    .chain
                    .next(before.next, &before.hash, header, &meta.body),
            };
            let start = part.records.get(from).map_or(0, |meta| meta.start);
            let full = (meta.end - start) as usize >= SECTION_RAW_TARGET;
            if full || at + 1 == part.records.len() {
                let bytes = (meta.end - start) as usize;
                let salts = part.adopted.as_ref().map_or(0, |_| (at + 1 - from) * 16);
                plan.frame_bytes += bytes + salts + GROUP_OVERHEAD;
                log.head.bytes += bytes as u64;
                cuts.push(Cut {
                    records: from..at + 1,
                    first,
                    prev,
                    head: log.head,
                });
                (from, prev, first) = (at + 1, log.head.head.hash, log.head.head.next);
            }
        }
        let head = log.head.head;
        plan.steps.push(Step {
            part: source,
            cuts,
            log,
        });
        Ok(head)
    }

    /// Adds the index entries of a record at `before` to a plan.
    fn index(
        &self,
        plan: &mut Plan<'_>,
        part: &Part,
        header: &Header,
        payload: Option<&[u8]>,
        before: Head,
    ) -> Result<()> {
        let log = self.catalog.log();
        let record = Indexed {
            log: part.log,
            origin: part.origin,
            offset: before.next,
            before: before.hash,
            seq: plan.done.seq,
            header,
            payload,
        };
        let mut earlier = Before {
            entry: &|key| log.get(key),
            chunk: &|id| match part.adopted.is_some() {
                // An import does not bring a base that a later event replaces or drops.
                true => log.get_chunk(id),
                false => stored(id, log.get_chunk(id)),
            },
            tallies: &mut PlannedTallies {
                known: &self.tallies,
                changed: &mut plan.tallies,
            },
        };
        let made = plan.index.len();
        index_record(&record, &mut earlier, &mut plan.index)?;
        let made = plan.index.get(made..).unwrap_or_default();
        let sizes = made
            .iter()
            .map(|(key, value)| key.len().max(value.as_ref().map_or(0, Vec::len)));
        match sizes.max() {
            Some(size) if size > ENTRY_MAX => Err(Error::invalid(format!(
                "an index entry of the event takes {size} bytes, the limit is {ENTRY_MAX}: \
                 shorten its label, aliases or names"
            ))),
            _ => Ok(()),
        }
    }

    /// Plans a mark at the head that the plan leaves the part's lineage with. Returns its id and
    /// the head after it.
    fn mark(
        &self,
        plan: &mut Plan<'_>,
        part: &Part,
        draft: &Draft,
    ) -> Result<(CheckpointId, Head)> {
        let (LogKind::Lineage(lineage), Some(log)) = (part.log.kind, plan.log(part.log)) else {
            return Err(Error::invalid("a control log has no checkpoints"));
        };
        let mut log = log.clone();
        let mut body = draft.mark.clone();
        if body.parent.is_none() {
            body.parent = log.last_mark.flatten();
        }
        let head = log.head.head;
        let id = checkpoint_id(part.origin, lineage, head, draft.header.time_us, &body);
        let (kind, payload) = Body::CheckpointMarked(body).encode();
        // A seed of its own: the part's salts are taken by its records.
        let seed = Seed(seed_of_mark(&part.seed.0));
        let mut builder = PartBuilder::new(part.log, part.origin, seed);
        let header = Header {
            kind,
            ..draft.header.clone()
        };
        builder.push(header, BodyForm::Inline, &payload)?;
        log.last_mark = Some(Some(id));
        let head = self.chain(plan, Source::Mark(builder.finish()), log)?;
        Ok((id, head))
    }

    /// Moves a plan into the batch and the caches.
    pub(super) fn merge(&mut self, request: &Request, plan: Plan<'_>, batch: &mut Batch) -> Done {
        for Step { part, cuts, log } in plan.steps {
            let part = part.part();
            for cut in cuts {
                put_section(part, &cut, batch);
            }
            if let Some(key) = &part.key {
                self.keys.insert((part.log.task, key.clone()));
            }
            if part.adopted.is_some() {
                self.unseen.insert(part.log);
            }
            self.logs.insert(part.log, log);
        }
        match batch.index.is_empty() {
            true => batch.index = plan.index,
            false => batch.index.extend(plan.index),
        }
        self.tallies.extend(plan.tallies);
        self.changed.extend(request.changes);
        self.deleted.extend(request.deletes);
        self.begun.extend(request.begins);
        if let Some(activate) = request.activates {
            let active = (activate.epoch, activate.lineage);
            self.active.insert(activate.task, active);
        }
        plan.done
    }
}

/// A chunk that a record of this commit names. It was stored for the record, so it is readable, or
/// the record is refused.
fn stored(id: &ChunkId, content: Result<Option<Vec<u8>>>) -> Result<Option<Vec<u8>>> {
    let refused = |why: String| {
        let why = format!("chunk {id}, which the event names, cannot be read back: {why}");
        Err(Error::new(ErrorKind::Unavailable, why))
    };
    match content {
        Ok(None) => refused("it is not there".to_owned()),
        Err(error) => refused(error.to_string()),
        there => there,
    }
}

/// Appends a cut of a part to the batch as a group.
fn put_section(part: &Part, cut: &Cut, batch: &mut Batch) {
    let span = part
        .records
        .get(cut.records.clone())
        .and_then(|records| Some((records.first()?.start, records.last()?.end)));
    begin_group(&mut batch.buf, part.log, cut.first);
    let start = batch.buf.len();
    let count = cut.records.len() as u32;
    SectionRef {
        seq: batch.seq,
        salts: part.salts(cut.records.clone()),
        count,
        records: part.slice(span.unwrap_or_default()),
    }
    .encode(&mut batch.buf);
    batch.groups.push(GroupMeta {
        log: part.log,
        first: cut.first,
        count,
        prev: cut.prev,
        head: cut.head,
        section: start..batch.buf.len(),
    });
}

/// A seed that follows from another and does not give it away.
fn seed_of_mark(seed: &[u8; 16]) -> [u8; 16] {
    let mut out = [0; 16];
    let hash = blake3::derive_key("milepost 1 seed of a mark", seed);
    out.copy_from_slice(hash.split_at(16).0);
    out
}
