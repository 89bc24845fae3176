//! Merge of damaged copies: keeps the log batches that still fit their logs.
//!
//! A lineage ends at its first missing event: its later events, and lineages that fork after it,
//! can no longer be chained. They are saved as JSON, one event on a line. Control logs are facts
//! about tasks and lineages to which nothing else is chained, so their remaining records close up.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use milepost_codec::{
    Body, BodyForm, Control, LineageId, LogBatchRef, LogBatches, LogId, LogKind, Offset, RecordRef,
    Result, Salts, SectionRef, Sections, Seq, TaskNo, begin_log_batch, encode_record,
};
use serde_json::json;

use crate::files;
use crate::liveness::{LiveSection, Liveness};

/// Events of a log that were lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRange {
    /// The log.
    pub log: LogId,
    /// The task's name, if known.
    pub name: Option<String>,
    /// The first lost offset.
    pub from: Offset,
    /// The offset after the last event that was seen.
    pub to: Offset,
    /// The number of these events that were saved as orphans in `damaged/`.
    pub kept: u64,
}

/// The state of a log during the merge.
#[derive(Debug, Default, Clone, Copy)]
struct Survivors {
    /// The next offset, by the numbering before the damage.
    next: Offset,
    /// The next offset now. It differs in control logs with losses.
    now: Offset,
    /// Set once nothing more can follow.
    ended: bool,
}

pub(crate) struct Merge {
    live: Liveness,
    names: HashMap<TaskNo, String>,
    logs: HashMap<LogId, Survivors>,
    lost: BTreeMap<(u64, u32), LostRange>,
    path: PathBuf,
    orphans: Option<BufWriter<File>>,
}

impl Merge {
    pub(crate) fn new(orphans: &Path, live: Liveness) -> Result<Self> {
        Ok(Self {
            live,
            names: HashMap::new(),
            logs: HashMap::new(),
            lost: BTreeMap::new(),
            path: orphans.to_owned(),
            orphans: None,
        })
    }

    /// Appends the log batches of a commit that fit.
    pub(crate) fn commit(&mut self, seq: Seq, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
        // A log batch that cannot be decoded ends the payload: the others passed the same check.
        let groups: Vec<LogBatchRef<'_>> = LogBatches::new(payload).map_while(Result::ok).collect();
        let opened: HashSet<LogId> =
            groups.iter().filter(|group| self.opens(group)).map(|group| group.log).collect();
        for group in &groups {
            if group.log.kind == LogKind::Control {
                if !self.live.is_gone(group.log) {
                    self.control(group, &opened, out)?;
                }
                continue;
            }
            match self.live.part(group.log, group.first, &group.section)? {
                LiveSection::Nothing => {}
                LiveSection::Whole => self.lineage(seq, group, group.bytes, &opened, out)?,
                LiveSection::Other(first, bytes) => {
                    if let Some(section) = Sections::new(&bytes).next() {
                        let group = LogBatchRef { first, section: section?, ..*group };
                        self.lineage(seq, &group, &bytes, &opened, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns `true` if a log batch opens a lineage at a point that still exists.
    fn opens(&self, group: &LogBatchRef<'_>) -> bool {
        if self.logs.contains_key(&group.log) || matches!(group.log.kind, LogKind::Control) {
            return false;
        }
        let Some(Ok(record)) = group.section.iter().next() else {
            return false;
        };
        let body = record.header().and_then(|h| Body::decode(h.kind, record.payload));
        let Ok(Body::LineageOpened(opened)) = body else {
            return false;
        };
        match opened.parent {
            None => group.first == 0,
            Some(parent) => {
                let log = LogId::lineage(group.log.task, parent.lineage);
                let survivors = self.logs.get(&log);
                parent.offset == group.first
                    && survivors.is_some_and(|survivors| survivors.next >= parent.offset)
            }
        }
    }

    fn lineage(
        &mut self,
        seq: Seq,
        group: &LogBatchRef<'_>,
        section: &[u8],
        opened: &HashSet<LogId>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let is_named = self.names.contains_key(&group.log.task);
        let survivors = match self.logs.get(&group.log) {
            Some(survivors) => *survivors,
            None => {
                // A trimmed lineage begins at its base.
                let base = self.live.base(group.log);
                let based = base.is_some_and(|base| base.next == group.first);
                Survivors {
                    next: group.first,
                    now: group.first,
                    ended: !(based || opened.contains(&group.log)) || !is_named,
                }
            }
        };
        let end = group.first + u64::from(group.section.count);
        if survivors.ended || group.first != survivors.next {
            if end > survivors.next || survivors.ended {
                self.lose(group.log, survivors.next.min(group.first), end);
                self.write_down(seq, group)?;
                let ended = Survivors { ended: true, ..survivors };
                self.logs.insert(group.log, ended);
            }
            return Ok(());
        }
        begin_log_batch(out, group.log, group.first);
        out.extend_from_slice(section);
        let survivors = Survivors { next: end, now: end, ended: false };
        self.logs.insert(group.log, survivors);
        Ok(())
    }

    fn control(
        &mut self,
        group: &LogBatchRef<'_>,
        opened: &HashSet<LogId>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let task = group.log.task;
        // Nothing precedes the first offset of a log that is seen for the first time.
        let mut survivors = *self.logs.entry(group.log).or_default();
        if group.first > survivors.next {
            self.lose(group.log, survivors.next, group.first);
        }
        let skip = survivors.next.saturating_sub(group.first);
        let (mut records, mut salts, mut count) = (Vec::new(), Vec::new(), 0);
        for (index, record) in (0_u32..).zip(group.section.iter()) {
            let Ok(record) = record else { break };
            let is_duplicate = u64::from(index) < skip;
            if is_duplicate || !self.fits(task, &record, opened) {
                continue;
            }
            encode_record(&mut records, record.header, record.form, record.payload);
            salts.extend_from_slice(&group.section.salt(index));
            count += 1;
        }
        survivors.next = survivors.next.max(group.first + u64::from(group.section.count));
        if count > 0 {
            begin_log_batch(out, group.log, survivors.now);
            let all = count == group.section.count;
            let salts = if all { group.section.salts } else { Salts::Explicit(&salts) };
            let section = SectionRef { seq: group.section.seq, salts, count, records: &records };
            section.encode(out);
            survivors.now += u64::from(count);
        }
        self.logs.insert(group.log, survivors);
        Ok(())
    }

    /// Returns `true` unless a control event names a lineage that is lost.
    fn fits(&mut self, task: TaskNo, record: &RecordRef<'_>, opened: &HashSet<LogId>) -> bool {
        let decoded = match record.form {
            BodyForm::Inline => {
                record.header().and_then(|header| Control::decode(header.kind, record.payload)).ok()
            }
            _ => None,
        };
        let exists = |this: &Self, lineage: LineageId| {
            let log = LogId::lineage(task, lineage);
            // The records of a trimmed lineage come later; a dropped lineage has none.
            let retained = this.live.is_gone(log) || this.live.base(log).is_some();
            retained || opened.contains(&log) || this.logs.contains_key(&log)
        };
        match decoded {
            Some(Control::TaskOpened(task)) => {
                self.names.insert(task.task, task.name);
                true
            }
            Some(Control::LineageRegistered(registered)) => exists(self, registered.lineage),
            Some(Control::Activated(activated)) => exists(self, activated.lineage),
            _ => true,
        }
    }

    fn lose(&mut self, log: LogId, from: Offset, to: Offset) {
        let name = self.names.get(&log.task).cloned();
        let lost = self.lost.entry((log.task.0, log.kind.number())).or_insert(LostRange {
            log,
            name,
            from,
            to,
            kept: 0,
        });
        lost.from = lost.from.min(from);
        lost.to = lost.to.max(to);
    }

    /// Saves events that no longer fit anywhere.
    fn write_down(&mut self, seq: Seq, group: &LogBatchRef<'_>) -> Result<()> {
        if self.orphans.is_none() {
            let file = files::create_new(&self.path)?;
            self.orphans = Some(BufWriter::new(file));
        }
        let Some(out) = &mut self.orphans else {
            return Ok(());
        };
        let mut kept = 0;
        for (offset, record) in (group.first..).zip(group.section.iter()) {
            let Ok(record) = record else { break };
            let Ok(header) = record.header() else {
                continue;
            };
            // A body in chunks is in the packs; the list of its chunks is saved.
            let body = match record.form {
                BodyForm::Inline => Body::decode(header.kind, record.payload).ok(),
                _ => None,
            };
            let event = body.and_then(|body| serde_json::to_value(&body).ok());
            let raw = data_encoding::BASE64.encode(record.payload);
            let line = json!({
                "task": self.names.get(&group.log.task),
                "task_number": group.log.task.0.to_string(),
                "lineage": group.log.kind.number(),
                "offset": offset.to_string(),
                "commit": seq.to_string(),
                "time_us": header.time_us.to_string(),
                "form": record.form as u8,
                "event": event.unwrap_or_else(|| json!({"number": header.kind, "base64": raw})),
            });
            writeln!(out, "{line}").map_err(|e| files::io("write", &self.path, &e))?;
            kept += 1;
        }
        if let Some(lost) = (self.lost).get_mut(&(group.log.task.0, group.log.kind.number())) {
            lost.kept += kept;
        }
        Ok(())
    }

    /// Syncs the file of orphans, and returns the lost events.
    pub(crate) fn finish(self) -> Result<Vec<LostRange>> {
        if let Some(out) = self.orphans {
            let file = out.into_inner().map_err(|e| files::io("write", &self.path, e.error()))?;
            file.sync_all().map_err(|e| files::io("sync", &self.path, &e))?;
        }
        Ok(self.lost.into_values().collect())
    }
}
