//! Folded states in use, by point, and the weights of large ones.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use milepost::ids::TaskNo;
use milepost::{LineageId, Offset, RunState};
use parking_lot::Mutex;

use crate::budget::TokenShare;

/// Memory per byte of a state in an answer.
pub(crate) const COPIED: u64 = 3;

/// States up to this size are not counted.
pub(crate) const UNCOUNTED: usize = 256 << 10;

/// A point, and the number of erased events of its task, which changes the state.
type Key = (TaskNo, LineageId, Offset, u64);

/// The slot of a state in use. It is locked while the state is folded.
type Place = Arc<tokio::sync::Mutex<Weak<Folded>>>;

/// Maximum number of tasks with a known weight; beyond it all are forgotten.
const WEIGHED: usize = 4096;

/// The states in use.
#[derive(Debug, Default)]
pub(crate) struct Folds {
    places: Mutex<HashMap<Key, Place>>,
    /// The weight of each task's last folded state, if it is large.
    weights: Mutex<HashMap<TaskNo, u64>>,
}

impl Folds {
    /// Estimates the weight of a task's state by the last one folded.
    pub(crate) fn weight(&self, task: TaskNo) -> u64 {
        self.weights.lock().get(&task).copied().unwrap_or(0)
    }

    /// Remembers the weight of a task's state if it is large.
    pub(crate) fn weighed(&self, task: TaskNo, state: &RunState) {
        let (weight, mut weights) = (state.weight(), self.weights.lock());
        if weight.saturating_mul(COPIED) <= UNCOUNTED as u64 {
            weights.remove(&task);
            return;
        }
        if weights.len() >= WEIGHED {
            weights.clear();
        }
        weights.insert(task, weight);
    }

    /// Forgets all states: the engine was replaced.
    pub(crate) fn clear(&self) {
        self.places.lock().clear();
        self.weights.lock().clear();
    }

    /// Returns the slot of a state.
    pub(crate) fn place(&self, key: Key) -> Place {
        let mut all = self.places.lock();
        if let Some(place) = all.get(&key) {
            return Arc::clone(place);
        }
        // Drops slots without a state that no request waits on.
        all.retain(|_, place| {
            let gone = |place: &Place| place.try_lock().is_ok_and(|it| it.strong_count() == 0);
            Arc::strong_count(place) > 1 || !gone(place)
        });
        Arc::clone(all.entry(key).or_default())
    }
}

/// A state, kept while a request uses it.
#[derive(Debug)]
pub(crate) struct Folded {
    state: RunState,
    _share: Option<TokenShare>,
}

impl Folded {
    /// Keeps a state, and the share of its bytes.
    pub(crate) fn new(state: RunState, share: Option<TokenShare>) -> Self {
        Self { state, _share: share }
    }
}

impl Deref for Folded {
    type Target = RunState;

    fn deref(&self) -> &RunState {
        &self.state
    }
}
