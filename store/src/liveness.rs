//! Liveness of records: retention may withdraw records whose bytes stay until the store is
//! compacted. Compaction writes live records, a rebuild reads them, verification compares them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use milepost_codec::{
    BodyForm, Control, Error, FRAME_PAYLOAD_MAX, Head, LogBatchRef, LogBatches, LogId, LogKind,
    Offset, Result, SECTION_RAW_TARGET, Salts, SectionRef, TaskNo,
};

use crate::index::keys;
use crate::index::keys::KeyKind;
use crate::index::{BaseEntry, LineageEntry, Scan, TaskEntry, walk};

/// Content that retention withdrew.
#[derive(Debug, Default)]
pub struct Liveness {
    /// Deleted tasks.
    deleted: HashSet<TaskNo>,
    /// Deleted tasks whose import was cancelled.
    given_up: HashSet<TaskNo>,
    /// Dropped lineages.
    dropped: HashSet<LogId>,
    /// The bases of trimmed lineages.
    bases: HashMap<LogId, Head>,
    /// Erased events.
    erased: HashMap<LogId, BTreeSet<Offset>>,
}

/// The live part of a section.
#[derive(Debug, PartialEq, Eq)]
pub enum LiveSection {
    /// The whole section, unchanged.
    Whole,
    /// Nothing.
    Nothing,
    /// The rest: the offset of its first record, and the new section's bytes.
    Other(Offset, Vec<u8>),
}

impl Liveness {
    /// Reads the liveness from the entries of the index.
    pub fn scanned(scan: &Scan<'_>) -> Result<Self> {
        let mut live = Self::default();
        for kind in [KeyKind::Task, KeyKind::Lineage, KeyKind::Base, KeyKind::Erased] {
            let take = &mut |key: &[u8], value: &[u8]| live.take_entry(kind, key, value);
            walk(&keys::all(kind), scan, take)?;
        }
        Ok(live)
    }

    fn take_entry(&mut self, kind: KeyKind, key: &[u8], value: &[u8]) -> Result<()> {
        let log = keys::log_of(key);
        match kind {
            KeyKind::Task => {
                let entry = TaskEntry::decode(value)?;
                // A task that is being imported is invisible, but not deleted.
                let task = TaskNo(keys::first_u64(key));
                if entry.is_given_up() {
                    self.given_up.insert(task);
                }
                if entry.deleted_us.is_some() && !entry.is_prepared() {
                    self.delete(task, entry.opened);
                }
            }
            KeyKind::Lineage if LineageEntry::decode(value)?.dropped => {
                self.dropped.insert(log);
            }
            KeyKind::Base => {
                self.bases.insert(log, BaseEntry::decode(value)?.head);
            }
            KeyKind::Erased => {
                let offset = keys::tail_u64(key);
                self.erased.entry(log).or_default().insert(offset);
            }
            _ => {}
        }
        Ok(())
    }

    fn delete(&mut self, task: TaskNo, opened: Offset) {
        self.deleted.insert(task);
        self.erased.entry(LogId::STORE).or_default().insert(opened);
    }

    /// Takes the control records of a frame. Answers are valid once all frames were taken.
    pub fn take_frame(&mut self, payload: &[u8]) -> Result<()> {
        for group in LogBatches::new(payload) {
            let group = group?;
            if group.log.kind == LogKind::Control {
                self.take_group(&group)?;
            }
        }
        Ok(())
    }

    /// Takes the control records of a frame that may be damaged, as far as they can be read.
    pub fn take_readable(&mut self, payload: &[u8]) {
        for group in LogBatches::new(payload).map_while(Result::ok) {
            if group.log.kind == LogKind::Control {
                let _ = self.take_group(&group);
            }
        }
    }

    fn take_group(&mut self, group: &LogBatchRef<'_>) -> Result<()> {
        let task = group.log.task;
        for record in group.section.iter() {
            let record = record?;
            let header = record.header()?;
            if record.form != BodyForm::Inline {
                continue;
            }
            match Control::decode(header.kind, record.payload)? {
                Control::Deleted(deleted) => self.delete(deleted.task, deleted.opened),
                Control::Dropped(dropped) => {
                    self.dropped.insert(LogId::lineage(task, dropped.lineage));
                }
                Control::Trimmed(trimmed) => {
                    let head = Head { next: trimmed.offset, hash: trimmed.hash };
                    self.bases.insert(LogId::lineage(task, trimmed.lineage), head);
                }
                Control::Erased(erased) => {
                    let log = LogId::lineage(task, erased.lineage);
                    self.erased.entry(log).or_default().insert(erased.offset);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns `true` if retention withdrew nothing.
    pub fn is_everything(&self) -> bool {
        self.deleted.is_empty()
            && self.dropped.is_empty()
            && self.bases.is_empty()
            && self.erased.is_empty()
    }

    /// Returns `true` if nothing of a log is live.
    pub fn is_gone(&self, log: LogId) -> bool {
        self.deleted.contains(&log.task) || self.dropped.contains(&log)
    }

    /// Returns `true` if the import of a task was cancelled.
    pub fn is_given_up(&self, task: TaskNo) -> bool {
        self.given_up.contains(&task)
    }

    /// Returns the base of a trimmed log.
    pub fn base(&self, log: LogId) -> Option<Head> {
        self.bases.get(&log).copied()
    }

    /// Returns `true` if the body of an event may be missing.
    pub fn is_erased(&self, log: LogId, offset: Offset) -> bool {
        self.erased.get(&log).is_some_and(|all| all.contains(&offset))
    }

    /// Returns the live part of a section whose first record is at `first`.
    pub fn part(&self, log: LogId, first: Offset, section: &SectionRef<'_>) -> Result<LiveSection> {
        if self.is_gone(log) {
            return Ok(LiveSection::Nothing);
        }
        let end = first + u64::from(section.count);
        let begin = self.base(log).map_or(0, |base| base.next);
        if end <= begin && begin > 0 {
            return Ok(LiveSection::Nothing);
        }
        let from = first.max(begin);
        let erases = self.erased.get(&log);
        let any = |range| erases.is_some_and(|all| all.range(range).next().is_some());
        let guessable = seeded_with(first, section).is_some_and(any);
        if from == first && !any(from..end) && !guessable {
            return Ok(LiveSection::Whole);
        }
        let skip = u32::try_from(from - first)
            .map_err(|_| Error::corrupt(log.to_string(), "a section", "a longer one"))?;
        let erased = |n: u32| erases.is_some_and(|all| all.contains(&(from + u64::from(n))));
        let mut out = Vec::new();
        section.skip(skip)?.encode_erased(&erased, &mut out)?;
        Ok(LiveSection::Other(from, out))
    }
}

/// The maximum number of records of an append: none is shorter than eight bytes.
const APPEND_RECORDS: u64 = (FRAME_PAYLOAD_MAX / 2 / 8) as u64;

/// Returns the offsets whose salts follow from the seed of a section: the offsets of its append. A
/// section reveals its seed, so it is written with explicit salts once one of these events is
/// erased. The append ends with a section that is not full; other sections may follow a full one.
fn seeded_with(first: Offset, section: &SectionRef<'_>) -> Option<Range<Offset>> {
    let Salts::Seeded(_, index) = section.salts else {
        return None;
    };
    let begin = first.saturating_sub(index);
    let end = match section.records.len() >= SECTION_RAW_TARGET {
        true => begin.saturating_add(APPEND_RECORDS),
        false => first + u64::from(section.count),
    };
    Some(begin..end)
}
