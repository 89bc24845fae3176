//! States at the checkpoints of a lineage, in one pass over its events.

use std::collections::VecDeque;
use std::ops::RangeBounds;

use milepost_codec::{Error, LineageId, LogId, Offset, Result};
use milepost_replay::Reducer;
use milepost_store::index::MarkEntry;
use milepost_store::index::keys;

use super::lineage::Lineage;
use crate::history::catalog::Catalog;
use crate::history::checkpoint::Checkpoint;
use crate::history::events::{Ancestry, Events};
use crate::history::log_chunks::LogChunks;
use crate::history::state::state_at;

/// Index entries of one scan.
const STRIDE: usize = 64;

/// One pass over the checkpoints of a lineage, oldest first, each with its state: see
/// [`Lineage::states`]. It ends after the first error.
///
/// [`States::next_state`] lends the states one at a time. As an iterator it copies each: of a run,
/// the variables, the context and the artifacts, and at most 64 KiB of the newest messages. Older
/// messages are in chunks that all states share.
pub struct States<'r, R: Reducer> {
    reducer: &'r R,
    marks: Marks,
    folded: Option<Folded<R::State>>,
    /// The state of a mark before the position of the pass.
    earlier: Option<R::State>,
    ended: bool,
}

/// The checkpoints whose marks are in a range of a lineage's events.
struct Marks {
    lineage: Lineage,
    next: Offset,
    end: Offset,
    /// Marks that the last scan found.
    found: VecDeque<(LineageId, Offset)>,
}

/// A state, and the events after it.
struct Folded<S> {
    state: S,
    events: Events,
    chunks: LogChunks,
    /// The counts of withdrawals and damaged chunks when the fold began.
    counts: (u64, u64),
}

impl Lineage {
    /// Returns the checkpoints whose marks are in a range of offsets, oldest first, each with its
    /// state, folded by a reducer. As [`Lineage::read`], a range goes through the ancestors, ends
    /// at the current head, and begins at the first existing event if it begins at 0. Removed
    /// checkpoints are left out.
    ///
    /// The states are those of [`View::state`](crate::View::state), in one pass: the first is
    /// folded from the nearest snapshot, each other one from the one before it. A mark of a point
    /// ([`Mark::at`](crate::Mark::at)) before that of an earlier mark has a fold of its own. If
    /// content is removed during the pass (by an erasure, a trim or a compaction), the next state
    /// is folded from a snapshot again.
    ///
    /// ```
    /// use milepost::events::Message;
    /// use milepost::state::RunReducer;
    /// use milepost::{Engine, Mark, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("thread", "ana")?;
    /// for n in 1..=3 {
    ///     task.append(Message::text("user", "hello"))?;
    ///     task.checkpoint(Mark::new().label(format!("turn-{n}")))?;
    /// }
    /// for found in task.lineage().states(&RunReducer, ..)? {
    ///     let (checkpoint, state) = found?;
    ///     println!("{:?}: {} messages", checkpoint.label, state.messages.len());
    /// }
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid`: the range begins past the head. `NotFound`: the range begins before the events
    /// that retention kept, or the task was deleted. The items have the errors of
    /// [`View::state`](crate::View::state).
    pub fn states<'r, R: Reducer>(
        &self,
        reducer: &'r R,
        range: impl RangeBounds<Offset>,
    ) -> Result<States<'r, R>> {
        let (next, end) = self.read(range)?.range();
        let marks = Marks { lineage: self.clone(), next, end, found: VecDeque::new() };
        Ok(States { reducer, marks, folded: None, earlier: None, ended: false })
    }
}

impl<R: Reducer> States<'_, R> {
    /// Returns the next checkpoint and its state; `None` at the end and after an error.
    ///
    /// # Errors
    ///
    /// As [`View::state`](crate::View::state).
    pub fn next_state(&mut self) -> Result<Option<(Checkpoint, &R::State)>> {
        if self.ended {
            return Ok(None);
        }
        // Waits for the state.
        self.ended = true;
        let Some(checkpoint) = self.marks.next()? else {
            return Ok(None);
        };
        self.fold_to(&checkpoint)?;
        self.ended = false;
        let state = self.earlier.as_ref().or(self.folded.as_ref().map(|folded| &folded.state));
        Ok(state.map(|state| (checkpoint, state)))
    }

    fn fold_to(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.earlier = None;
        let (reducer, lineage, at) = (self.reducer, &self.marks.lineage, checkpoint.at);
        let catalog = &lineage.engine().catalog();
        let counts = counts(catalog);
        if let Some(mut folded) = self.folded.take_if(|folded| folded.counts == counts) {
            if folded.events.next_offset() > at {
                self.folded = Some(folded);
                return self.fold_apart(checkpoint);
            }
            // An unreadable event: a later snapshot may suffice, and otherwise the error is that
            // of the state.
            if folded.forward(reducer, at).is_ok() {
                self.folded = Some(folded);
                return Ok(());
            }
        }
        self.folded = None;
        if at < Ancestry::of(catalog, lineage.task(), lineage.id())?.begin() {
            return self.fold_apart(checkpoint);
        }
        // Before the state is folded, so that its chunks are kept as long as the pass.
        let chunks = LogChunks::folding(catalog, reducer, (lineage.task(), lineage.id()))?;
        let state = state_at(catalog, reducer, lineage.task(), lineage.id(), at)?;
        let events = lineage.read(at..self.marks.end)?;
        self.folded = Some(Folded { state, events, chunks, counts });
        Ok(())
    }

    /// Folds the state of a mark that is before the position of the pass, or before a base of the
    /// lineage that the lineage of the mark does not have.
    fn fold_apart(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let lineage = &self.marks.lineage;
        let (task, owner, at) = (lineage.task(), checkpoint.lineage, checkpoint.at);
        let catalog = lineage.engine().catalog();
        self.earlier = Some(state_at(&catalog, self.reducer, task, owner, at)?);
        Ok(())
    }
}

/// Returns the counts of withdrawals and damaged chunks. A state from before a change may have
/// withdrawn content, or refer to removed chunks.
fn counts(catalog: &Catalog) -> (u64, u64) {
    (catalog.withdrawals(), catalog.log().damaged_chunks().0)
}

impl<S> Folded<S> {
    fn forward<R: Reducer<State = S>>(&mut self, reducer: &R, at: Offset) -> Result<()> {
        while self.events.next_offset() < at {
            let next = self.events.next_offset();
            let missing = || Error::corrupt("log", format!("offset {next}"), "nothing");
            let event = self.events.next().ok_or_else(missing)??;
            reducer.apply(&mut self.state, &event, &self.chunks)?;
        }
        Ok(())
    }
}

impl Marks {
    fn next(&mut self) -> Result<Option<Checkpoint>> {
        loop {
            self.lineage.cancel().check()?;
            let (task, catalog) = (self.lineage.task(), &self.lineage.inner().catalog);
            while let Some((owner, offset)) = self.found.pop_front() {
                // It may have been removed since the scan.
                if let Some(entry) = catalog.log().get(&keys::mark(task, owner, offset))? {
                    let (name, entry) = (self.lineage.task_id(), MarkEntry::decode(&entry)?);
                    return catalog.checkpoint(task, name, owner, offset, &entry).map(Some);
                }
            }
            if self.next >= self.end {
                return Ok(None);
            }
            self.scan()?;
        }
    }

    /// Finds further marks, up to the fork of the next lineage.
    fn scan(&mut self) -> Result<()> {
        let (task, id) = (self.lineage.task(), self.lineage.id());
        let catalog = &self.lineage.inner().catalog;
        catalog.task(task)?;
        catalog.lineage(task, id)?;
        let ancestry = Ancestry::of(catalog, task, id)?;
        // Marks before a base were removed with it.
        let from = self.next.max(ancestry.begin());
        let owner = ancestry.owner(from);
        let span = owner.and_then(|owner| Some((owner, ancestry.span(owner)?.1)));
        let (owner, to) = span.ok_or_else(|| {
            let log = LogId::lineage(task, id);
            Error::not_found(format!("{log}: no lineage holds offset {from}"))
        })?;
        let to = to.min(self.end).max(from);
        let (begin, end) = (keys::mark(task, owner, from), keys::mark(task, owner, to));
        let entries = catalog.log().scan(&begin, &end, false, STRIDE)?;
        self.found.extend(entries.iter().map(|(key, _)| keys::mark_place(key)));
        self.next = match self.found.back() {
            Some((_, last)) if entries.len() == STRIDE => last.saturating_add(1),
            _ => to,
        };
        Ok(())
    }
}

impl<R: Reducer<State: Clone>> Iterator for States<'_, R> {
    type Item = Result<(Checkpoint, R::State)>;

    fn next(&mut self) -> Option<Self::Item> {
        let copied = |(checkpoint, state): (_, &R::State)| (checkpoint, state.clone());
        self.next_state().map(|next| next.map(copied)).transpose()
    }
}

impl<R: Reducer> std::fmt::Debug for States<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Marks { next, end, .. } = &self.marks;
        f.debug_struct("States").field("next", next).field("end", end).finish_non_exhaustive()
    }
}
