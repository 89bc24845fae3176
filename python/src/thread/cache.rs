//! States of checkpoints, by their ids. A checkpoint never changes, but for an erasure. And the
//! mark that was put last into each namespace: the parent of the next one, as a rule.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use milepost::CheckpointId;
use milepost_langgraph::Thread;

use super::source::Marked;

/// The number of states that are kept. States of one thread share their bytes.
const KEPT: usize = 64;

/// The most recently used states, and the newest marks.
#[derive(Default)]
pub struct Cache {
    states: Mutex<VecDeque<Kept>>,
    /// By task and alias.
    marks: Mutex<VecDeque<(String, Marked)>>,
}

struct Kept {
    id: CheckpointId,
    /// The number of erased events of the task when the state was folded.
    erased: u64,
    thread: Arc<Thread>,
}

impl Cache {
    pub fn get(&self, id: CheckpointId, erased: u64) -> Option<Arc<Thread>> {
        let mut kept = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|one| one.id == id && one.erased == erased)?;
        let found = kept.remove(at)?;
        let thread = found.thread.clone();
        kept.push_back(found);
        Some(thread)
    }

    pub fn put(&self, id: CheckpointId, erased: u64, thread: Arc<Thread>) {
        let mut kept = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|one| one.id != id);
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back(Kept { id, erased, thread });
    }

    /// Returns the mark that was put under an alias, if it was one of the last. Another writer may
    /// have removed it since.
    pub fn marked(&self, task: &str, alias: &str) -> Option<Marked> {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let found = marks.iter().rev().find(|(of, mark)| of == task && mark.alias == alias);
        found.map(|(_, mark)| mark.clone())
    }

    pub fn put_mark(&self, task: &str, mark: Marked) {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        if marks.len() >= KEPT {
            marks.pop_front();
        }
        marks.push_back((task.to_owned(), mark));
    }
}
