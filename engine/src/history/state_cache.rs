//! Cache of the states of the last checkpoints. A second read of a state folds nothing, and the
//! state of the next checkpoint is folded from the previous one.

use std::collections::VecDeque;
use std::sync::Arc;

use milepost_codec::{LineageId, Offset, TaskNo};
use milepost_replay::{Reducer, RunReducer, RunState};
use milepost_store::metrics::Meters;
use parking_lot::Mutex;

/// Maximum number of events to fold from a cached state. A snapshot is at least as near as a cached
/// state further back.
const NEAR: Offset = 1024;

/// Limits of the cache of checkpoint states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateCacheOptions {
    /// Maximum number of states. Default: 10.
    pub count: usize,
    /// Maximum total size of the encoded states in bytes. A single larger state is not cached.
    /// Default: 64 MiB.
    pub bytes: usize,
    /// Size in bytes above which an alert is raised. It is raised again only after the size fell
    /// below half of this. Default: never.
    pub alert_bytes: usize,
}

impl Default for StateCacheOptions {
    fn default() -> Self {
        Self { count: 10, bytes: 64 << 20, alert_bytes: usize::MAX }
    }
}

/// Statistics of the state cache since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateCacheStats {
    /// Number of cached states.
    pub states: u64,
    /// Their encoded size in bytes.
    pub bytes: u64,
    /// Requested states of checkpoints that were cached.
    pub hits: u64,
    /// Requested states of checkpoints that had to be folded.
    pub misses: u64,
    /// States removed to make room.
    pub evictions: u64,
}

type StateKey = (TaskNo, LineageId, Offset);

#[derive(Debug, Default)]
struct Inner {
    /// The most recently used state is at the back.
    states: VecDeque<(StateKey, RunState, usize)>,
    bytes: u64,
    alerted: bool,
    /// Incremented when states are forgotten. A state whose fold began before is not cached.
    forgotten: u64,
}

/// The state cache of an engine.
#[derive(Debug)]
pub(crate) struct StateCache {
    limits: StateCacheOptions,
    meters: Arc<Meters>,
    inner: Mutex<Inner>,
}

impl StateCache {
    pub(crate) fn new(limits: StateCacheOptions, meters: Arc<Meters>) -> Self {
        let alert = match limits.alert_bytes {
            usize::MAX => 0,
            bytes => bytes as u64,
        };
        meters.kept_limits(limits.count as u64, limits.bytes as u64, alert);
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

    /// Returns the cached state of a point.
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

    /// Returns the nearest cached state before an offset, on the lineage or an ancestor.
    /// `inherited` returns the offset up to which a lineage is inherited.
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

    /// Returns how often states were forgotten.
    pub(crate) fn forgotten(&self) -> u64 {
        self.inner.lock().forgotten
    }

    /// Forgets the states of a task, which may hold withdrawn content.
    pub(crate) fn forget(&self, task: TaskNo) {
        self.forget_those(|of| of == task);
    }

    /// Forgets all states, whose pieces may be missing.
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

    /// Caches a state, unless states were forgotten since its fold began. Returns the cached bytes
    /// if an alert is due.
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
