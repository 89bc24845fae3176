//! The barrier between appends that store chunks and a compaction that removes chunks.

use std::collections::HashSet;
use std::sync::Arc;

use milepost_codec::ChunkId;
use parking_lot::{Condvar, Mutex};

use crate::local::location::Location;

/// Tracks chunks that are stored or used during a compaction, and appends that have stored chunks
/// and are not committed.
#[derive(Debug, Default)]
pub(crate) struct GcBarrier {
    recorded: Mutex<Recorded>,
    /// Notified when an append is done.
    done: Condvar,
}

#[derive(Debug, Default)]
struct Recorded {
    /// Locations of chunks stored since the compaction began, in order; `None` without a
    /// compaction.
    stored: Option<Vec<(ChunkId, Location)>>,
    /// Existing chunks that were stored again, or read.
    used: HashSet<ChunkId>,
    /// The number of running appends, by the turn in which they began. A compaction begins a new
    /// turn.
    running: [usize; 2],
    phase: usize,
}

/// Guard of a running append that stores chunks.
pub(crate) struct ChunkWrite {
    barrier: Arc<GcBarrier>,
    phase: usize,
}

impl ChunkWrite {
    pub(crate) fn begin(barrier: &Arc<GcBarrier>) -> Self {
        let mut recorded = barrier.recorded.lock();
        let phase = recorded.phase;
        if let Some(count) = recorded.running.get_mut(phase) {
            *count += 1;
        }
        Self { barrier: Arc::clone(barrier), phase }
    }
}

impl Drop for ChunkWrite {
    fn drop(&mut self) {
        let mut recorded = self.barrier.recorded.lock();
        if let Some(count) = recorded.running.get_mut(self.phase) {
            *count -= 1;
        }
        self.barrier.done.notify_all();
    }
}

impl GcBarrier {
    /// Begins to record, and waits for appends that began before.
    pub(crate) fn begin(&self) {
        let mut recorded = self.recorded.lock();
        recorded.stored = Some(Vec::new());
        recorded.used.clear();
        let before = recorded.phase;
        recorded.phase = 1 - before;
        while recorded.running.get(before).is_some_and(|count| *count > 0) {
            self.done.wait(&mut recorded);
        }
    }

    /// Records a stored chunk.
    pub(crate) fn stored(&self, id: ChunkId, place: Location) {
        if let Some(stored) = &mut self.recorded.lock().stored {
            stored.push((id, place));
        }
    }

    /// Records that existing chunks are needed.
    pub(crate) fn used(&self, ids: &[ChunkId]) {
        let mut recorded = self.recorded.lock();
        if recorded.stored.is_some() {
            recorded.used.extend(ids);
        }
    }

    /// Returns `true` while recording.
    pub(crate) fn is_recording(&self) -> bool {
        self.recorded.lock().stored.is_some()
    }

    /// Returns the chunks stored since the compaction began, without the first `skip`.
    pub(crate) fn stored_after(&self, skip: usize) -> Vec<(ChunkId, Location)> {
        let recorded = self.recorded.lock();
        let stored = recorded.stored.as_ref().and_then(|stored| stored.get(skip..));
        stored.map_or_else(Vec::new, <[_]>::to_vec)
    }

    /// Returns `true` if a chunk was used.
    pub(crate) fn is_used(&self, id: &ChunkId) -> bool {
        self.recorded.lock().used.contains(id)
    }

    /// Ends recording.
    pub(crate) fn end(&self) {
        let mut recorded = self.recorded.lock();
        recorded.stored = None;
        recorded.used = HashSet::new();
    }
}
