//! Blame: finds the events that set a part of the state.
//!
//! The history is folded once, one window at a time from the newest to the oldest, and only with
//! events whose kind can change the part. Each window begins with the state there, made from the
//! nearest snapshot. If only the last change is wanted, the search ends with the window that
//! contains it.

use std::cell::Cell;

use milepost_codec::{Body, Error, LineageId, Offset, Result};
use milepost_replay::{Chunks, Event, Reducer, RunReducer, RunState};
use serde_json::Value;

use super::Query;
use crate::history::catalog::Catalog;
use crate::history::events::{Ancestry, Events};
use crate::history::log_chunks::LogChunks;
use crate::history::point::Point;
use crate::history::state::{beginning, state_at};

/// The number of events in the first window. Each earlier window has four times as many.
const WINDOW: Offset = 1024;

/// Approximate maximum of memory for one value, and for all returned values together.
const BYTES_MAX: u64 = 32 << 20;

/// A change of a part of the state.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Blame {
    /// The event that made the change, on the queried lineage.
    pub point: Point,
    /// The lineage that recorded it: the queried one, or an ancestor.
    pub lineage: LineageId,
    /// The name of the event's kind.
    pub kind: &'static str,
    /// The time of the event, in microseconds since the Unix epoch.
    pub time_us: u64,
    /// The user in its header.
    pub user: Option<String>,
    /// The actor in its header.
    pub actor: Option<String>,
    /// The value before; `None` if it did not exist.
    pub before: Option<Value>,
    /// The value after; `None` if it was removed.
    pub after: Option<Value>,
}

/// Result of a blame.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Blamed {
    /// The value at the point; `None` if it does not exist.
    pub value: Option<Value>,
    /// The changes, newest first; only the last one without `history`.
    pub changes: Vec<Blame>,
    /// The oldest offset still there, if retention trimmed the history and a trimmed event set or
    /// removed the value.
    pub before_oldest: Option<Offset>,
}

impl Query<'_> {
    /// Finds the event that last set or removed the part of the run state that a JSON pointer
    /// names, or with `history` all such events. Inherited events count.
    ///
    /// Events are read once: back to the change, or with `history` all of them. Each window costs
    /// the state at its beginning; there are log4 of the number of events. The value is compared
    /// after each event that can change it, which takes time proportional to its size.
    ///
    /// # Errors
    ///
    /// - `Invalid`: `pointer` is not a pointer, or names the whole state or a whole list of
    ///   messages or guidance, which every entry changes. Or values take over 32 MiB of memory (an
    ///   object counts 640 bytes), one alone or all of a history.
    /// - Otherwise as [`View::run_state`](crate::View::run_state).
    pub fn blame(&self, point: &Point, pointer: &str, history: bool) -> Result<Blamed> {
        if matches!(pointer, "/messages" | "/guidance") {
            return Err(Error::invalid(format!(
                "every entry changes the list `{pointer}`: name one of them, as in `{pointer}/0`"
            )));
        }
        self.view.shown(point)?;
        let catalog = &self.view.catalog();
        catalog.readable((point.no, point.lineage, point.offset))?;
        let ancestry = Ancestry::of(catalog, point.no, point.lineage)?;
        let search = Search {
            catalog,
            chunks: LogChunks::folding(catalog, &RunReducer, (point.no, point.lineage))?,
            kinds: RunReducer::kinds_for(pointer)?,
            begin: ancestry.begin(),
            point,
            pointer,
            held: Cell::new(0),
        };
        let value = search.value(&search.state(point.offset)?)?;
        let changes = search.changes(history)?;
        let whole = history || changes.is_empty();
        let trimmed = whole && search.begin > 0 && search.set_before(&ancestry)?;
        Ok(Blamed { value, changes, before_oldest: trimmed.then_some(search.begin) })
    }
}

/// A search for changes of one pointer.
struct Search<'a> {
    catalog: &'a Catalog,
    chunks: LogChunks,
    kinds: &'static [&'static str],
    begin: Offset,
    point: &'a Point,
    pointer: &'a str,
    /// The approximate bytes of the found values.
    held: Cell<u64>,
}

impl Search<'_> {
    fn state(&self, offset: Offset) -> Result<RunState> {
        let (catalog, point) = (self.catalog, self.point);
        state_at(catalog, &RunReducer, point.no, point.lineage, offset)
    }

    fn value(&self, state: &RunState) -> Result<Option<Value>> {
        self.fits(state.weight_at(self.pointer, &self.chunks as &dyn Chunks)?)?;
        state.value_at(self.pointer, &self.chunks as &dyn Chunks)
    }

    fn fits(&self, bytes: u64) -> Result<()> {
        match bytes <= BYTES_MAX {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "what was at `{}` takes over {BYTES_MAX} bytes of memory: name a smaller part of \
                 it, or ask for the last change only",
                self.pointer
            ))),
        }
    }

    /// Returns the changes, newest first.
    fn changes(&self, history: bool) -> Result<Vec<Blame>> {
        let (mut found, mut to, mut length) = (Vec::new(), self.point.offset, WINDOW);
        while to > self.begin && (history || found.is_empty()) {
            let from = to.saturating_sub(length).max(self.begin);
            let mut changes = self.window(from, to, history)?;
            changes.reverse();
            found.append(&mut changes);
            (to, length) = (from, length.saturating_mul(4));
        }
        Ok(found)
    }

    /// Returns the changes in a window, oldest first; only the last one without `history`.
    fn window(&self, from: Offset, to: Offset, history: bool) -> Result<Vec<Blame>> {
        let (catalog, point) = (self.catalog, self.point);
        let mut state = self.state(from)?;
        let mut before = self.value(&state)?;
        let mut found = Vec::new();
        for event in Events::new(catalog, point.no, point.lineage, from..to)? {
            let event = event?;
            let kind = Body::name_of(event.header.kind);
            if !self.kinds.contains(&kind) {
                continue;
            }
            RunReducer.apply(&mut state, &event, &self.chunks)?;
            let after = self.value(&state)?;
            if after == before {
                continue;
            }
            if history {
                // The value after one change is also the value before the next: both are in memory.
                let bytes = state.weight_at(self.pointer, &self.chunks as &dyn Chunks)?;
                let held = self.held.get().saturating_add(bytes.saturating_mul(2));
                self.fits(held)?;
                self.held.set(held);
            } else {
                found.clear();
            }
            found.push(self.blame(event, kind, before, after.clone()));
            before = after;
        }
        Ok(found)
    }

    fn blame(
        &self,
        event: Event,
        kind: &'static str,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Blame {
        Blame {
            point: Point { offset: event.offset, checkpoint: None, ..self.point.clone() },
            lineage: event.lineage,
            kind,
            time_us: event.header.time_us,
            user: event.header.user,
            actor: event.header.actor,
            before,
            after,
        }
    }

    /// Returns `true` if the trimmed events left a value other than the initial one.
    fn set_before(&self, ancestry: &Ancestry) -> Result<bool> {
        let (_, state) = beginning(self.catalog, &RunReducer, ancestry)?;
        Ok(self.value(&state)? != self.value(&RunReducer.initial())?)
    }
}
