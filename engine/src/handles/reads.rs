//! States, events and hashes of points.

use std::sync::Arc;

use milepost_codec::{Error, Hash, LineageId, LogId, Offset, Result, TaskNo};
use milepost_replay::{Chunks, Event, Reducer, RunReducer, RunState};
use milepost_store::clock::Stopwatch;

use super::hooks::{Alert, AlertKind};
use crate::commit::committer::BackgroundJob;
use crate::handles::lineage::Lineage;
use crate::handles::view::View;
use crate::history::log_chunks::LogChunks;
use crate::history::point::Point;
use crate::history::state::state_from;

/// A fold that takes longer asks for the snapshots that its lineage lacks, in microseconds.
const SLOW_FOLD_US: u64 = 10_000;

impl View {
    /// Returns the state of a point, folded by a reducer.
    ///
    /// # Errors
    ///
    /// `Corrupt`: events cannot be read. Otherwise errors of the reducer.
    pub fn state<R: Reducer>(&self, reducer: &R, point: &Point) -> Result<R::State> {
        self.shown(point)?;
        let place = (point.no, point.lineage, point.offset);
        self.folded(reducer, place, None)
    }

    /// Returns the state of a point, folded by a registered reducer, in the encoding of the
    /// reducer.
    ///
    /// # Errors
    ///
    /// `NotFound`: no reducer of that name is registered, see
    /// [`Options::reducer`](crate::Options::reducer). Others as [`View::state`].
    pub fn encoded_state(&self, reducer: &str, point: &Point) -> Result<Vec<u8>> {
        self.shown(point)?;
        let mut registered = self.inner.options.reducers.iter();
        let Some(reducer) = registered.find(|registered| registered.id().0 == reducer) else {
            let text = format!(
                "this program has no reducer `{reducer}`: ask one that registers it, as \
                 `milepost serve` does with `langgraph.thread`"
            );
            return Err(Error::not_found(text));
        };
        reducer.encoded(&self.catalog(), (point.no, point.lineage, point.offset))
    }

    /// Returns the state of a point, folded by the built-in reducer. States of checkpoints are
    /// cached: see [`Options::keep_states`](crate::Options::keep_states).
    ///
    /// # Errors
    ///
    /// As [`View::state`].
    pub fn run_state(&self, point: &Point) -> Result<RunState> {
        self.shown(point)?;
        let inner = &self.inner;
        let place = (point.no, point.lineage, point.offset);
        inner.catalog.readable(place)?;
        let forgotten = inner.kept.forgotten();
        let seed = || -> Result<_> {
            let inherited = inner.catalog.inherited(point.no, point.lineage)?;
            Ok(inner.kept.before((point.no, point.offset), inherited))
        };
        if point.checkpoint.is_none() {
            return self.folded(&RunReducer, place, seed()?);
        }
        if let Some(state) = inner.kept.get(place) {
            return Ok(state);
        }
        let state = self.folded(&RunReducer, place, seed()?)?;
        if let Some(bytes) = inner.kept.put(place, &state, forgotten) {
            inner.options.hooks.alert(&Alert {
                kind: AlertKind::StatesKept,
                task: None,
                message: format!("the kept states of checkpoints take {bytes} bytes"),
            });
        }
        Ok(state)
    }

    fn folded<R: Reducer>(
        &self,
        reducer: &R,
        place: (TaskNo, LineageId, Offset),
        seed: Option<(Offset, R::State)>,
    ) -> Result<R::State> {
        let folding = Stopwatch::start();
        let state = state_from(&self.catalog(), reducer, place, seed)?;
        self.inner.meters.fold_us.record(folding.us());
        if folding.us() > SLOW_FOLD_US {
            let (task, lineage, _) = place;
            let missing = BackgroundJob::Missing(LogId::lineage(task, lineage));
            // Without room in the queue, the next slow fold tries again.
            let _ = self.inner.jobs.try_send(missing);
        }
        Ok(state)
    }

    /// Returns the reader of a state's sequences.
    pub fn chunks(&self) -> Arc<dyn Chunks> {
        Arc::new(LogChunks::reading(&self.catalog()))
    }

    /// Returns the event at a point, and the chain hash after it.
    ///
    /// # Errors
    ///
    /// `NotFound`: the point is the head, or retention removed the event.
    pub fn event(&self, point: &Point) -> Result<(Event, Hash)> {
        self.shown(point)?;
        let event = self.event_alone(point)?;
        let behind = point.offset + 1;
        Ok((event, self.inner.hash_at(point.no, point.lineage, behind)?))
    }

    /// Returns the event at a point.
    pub(crate) fn event_alone(&self, point: &Point) -> Result<Event> {
        let place = (point.no, point.lineage, point.offset);
        self.inner.catalog.readable(place)?;
        let lineage = Lineage::new(&self.engine(), point.no, point.lineage, None)?;
        let event = lineage.read(point.offset..=point.offset)?.next();
        event.ok_or_else(|| {
            Error::not_found(format!("there is no event at {point}, which is the head"))
        })?
    }

    /// Returns the chain hash before a point.
    ///
    /// # Errors
    ///
    /// `Corrupt`: events cannot be read. `NotFound`: retention trimmed the point.
    pub fn hash_at(&self, point: &Point) -> Result<Hash> {
        self.shown(point)?;
        self.inner.catalog.readable((point.no, point.lineage, point.offset))?;
        self.inner.hash_at(point.no, point.lineage, point.offset)
    }
}
