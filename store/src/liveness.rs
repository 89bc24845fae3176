//! What is live: which records retention let go of, though their bytes may be there until the store
//! is compacted. Compaction writes what is live, a rebuild reads it, verification compares it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use milepost_codec::{
    BodyForm, Control, Error, FRAME_PAYLOAD_MAX, Head, LogBatchRef, LogBatches, LogId, LogKind,
    Offset, Result, SECTION_RAW_TARGET, Salts, SectionRef, TaskNo,
};

use crate::index::keys;
use crate::index::keys::KeyKind;
use crate::index::{BaseEntry, LineageEntry, Scan, TaskEntry, walk};

/// What retention let go of.
#[derive(Debug, Default)]
pub struct Liveness {
    /// Tasks that were deleted.
    deleted: HashSet<TaskNo>,
    /// Those of them that were given up before they were there.
    given_up: HashSet<TaskNo>,
    /// Lineages that were dropped.
    dropped: HashSet<LogId>,
    /// Where lineages begin that were trimmed.
    bases: HashMap<LogId, Head>,
    /// Events that were erased.
    erased: HashMap<LogId, BTreeSet<Offset>>,
}

/// What is live of a section.
#[derive(Debug, PartialEq, Eq)]
pub enum LiveSection {
    /// All of it, as it is.
    Whole,
    /// Nothing.
    Nothing,
    /// This: the offset of its first record, and the section's bytes.
    Other(Offset, Vec<u8>),
}

impl Liveness {
    /// Reads it from the index, by a function that scans it.
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
                // What is being imported is not seen, and is not gone.
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

    /// Takes what the control logs say in a frame. All frames have to be shown before it is asked.
    pub fn take_frame(&mut self, payload: &[u8]) -> Result<()> {
        for group in LogBatches::new(payload) {
            let group = group?;
            if group.log.kind == LogKind::Control {
                self.take_group(&group)?;
            }
        }
        Ok(())
    }

    /// The same, of a frame that may be damaged: what can be read of it.
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

    /// Whether retention let go of nothing.
    pub fn is_everything(&self) -> bool {
        self.deleted.is_empty()
            && self.dropped.is_empty()
            && self.bases.is_empty()
            && self.erased.is_empty()
    }

    /// Whether nothing of a log is live.
    pub fn is_gone(&self, log: LogId) -> bool {
        self.deleted.contains(&log.task) || self.dropped.contains(&log)
    }

    /// Whether a task was given up before it was there.
    pub fn is_given_up(&self, task: TaskNo) -> bool {
        self.given_up.contains(&task)
    }

    /// Where a log begins that was trimmed.
    pub fn base(&self, log: LogId) -> Option<Head> {
        self.bases.get(&log).copied()
    }

    /// Whether an event may have no body any more.
    pub fn is_erased(&self, log: LogId, offset: Offset) -> bool {
        self.erased.get(&log).is_some_and(|all| all.contains(&offset))
    }

    /// What is live of a section of a log, whose first record is at `first`.
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

/// Records of an append at most: none is shorter than this many bytes.
const APPEND_RECORDS: u64 = (FRAME_PAYLOAD_MAX / 2 / 8) as u64;

/// The offsets whose salts follow from the seed of a section: those of its append. The section
/// gives the seed away, so it is written with explicit salts once one of them is erased. The end of
/// the append is known where the section is not full; behind a full one other sections may follow.
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
