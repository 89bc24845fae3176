//! Replay of commits at opening: each frame is put back into the tail.
//!
//! Every record is chained again, and the code of a commit computes heads and index entries again.

use std::collections::HashMap;

use milepost_codec::{
    BodyForm, Chain, Control, Error, Head, Header, LogBatchRef, LogBatches, LogId, LogKind, Offset,
    Origin, Result, SectionRef, Sections, Seq, TaskNo,
};

use crate::commit_batch::{CommitBatch, LogBatchMeta};
use crate::index::{
    IndexInput, IndexPut, LogHead, PriorIndex, Tally, TaskEntry, index_record, keys,
};
use crate::liveness::{LiveSection, Liveness};
use crate::local::archive::{Archived, Reader};
use crate::local::chunks::gc_roots::ReferencedChunks;
use crate::local::index::blocks;
use crate::local::markers::applied::UNKNOWN;
use crate::local::recovery::parallel_apply::ParallelApplier;
use crate::local::{Inner, applier};

/// The number of commits between two reports of progress.
pub(crate) const REPORT_INTERVAL: Seq = 256;

/// A position in the order of commits: the last commit, and the check of its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) seq: Seq,
    pub(crate) check: [u8; 16],
}

/// Replays frames in the order of their commits.
pub(crate) struct Replay<'a> {
    shared: &'a Inner,
    /// Makes room in the tail in parallel; without it the replay does so itself.
    applier: Option<ParallelApplier>,
    /// Receives the progress.
    report: &'a dyn Fn(Seq) -> Result<()>,
    origins: HashMap<TaskNo, Origin>,
    heads: HashMap<LogId, LogHead>,
    /// The bases of lineages of imported tasks: the events that trimmed them come later.
    begins: HashMap<LogId, Head>,
    /// The tallies of tasks.
    tallies: HashMap<TaskNo, Tally>,
    /// The last replayed commit, and the check of its frame.
    pub(crate) at: Position,
    /// The number of replayed commits, without those that only mark the close of the store.
    replayed: u64,
    /// The filter for withdrawn content.
    live: &'a Liveness,
    /// Chunks that the records name.
    references: ReferencedChunks,
}

impl<'a> Replay<'a> {
    /// Starts after the commit `at`.
    pub(crate) fn new(
        shared: &'a Inner,
        applier: Option<ParallelApplier>,
        at: Position,
        report: &'a dyn Fn(Seq) -> Result<()>,
        live: &'a Liveness,
    ) -> Self {
        Self {
            shared,
            applier,
            report,
            origins: HashMap::new(),
            heads: HashMap::new(),
            begins: HashMap::new(),
            tallies: HashMap::new(),
            at,
            replayed: 0,
            live,
            references: ReferencedChunks::default(),
        }
    }

    /// Replays the archive from the current position on. `Corrupt`: there is a gap.
    pub(crate) fn archive(&mut self, files: &[Archived]) -> Result<()> {
        let Inner { config, key, .. } = self.shared;
        let applied = self.at.seq;
        for file in files.iter().filter(|file| file.next > applied + 1) {
            let mut reader = Reader::open(&file.path, config.store, key.as_ref())?;
            if file.first == self.at.seq + 1 && !file.is_rewritten() {
                self.follows(file.first, &reader.header.prev)
                    .map_err(|e| e.at(file.path.display()))?;
            }
            while let Some(round) = reader.next_round()? {
                for (seq, payload) in round.commits() {
                    self.empty_until(seq)?;
                    if seq > self.at.seq {
                        self.frame(seq, &payload, UNKNOWN)?;
                    }
                }
            }
            self.empty_until(file.next)?;
            self.at.check = file.check;
        }
        Ok(())
    }

    /// Replays the commits before `seq` that have no log batches.
    fn empty_until(&mut self, seq: Seq) -> Result<()> {
        while self.at.seq + 1 < seq {
            self.frame(self.at.seq + 1, &[], UNKNOWN)?;
        }
        Ok(())
    }

    /// Checks that a frame which names `prev` as its predecessor's check follows the last one.
    fn follows(&self, seq: Seq, prev: &[u8; 16]) -> Result<()> {
        if self.at.check == UNKNOWN || self.at.check == *prev {
            return Ok(());
        }
        let expected = format!("commit {seq}, which follows commit {}", self.at.seq);
        Err(Error::corrupt("journal", expected, "one that follows another"))
    }

    /// Puts one frame into the tail, and makes room in the tail if it is full.
    pub(crate) fn frame(&mut self, seq: Seq, payload: &[u8], check: [u8; 16]) -> Result<()> {
        if seq != self.at.seq + 1 {
            let expected = format!("commit {}", self.at.seq + 1);
            return Err(Error::corrupt("journal", expected, format!("commit {seq}")));
        }
        self.at = Position { seq, check };
        if seq.is_multiple_of(REPORT_INTERVAL) {
            (self.report)(seq)?;
        }
        if payload.is_empty() && self.shared.tail.read().is_empty() {
            // The store was closed here, and nothing before it is left to apply.
            return Ok(());
        }
        let mut batch = CommitBatch::new(seq);
        batch.set_check(check);
        let at = batch.buf.len();
        batch.buf.extend_from_slice(payload);
        for group in LogBatches::new(payload) {
            let group = group.map_err(|e| e.at(format!("commit {seq}")))?;
            let LogBatchRef { log, first, section, span, .. } = group;
            match self.live.part(log, first, &section)? {
                LiveSection::Whole => {
                    let span = at + span.0..at + span.1;
                    self.group(seq, log, first, &section, span, &mut batch)?;
                }
                LiveSection::Other(first, bytes) => {
                    let start = batch.buf.len();
                    batch.buf.extend_from_slice(&bytes);
                    let span = start..batch.buf.len();
                    if let Some(section) = Sections::new(&bytes).next() {
                        self.group(seq, log, first, &section?, span, &mut batch)?;
                    }
                }
                LiveSection::Nothing => {}
            }
        }
        self.replayed += u64::from(!payload.is_empty());
        let mut tail = self.shared.tail.write();
        tail.push(batch);
        let (bytes, full) = (tail.bytes(), self.shared.backlog_bytes);
        drop(tail);
        match &mut self.applier {
            None if bytes > full => applier::round(self.shared, seq, 1),
            None => Ok(()),
            // Not at every commit: more bytes fill blocks better.
            Some(applier) => match bytes > full || (bytes > full / 4 && applier.is_idle()?) {
                true => applier.apply(seq),
                false => Ok(()),
            },
        }
    }

    /// Ends the replay after the last round. Returns the position and the number of replayed
    /// commits.
    pub(crate) fn finish(self) -> Result<(Position, u64)> {
        self.finish_with_references().map(|(at, replayed, _)| (at, replayed))
    }

    /// Ends the replay as `finish` does, and also returns the chunks that the records name.
    pub(crate) fn finish_with_references(mut self) -> Result<(Position, u64, ReferencedChunks)> {
        if let Some(applier) = &mut self.applier {
            applier.wait()?;
        }
        Ok((self.at, self.replayed, self.references))
    }

    fn group(
        &mut self,
        seq: Seq,
        log: LogId,
        first: Offset,
        records: &SectionRef<'_>,
        section: std::ops::Range<usize>,
        batch: &mut CommitBatch,
    ) -> Result<()> {
        let origin = self.origin(log)?;
        let chain = Chain::new(origin, log).keyed(self.shared.key.as_ref());
        let known = match self.heads.get(&log) {
            Some(head) => Some(*head),
            None => self.shared.stored_head(log)?,
        };
        let begins = self.begin(log, first).is_some();
        let before = match known {
            Some(head) if head.head.next == first || !begins => head,
            _ => self.first_head(log, first, &chain, records)?,
        };
        if before.head.next != first {
            return Err(Error::corrupt(
                format!("{log} in commit {seq}"),
                format!("offset {}", before.head.next),
                first,
            ));
        }
        let mut head = before.head;
        for (index, record) in (0_u32..).zip(records.iter()) {
            let record = record.map_err(|e| e.at(format!("commit {seq}")))?;
            let header = record.header()?;
            let payload = (record.form == BodyForm::Inline).then_some(record.payload);
            let indexed = IndexInput {
                log,
                origin,
                offset: head.next,
                before: head.hash,
                seq,
                header: &header,
                payload,
            };
            let mut before =
                PriorIndex { entry: &|key| self.shared.entry(key), tallies: &mut self.tallies };
            index_record(&indexed, &mut before, &mut batch.index)?;
            self.learn(log, &header, payload, &mut batch.index)?;
            self.references.take(log.kind, &header, &record)?;
            let body = record.body_hash(&records.salt(index))?;
            head.hash = chain.next(head.next, &head.hash, record.header, &body);
            head.next += 1;
        }
        let bytes = before.bytes + records.records.len() as u64;
        let after = LogHead { head, bytes, start: before.start };
        self.heads.insert(log, after);
        let (count, prev) = (records.count, before.head.hash);
        batch.groups.push(LogBatchMeta { log, first, count, prev, head: after, section });
        Ok(())
    }

    /// Returns the base of a log, if the log begins at this offset.
    fn begin(&self, log: LogId, first: Offset) -> Option<Head> {
        let known = [self.live.base(log), self.begins.get(&log).copied()];
        let mut known = known.into_iter().flatten();
        known.find(|begin| begin.next == first)
    }

    /// Returns the head before the first record of a log: its root, its base, or the parent's hash
    /// at the fork, which that record names.
    fn first_head(
        &self,
        log: LogId,
        first: Offset,
        chain: &Chain,
        records: &SectionRef<'_>,
    ) -> Result<LogHead> {
        let mut hash = chain.root();
        if let Some(begin) = self.begin(log, first) {
            hash = begin.hash;
        } else if let LogKind::Lineage(_) = log.kind
            && let Some(record) = records.iter().next()
        {
            let record = record?;
            let body = milepost_codec::Body::decode(record.header()?.kind, record.payload)?;
            let milepost_codec::Body::LineageOpened(opened) = body else {
                return Err(Error::corrupt(log.to_string(), "the event that opens it", "another"));
            };
            if let Some(parent) = opened.parent {
                hash = parent.hash;
            }
        }
        Ok(LogHead { head: Head { next: first, hash }, bytes: 0, start: first })
    }

    fn origin(&mut self, log: LogId) -> Result<Origin> {
        if log.task == TaskNo::STORE {
            return Ok(Origin(self.shared.config.store.0));
        }
        if let Some(origin) = self.origins.get(&log.task) {
            return Ok(*origin);
        }
        let entry = self.shared.kv.get(&keys::task(log.task))?.ok_or_else(|| {
            Error::corrupt(log.to_string(), "a task that was opened", "none of this number")
        })?;
        let entry = TaskEntry::decode(&entry)?;
        if entry.is_prepared() {
            self.learn_stored(log, entry.opened)?;
        }
        self.origins.insert(log.task, entry.origin);
        Ok(entry.origin)
    }

    /// Learns from the event that prepared a task in a commit before the first replayed one.
    fn learn_stored(&mut self, log: LogId, at: Offset) -> Result<()> {
        let (kv, key) = (&self.shared.kv, self.shared.key.as_ref());
        let block = blocks::read(kv, key, LogId::STORE, at)?.ok_or_else(|| {
            Error::corrupt(log.to_string(), "the event that prepared the task", "nothing")
        })?;
        let mut offset = block.first;
        for section in block.sections() {
            for record in section?.iter() {
                let record = record?;
                if offset == at && record.form == BodyForm::Inline {
                    let puts = &mut Vec::new();
                    return self.learn(LogId::STORE, &record.header()?, Some(record.payload), puts);
                }
                offset += 1;
            }
        }
        Ok(())
    }

    /// Remembers the origin of a task that a record opens or prepares, and the head of a lineage
    /// that a record trimmed and of which no record is left.
    fn learn(
        &mut self,
        log: LogId,
        header: &Header,
        payload: Option<&[u8]>,
        puts: &mut Vec<IndexPut>,
    ) -> Result<()> {
        if log.kind == LogKind::Control
            && let Some(payload) = payload
        {
            match Control::decode(header.kind, payload)? {
                Control::TaskOpened(opened) => {
                    self.origins.insert(opened.task, opened.origin);
                }
                Control::TaskPrepared(prepared) => {
                    self.origins.insert(prepared.task, prepared.origin);
                    self.begins.extend(
                        prepared.begins.iter().map(|begin| {
                            (LogId::lineage(prepared.task, begin.lineage), begin.head)
                        }),
                    );
                }
                Control::Trimmed(trimmed) => {
                    let log = LogId::lineage(log.task, trimmed.lineage);
                    let base = self.live.base(log).filter(|base| base.next == trimmed.offset);
                    if let (Some(base), None) = (base, self.heads.get(&log))
                        && !self.live.is_gone(log)
                        && self.shared.stored_head(log)?.is_none()
                    {
                        let head = LogHead { head: base, bytes: 0, start: base.next };
                        self.heads.insert(log, head);
                        puts.push((keys::head(log), Some(head.encode())));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
