//! What a caller waits on.

use milepost_codec::{CheckpointId, Head, Offset, Result, Seq};
use parking_lot::{Condvar, Mutex};

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    /// The first offset, and the log's head after the last, of each part.
    pub(crate) parts: Vec<(Offset, Head)>,
    pub(crate) seq: Seq,
    /// How many events the append had, where its key was seen before.
    pub(crate) repeated: Option<u32>,
    /// The checkpoint that was marked.
    pub(crate) checkpoint: Option<CheckpointId>,
}

/// Where the result of a request comes.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    result: Mutex<Option<Result<Done>>>,
    done: Condvar,
}

impl Slot {
    pub(crate) fn fill(&self, result: Result<Done>) {
        *self.result.lock() = Some(result);
        self.done.notify_all();
    }

    pub(crate) fn is_done(&self) -> bool {
        self.result.lock().is_some()
    }

    /// Waits for the result and takes it: only one may.
    pub(crate) fn wait(&self) -> Result<Done> {
        let mut result = self.result.lock();
        loop {
            match result.take() {
                Some(result) => return result,
                None => self.done.wait(&mut result),
            }
        }
    }
}
