//! States of the last checkpoints, kept in memory: looking at one again folds nothing, and the
//! state of the next is folded from the one before.

use std::collections::VecDeque;
use std::sync::Arc;

use milepost_codec::{LineageId, Offset, TaskNo};
use milepost_replay::{Reducer, RunReducer, RunState};
use milepost_store::metrics::Meters;
use parking_lot::Mutex;

/// A state is folded on from a kept one where that is at most so many events before it. From
/// further back a snapshot is nearer, or as good.
const NEAR: Offset = 1024;

/// How many states of checkpoints are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateCacheOptions {
    /// At most so many. Default: 10.
    pub count: usize,
    /// At most so many bytes, as the states are encoded; one that is larger alone is not kept.
    /// Default: 64 MiB.
    pub bytes: usize,
    /// An alert is raised where they have more bytes than this, and again only after they had fewer
    /// than half of it. Default: never.
    pub alert_bytes: usize,
}

impl Default for StateCacheOptions {
    fn default() -> Self {
        Self { count: 10, bytes: 64 << 20, alert_bytes: usize::MAX }
    }
}

/// What keeping states came to since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateCacheStats {
    /// How many are kept.
    pub states: u64,
    /// Their bytes, as they are encoded.
    pub bytes: u64,
    /// States of checkpoints that were asked for and were there.
    pub hits: u64,
    /// Those that had to be folded.
    pub misses: u64,
    /// Those that were let go of to make room.
    pub evictions: u64,
}

type StateKey = (TaskNo, LineageId, Offset);

#[derive(Debug, Default)]
struct Inner {
    /// The last one that was asked for is at the back.
    states: VecDeque<(StateKey, RunState, usize)>,
    bytes: u64,
    alerted: bool,
    /// How often states were forgotten: one that was folded before that is not kept after it.
    forgotten: u64,
}

/// The states that an engine keeps.
#[derive(Debug)]
pub(crate) struct StateCache {
    limits: StateCacheOptions,
    meters: Arc<Meters>,
    inner: Mutex<Inner>,
}

impl StateCache {
    pub(crate) fn new(limits: StateCacheOptions, meters: Arc<Meters>) -> Self {
        Self { limits, meters, inner: Mutex::default() }
    }

    pub(crate) fn counts(&self) -> StateCacheStats {
        let inner = self.inner.lock();
        StateCacheStats {
            states: inner.states.len() as u64,
            bytes: inner.bytes,
            hits: self.meters.kept_hits.get(),
            misses: self.meters.kept_misses.get(),
            evictions: self.meters.kept_evictions.get(),
        }
    }

    /// The state at a place.
    pub(crate) fn get(&self, place: StateKey) -> Option<RunState> {
        let mut inner = self.inner.lock();
        let found = inner.states.iter().position(|(at, ..)| *at == place);
        let Some(kept) = found.and_then(|found| inner.states.remove(found)) else {
            self.meters.kept_misses.add(1);
            return None;
        };
        self.meters.kept_hits.add(1);
        let state = kept.1.clone();
        inner.states.push_back(kept);
        Some(state)
    }

    /// The nearest state before an offset, on the lineage or one that it inherits from: `inherited`
    /// returns the offset up to which.
    pub(crate) fn before(
        &self,
        (task, offset): (TaskNo, Offset),
        inherited: impl Fn(LineageId) -> Option<Offset>,
    ) -> Option<(Offset, RunState)> {
        let inner = self.inner.lock();
        let near = inner.states.iter().filter(|((of, lineage, at), ..)| {
            let to = inherited(*lineage).filter(|_| *of == task);
            to.is_some_and(|to| *at <= to.min(offset)) && offset - *at <= NEAR
        });
        let nearest = near.max_by_key(|((.., at), ..)| *at);
        nearest.map(|((.., at), state, _)| (*at, state.clone()))
    }

    /// How often states were forgotten.
    pub(crate) fn forgotten(&self) -> u64 {
        self.inner.lock().forgotten
    }

    /// Lets go of the states of a task: they may hold what is gone.
    pub(crate) fn forget(&self, task: TaskNo) {
        self.forget_those(|of| of == task);
    }

    /// Lets go of all states: they may be without their pieces.
    pub(crate) fn forget_all(&self) {
        self.forget_those(|_| true);
    }

    fn forget_those(&self, goes: impl Fn(TaskNo) -> bool) {
        let mut inner = self.inner.lock();
        inner.forgotten += 1;
        inner.states.retain(|((of, ..), ..)| !goes(*of));
        let bytes: usize = inner.states.iter().map(|(.., bytes)| bytes).sum();
        inner.bytes = bytes as u64;
        self.meters.kept(inner.states.len() as u64, bytes as u64);
    }

    /// Keeps a state, unless states were forgotten since it was begun to be folded. Gives how many
    /// bytes are kept, where that is to be alerted.
    pub(crate) fn put(&self, place: StateKey, state: &RunState, forgotten: u64) -> Option<u64> {
        let encoded = RunReducer.encode(state).map_or(usize::MAX, |bytes| bytes.len());
        let mut inner = self.inner.lock();
        let stale = inner.forgotten != forgotten;
        if stale || encoded > self.limits.bytes || self.limits.count == 0 {
            return None;
        }
        inner.states.retain(|(at, ..)| *at != place);
        inner.states.push_back((place, state.clone(), encoded));
        let mut bytes: usize = inner.states.iter().map(|(.., bytes)| bytes).sum();
        while inner.states.len() > self.limits.count || bytes > self.limits.bytes {
            let Some((.., freed)) = inner.states.pop_front() else {
                break;
            };
            bytes -= freed;
            self.meters.kept_evictions.add(1);
        }
        inner.bytes = bytes as u64;
        self.meters.kept(inner.states.len() as u64, bytes as u64);
        let alert = bytes > self.limits.alert_bytes && !inner.alerted;
        inner.alerted = alert || (inner.alerted && bytes >= self.limits.alert_bytes / 2);
        alert.then_some(bytes as u64)
    }
}
