//! Summaries of lineages, kept in the index as notes.
//!
//! A note is valid for the history from which it was made: the same beginning, the same erased
//! events, and the chain hash at its end. A summary without a valid note is folded again.

use std::collections::HashMap;

use milepost_codec::{Error, Head, LineageId, LogId, Offset, Result, TaskNo, wire};
use milepost_reading::{Outcome, Summary, Usage};
use milepost_store::index::{ENTRY_MAX, LineageEntry, SummaryNote, keys};
use serde_json::Value;

use super::chain_hash::hash_at;
use super::events::{Ancestry, Events};
use super::lists::TaskInfo;
use crate::history::catalog::Catalog;

/// The longest value of an outcome, as JSON in bytes. A longer one counts as absent.
const OUTCOME_MAX: usize = 128;

/// Events after which a long fold stores a note, so that a cancelled one continues there.
const PART: u64 = 1 << 16;

/// Summary of a lineage: see `docs/READING.md`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LineageSummary {
    /// The lineage.
    pub lineage: LineageId,
    /// The fork: the parent and the first own offset. `None` for a root.
    pub parent: Option<(LineageId, Offset)>,
    /// The offset up to which it is summarized: the head.
    pub head: Offset,
    /// The summary.
    pub summary: Summary,
    /// The outcome.
    pub outcome: Outcome,
}

/// Summary of a task.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskSummary {
    /// The task.
    pub task: TaskInfo,
    /// Its lineages, oldest first. Empty if the events cannot be read.
    pub lineages: Vec<LineageSummary>,
    /// The reason why the events cannot be read. Other tasks of a list have their summaries.
    pub unreadable: Option<String>,
}

impl TaskSummary {
    /// Returns the summary of the active lineage.
    pub fn active(&self) -> Option<&LineageSummary> {
        self.lineages.iter().find(|lineage| lineage.lineage == self.task.active)
    }

    /// Returns the usage of all lineages, each event once; `None` if none was recorded.
    pub fn usage(&self) -> Option<Usage> {
        // A root has no ancestor, so its own usage is all. The parent of another lineage may have
        // been dropped.
        let known = |of: LineageId| self.lineages.iter().any(|lineage| lineage.lineage == of);
        Usage::sum(self.lineages.iter().map(|lineage| match lineage.parent {
            Some((parent, _)) if known(parent) => lineage.summary.own_usage(),
            _ => lineage.summary.usage(),
        }))
    }
}

/// The beginning of a fold.
struct Begun {
    next: Offset,
    summary: Summary,
    /// The fork, if it is still ahead: the summary forks there.
    fork: Option<Offset>,
}

/// A stored summary, decoded.
type Noted = (SummaryNote, Summary);

/// Summaries of parents at the forks of their children, by parent and offset.
type Forks = HashMap<(LineageId, Offset), Option<Summary>>;

impl Catalog {
    /// Returns the summaries of a task's lineages. `outcome` returns the value of the outcome at a
    /// head.
    pub(crate) fn summaries(
        &self,
        task: TaskNo,
        outcome: &dyn Fn(LineageId, Offset) -> Result<Option<Value>>,
    ) -> Result<Vec<LineageSummary>> {
        // Read before any event: after an erasure during the fold, the new notes are invalid.
        let erased = self.erased_count(task);
        let mut forks = Forks::new();
        let mut found = Vec::new();
        for (lineage, entry) in self.lineages(task)? {
            let head = self.head(LogId::lineage(task, lineage))?;
            let note = self.summary_note((task, lineage), head, erased)?;
            if note.is_none()
                && let Some(parent) = &entry.parent
            {
                forks.insert((parent.lineage, parent.offset), None);
            }
            found.push((lineage, entry, head, note));
        }
        let mut all = Vec::with_capacity(found.len());
        for (lineage, entry, head, note) in found {
            let parent = entry.parent.map(|parent| (parent.lineage, parent.offset));
            let (summary, value) = match note {
                Some((note, summary)) if note.head == head => (summary, value_of(&note)?),
                note => {
                    let begin = Ancestry::of(self, task, lineage)?.begin();
                    let begun = begun(note, begin, &entry, &forks);
                    let place = Place { task, lineage, begin, erased };
                    let summary = self.fold_summary(&place, begun, head.next, &mut forks)?;
                    let value = outcome(lineage, head.next)?;
                    let text = value.as_ref().map(Value::to_string);
                    let is_kept = text.as_ref().is_none_or(|text| text.len() <= OUTCOME_MAX);
                    let (value, text) = if is_kept { (value, text) } else { (None, None) };
                    self.keep_summary(&place, head, &summary, text);
                    (summary, value)
                }
            };
            let outcome = Outcome::new(summary.status, value);
            all.push(LineageSummary { lineage, parent, head: head.next, summary, outcome });
        }
        Ok(all)
    }

    /// Returns the stored summary of a lineage, if it belongs to its history.
    fn summary_note(
        &self,
        (task, lineage): (TaskNo, LineageId),
        head: Head,
        erased: u64,
    ) -> Result<Option<Noted>> {
        let key = keys::summary(task, lineage);
        let Some(bytes) = self.log().get(&key)? else {
            return Ok(None);
        };
        // A note of another version, or one that was changed, is made again.
        let Ok(note) = SummaryNote::unseal(&key, &bytes, self.key()) else {
            return Ok(None);
        };
        let is_current = note.begin == Ancestry::of(self, task, lineage)?.begin()
            && note.erased == erased
            && note.head.next <= head.next;
        if !is_current {
            return Ok(None);
        }
        let hash = match note.head.next == head.next {
            true => head.hash,
            false => {
                let origin = self.task(task)?.origin;
                hash_at(self, origin, LogId::lineage(task, lineage), note.head.next)?
            }
        };
        if hash != note.head.hash {
            return Ok(None);
        }
        let summary = wire::decode(&note.summary, "summary");
        Ok(summary.ok().map(|summary| (note, summary)))
    }

    /// Folds the events that a summary does not have, up to an offset.
    fn fold_summary(
        &self,
        place: &Place,
        begun: Begun,
        to: Offset,
        forks: &mut Forks,
    ) -> Result<Summary> {
        let Begun { next, mut summary, fork } = begun;
        let (task, lineage) = (place.task, place.lineage);
        let mut reached = |at: Offset, summary: &mut Summary| {
            if let Some(child) = forks.get_mut(&(lineage, at)) {
                *child = Some(summary.clone());
            }
            if fork == Some(at) {
                *summary = summary.forked();
            }
        };
        for event in Events::new(self, task, lineage, next..to)? {
            let event = event?;
            reached(event.offset, &mut summary);
            summary.add(&event);
            let done = event.offset + 1;
            if (done - next).is_multiple_of(PART) && done < to && fork.is_none_or(|at| at < done) {
                let origin = self.task(task)?.origin;
                let hash = hash_at(self, origin, LogId::lineage(task, lineage), done)?;
                self.keep_summary(place, Head { next: done, hash }, &summary, None);
            }
        }
        reached(to, &mut summary);
        Ok(summary)
    }

    /// Stores a note, unless an event was erased since the fold began or the task was deleted: the
    /// note could hold their content, and a compaction may already be over. A failure to write it
    /// is ignored, since the next call folds again.
    fn keep_summary(&self, place: &Place, head: Head, summary: &Summary, outcome: Option<String>) {
        let Place { task, lineage, begin, erased } = *place;
        let key = keys::summary(task, lineage);
        let (check, summary) = ([0; 16], wire::encode(summary));
        let note = SummaryNote { begin, head, erased, summary, outcome, check };
        let bytes = note.sealed(&key, self.key()).encode();
        let _storing = self.log().storing();
        let is_current = self.erased_count(task) == erased && self.task(task).is_ok();
        if is_current && bytes.len() + key.len() <= ENTRY_MAX {
            let _ = self.log().put_note(key, bytes);
        }
    }
}

/// A lineage that is folded, and what its notes hold for.
struct Place {
    task: TaskNo,
    lineage: LineageId,
    /// The first offset of the history.
    begin: Offset,
    /// The number of erased events of the task when the fold began.
    erased: u64,
}

/// Returns where the fold of a lineage begins: after its note, at its fork if the parent was folded
/// over it, or at the first event.
fn begun(note: Option<Noted>, begin: Offset, entry: &LineageEntry, forks: &Forks) -> Begun {
    if let Some((note, summary)) = note {
        // A note is made after the fork.
        return Begun { next: note.head.next, summary, fork: None };
    }
    let fork = entry.parent.as_ref().map(|parent| (parent.lineage, parent.offset));
    let fork = fork.filter(|(_, at)| *at >= begin);
    let at_fork = fork.and_then(|fork| Some((fork.1, forks.get(&fork)?.clone()?)));
    let fork = fork.map(|(_, at)| at);
    match at_fork {
        Some((next, summary)) => Begun { next, summary, fork },
        None => Begun { next: begin, summary: Summary::default(), fork },
    }
}

fn value_of(note: &SummaryNote) -> Result<Option<Value>> {
    let Some(text) = &note.outcome else {
        return Ok(None);
    };
    let value = serde_json::from_str(text);
    value.map(Some).map_err(|error| Error::corrupt("summary", "JSON", error))
}
