//! An embedder's reducer: it counts messages, and stops in the middle of a fold on request.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use milepost::state::Chunks;
use milepost::{Body, Error, Event, Reducer, Result};

/// Counts messages.
#[derive(Debug, Clone, Default)]
pub struct Count {
    stop: Arc<Mutex<Option<Stop>>>,
}

/// Channels by which a fold reports its start, and waits.
#[derive(Debug)]
struct Stop {
    begun: Sender<()>,
    go_on: Receiver<()>,
}

/// A fold that is to stop.
#[derive(Debug)]
pub struct Stopped {
    pub begun: Receiver<()>,
    /// The fold continues when this is dropped.
    pub go_on: Sender<()>,
}

impl Count {
    /// Stops the next fold; `begun` is disconnected where [`Count::forget`] comes first.
    pub fn stop_next(&self) -> Stopped {
        let (begin, begun) = channel();
        let (go_on, wait) = channel();
        let stop = Stop { begun: begin, go_on: wait };
        *self.lock() = Some(stop);
        Stopped { begun, go_on }
    }

    /// No fold is to stop any more.
    pub fn forget(&self) {
        self.lock().take();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Stop>> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reducer for Count {
    type State = u64;

    fn name(&self) -> &str {
        "test.count"
    }

    fn version(&self) -> u32 {
        1
    }

    fn initial(&self) -> u64 {
        0
    }

    fn apply(&self, state: &mut u64, event: &Event, _: &dyn Chunks) -> Result<()> {
        let stop = self.lock().take();
        if let Some(stop) = stop {
            let _ = stop.begun.send(());
            let _ = stop.go_on.recv();
        }
        *state += u64::from(matches!(event.body, Some(Body::Message(_))));
        Ok(())
    }

    fn encode(&self, state: &u64) -> Result<Vec<u8>> {
        Ok(state.to_le_bytes().to_vec())
    }

    fn decode(&self, bytes: &[u8]) -> Result<u64> {
        let eight = bytes.try_into();
        let damaged = |_| Error::corrupt("a count", "8 bytes", bytes.len());
        eight.map(u64::from_le_bytes).map_err(damaged)
    }
}
