//! Which event set a part of the state.
//!
//! The history is folded once, one window at a time from the newest to the oldest, and only events
//! whose kind can touch the part. Each window begins with the state there, which is made from the
//! nearest snapshot. If only the last change is asked for, the walk ends with the window that has
//! it.

use std::cell::Cell;

use milepost_codec::{Body, Error, LineageId, Offset, Result};
use milepost_replay::{Chunks, Event, Reducer, RunReducer, RunState};
use serde_json::Value;

use crate::handles::engine::Engine;
use crate::history::events::{Ancestry, Events};
use crate::history::point::Point;
use crate::history::state::{LogChunks, beginning, state_at};

/// The events in the first window. Each window before it has four times as many.
const WINDOW: Offset = 1024;

/// About the most bytes of memory that a value may take, and all that are answered together.
const BYTES_MAX: u64 = 32 << 20;

/// A change of a part of the state.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Blame {
    /// The event that made it, on the lineage that was asked about.
    pub point: Point,
    /// The lineage that it was recorded in: that one, or an ancestor.
    pub lineage: LineageId,
    /// The name of its kind.
    pub kind: &'static str,
    /// When it was recorded, in microseconds since the Unix epoch.
    pub time_us: u64,
    /// The user that its header names.
    pub user: Option<String>,
    /// The actor that its header names.
    pub actor: Option<String>,
    /// The value before it; absent where there was none.
    pub before: Option<Value>,
    /// The value after it; absent where it was removed.
    pub after: Option<Value>,
}

/// Who set a part of the state.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Blamed {
    /// The value at the point; absent where there is none.
    pub value: Option<Value>,
    /// The changes, newest first; only the last one where no history was asked for.
    pub changes: Vec<Blame>,
    /// Where retention trimmed the history and the value of then was set, or removed, by an event
    /// that is gone: the oldest offset that is there.
    pub before_oldest: Option<Offset>,
}

impl Engine {
    /// Which event last set, or removed, the part of the run state that a JSON pointer names; with
    /// `history` every one that did. What a lineage inherits from its ancestors counts.
    ///
    /// Events are read once, back to the change, or with `history` all of them. Each window costs
    /// the state at its beginning; there are as many as log4 of the events. A value is compared
    /// with the one before it after each event that can touch it: that takes as long as it is
    /// large.
    ///
    /// # Errors
    ///
    /// `Invalid` where it is no pointer, or names the whole state or a whole list of messages or
    /// guidance, which every entry changes, and where the values take over 32 MiB of memory (an
    /// object counts 640 bytes), one alone or all of a history. Else as [`Engine::run_state`].
    pub fn blame(&self, point: &Point, pointer: &str, history: bool) -> Result<Blamed> {
        if matches!(pointer, "/messages" | "/guidance") {
            return Err(Error::invalid(format!(
                "every entry changes the list `{pointer}`: name one of them, as in `{pointer}/0`"
            )));
        }
        let catalog = &self.inner.catalog;
        catalog.readable((point.no, point.lineage, point.offset))?;
        let ancestry = Ancestry::of(catalog, point.no, point.lineage)?;
        let search = Search {
            engine: self,
            chunks: LogChunks::folding(catalog, point.no),
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

/// What is looked for, and where.
struct Search<'a> {
    engine: &'a Engine,
    chunks: LogChunks,
    kinds: &'static [&'static str],
    begin: Offset,
    point: &'a Point,
    pointer: &'a str,
    /// About the bytes of what was found.
    held: Cell<u64>,
}

impl Search<'_> {
    fn state(&self, offset: Offset) -> Result<RunState> {
        let (catalog, point) = (&self.engine.inner.catalog, self.point);
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

    /// The changes, newest first.
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

    /// Returns the changes in a window, oldest first; without history the last one.
    fn window(&self, from: Offset, to: Offset, history: bool) -> Result<Vec<Blame>> {
        let (catalog, point) = (&self.engine.inner.catalog, self.point);
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
                // The value after one change is the value before the next: both are there.
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

    /// Whether the trimmed events left another value than there is without any event.
    fn set_before(&self, ancestry: &Ancestry) -> Result<bool> {
        let (_, state) = beginning(&self.engine.inner.catalog, &RunReducer, ancestry)?;
        Ok(self.value(&state)? != self.value(&RunReducer.initial())?)
    }
}
