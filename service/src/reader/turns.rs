//! Pages of turns.

use milepost::reading::{Resume, Turn, Turns};
use milepost::{Error, Lineage, LineageId, Offset, Result, Task};
use milepost_api::{Big, ReadMarkForm, TurnCallForm, TurnForm, TurnsForm};
use milepost_codec::Float;

use super::{Deadline, EventSearch, Read, Reader, lineage_of};
use crate::forms;

/// The place of a page of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnPlace {
    /// From the turn with this number on.
    From(u64),
    /// Around the turn that has this offset.
    Near(Offset),
}

/// A page of turns, and those that are looked for.
#[derive(Debug, Clone)]
pub struct TurnsRequest {
    /// The lineage; `None` for the active one.
    pub lineage: Option<LineageId>,
    /// The place.
    pub place: TurnPlace,
    /// Maximum number of turns.
    pub limit: usize,
    /// Turns with an event that is looked for.
    pub search: EventSearch,
}

/// Maximum number of events in all turns of a history.
const EVENTS: usize = 1_000_000;

/// A turn with its number.
type Numbered = (u64, Turn);

impl Reader {
    /// Returns a page of turns. It may end early, where the next request continues.
    ///
    /// # Errors
    ///
    /// As [`Lineage::read`](milepost::Lineage::read). `NotFound`: the task has no such lineage.
    pub fn turns(&self, task: &Task, asked: &TurnsRequest) -> Result<TurnsForm> {
        let lineage = lineage_of(task, asked.lineage)?;
        let deadline = self.deadline();
        let read = self.mapped(task, &lineage, &deadline, |map| {
            let from = match asked.place {
                TurnPlace::From(from) => from,
                TurnPlace::Near(offset) => {
                    let turn = map.turn_at(offset).unwrap_or(0);
                    turn.saturating_sub(asked.limit as u64 / 2)
                }
            };
            let from = match asked.search.takes_failed() {
                true => map.failed_from(from).unwrap_or(map.turns()),
                false => from,
            };
            (from, map.resume(from).cloned(), map.turns())
        })?;
        let Read { answer: (from, resume, total), read, head } = read;
        let mut page = Page { from, total, limit: asked.limit, items: Vec::new(), next: from };
        if let Some(resume) = resume.filter(|_| from < total) {
            // Another time for the page: a map that takes long never keeps it from its turns.
            page.read((&lineage, read), resume, &asked.search, &self.deadline())?;
        }
        let items = page.items.iter().map(|(number, turn)| turn_form(*number, turn, &lineage));
        let items = items.collect::<Result<Vec<_>>>()?;
        let next = Some(Big(page.next)).filter(|next| next.0 < total);
        Ok(TurnsForm { items, next, total: Big(total), read: Big(read), head: Big(head) })
    }

    /// Returns the turns of the history before an offset; `None` if there are more than this many,
    /// or more than a million events.
    pub(super) fn all_turns(
        &self,
        lineage: &Lineage,
        end: Offset,
        most: usize,
    ) -> Result<Option<Vec<Turn>>> {
        let begin = lineage.info()?.begin;
        let (mut turns, mut all) = (Turns::default(), Vec::new());
        for (n, event) in lineage.read(begin..end)?.enumerate() {
            all.extend(turns.add(&event?));
            if all.len() > most || n >= EVENTS {
                return Ok(None);
            }
        }
        all.extend(turns.end());
        Ok(Some(all).filter(|all| all.len() <= most))
    }
}

/// A page that is read.
struct Page {
    from: u64,
    total: u64,
    limit: usize,
    items: Vec<Numbered>,
    /// The number of the turn where the next page begins.
    next: u64,
}

impl Page {
    /// Reads turns from a place at or before the first one, up to an offset.
    fn read(
        &mut self,
        (lineage, end): (&Lineage, Offset),
        resume: Resume,
        search: &EventSearch,
        deadline: &Deadline<'_>,
    ) -> Result<()> {
        let (mut number, mut turns, mut hits) = (resume.number, resume.turns, Vec::new());
        for event in lineage.read(resume.offset..end)? {
            let event = event?;
            // The first turn is read to its end: a page without it would not get on.
            if deadline.is_over() && self.next > self.from {
                return Ok(());
            }
            if search.has_text() && search.has(&event) {
                hits.push(event.offset);
            }
            if let Some(turn) = turns.add(&event) {
                self.take(number, turn, search, &mut hits);
                number += 1;
                if self.items.len() == self.limit {
                    return Ok(());
                }
            }
        }
        if let Some(turn) = turns.end() {
            self.take(number, turn, search, &mut hits);
        }
        Ok(())
    }

    /// Adds a turn that is looked for.
    fn take(&mut self, number: u64, turn: Turn, search: &EventSearch, hits: &mut Vec<Offset>) {
        let own = turn.first..turn.next;
        let is_hit = !search.has_text() || hits.iter().any(|hit| own.contains(hit));
        hits.retain(|hit| *hit >= turn.next);
        if number < self.from || number >= self.total {
            return;
        }
        self.next = number + 1;
        if is_hit && (!search.takes_failed() || turn.failed.is_some()) {
            self.items.push((number, turn));
        }
    }
}

/// Returns the form of a turn of a lineage.
pub(super) fn turn_form(number: u64, turn: &Turn, lineage: &Lineage) -> Result<TurnForm> {
    let calls = turn.calls.iter().take(TurnForm::CALLS).map(|call| TurnCallForm {
        call: call.call.clone(),
        tool: call.tool.clone(),
        arguments: call.arguments.clone(),
        ok: call.ok,
        result: call.result.clone(),
        took_us: call.took_us.map(Big),
        at: Big(call.at),
    });
    let more_calls = turn.calls.len().saturating_sub(TurnForm::CALLS) as u64 + turn.more_calls;
    let mark = turn.mark.as_ref().map(|mark| {
        let id = lineage.marked_at(mark.at)?;
        let (label, status, at) = (mark.label.clone(), mark.status, Big(mark.at));
        Ok::<_, Error>(ReadMarkForm { id, label, status, at })
    });
    let metrics = turn.metrics.iter();
    Ok(TurnForm {
        number: Big(number),
        step: turn.step.map(Big),
        name: turn.name.clone(),
        turn: Big(turn.turn),
        first: Big(turn.first),
        next: Big(turn.next),
        time_us: Big(turn.time_us),
        took_us: turn.took_us.map(Big),
        said: turn.said.clone(),
        calls: calls.collect(),
        more_calls: Some(Big(more_calls)).filter(|more| more.0 > 0),
        heard: turn.heard.clone(),
        failed: turn.failed.clone(),
        usage: turn.usage.clone().map(forms::usage),
        metrics: metrics.map(|(name, value)| (name.clone(), Float(*value))).collect(),
        mark: mark.transpose()?,
    })
}
