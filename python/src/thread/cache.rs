//! States of checkpoints, by their ids. A checkpoint never changes, but for an erasure.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use milepost::CheckpointId;
use milepost_langgraph::Thread;

/// The number of states that are kept. States of one thread share their bytes.
const KEPT: usize = 64;

/// The most recently used states.
#[derive(Default)]
pub struct Cache(Mutex<VecDeque<Kept>>);

struct Kept {
    id: CheckpointId,
    /// The number of erased events of the task when the state was folded.
    erased: u64,
    thread: Arc<Thread>,
}

impl Cache {
    pub fn get(&self, id: CheckpointId, erased: u64) -> Option<Arc<Thread>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|one| one.id == id && one.erased == erased)?;
        let found = kept.remove(at)?;
        let thread = found.thread.clone();
        kept.push_back(found);
        Some(thread)
    }

    pub fn put(&self, id: CheckpointId, erased: u64, thread: Arc<Thread>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|one| one.id != id);
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back(Kept { id, erased, thread });
    }
}
