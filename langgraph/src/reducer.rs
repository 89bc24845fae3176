//! Folds events of checkpoints into the state of a thread.

use milepost::state::Chunks;
use milepost::{Event, Reducer, Result};

use crate::record::{decode_thread, encode_thread};
use crate::thread::Thread;

/// Folds a task into the state of a thread. A task without checkpoints of LangGraph has the empty
/// state.
///
/// A program that trims events of threads has to register it: a base keeps the states of the
/// reducers that are registered.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadReducer;

impl ThreadReducer {
    /// The name of the reducer.
    pub const NAME: &str = "langgraph.thread";
}

impl Reducer for ThreadReducer {
    type State = Thread;

    fn name(&self) -> &str {
        Self::NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn initial(&self) -> Thread {
        Thread::default()
    }

    fn apply(&self, thread: &mut Thread, event: &Event, _: &dyn Chunks) -> Result<()> {
        if let Some(body) = &event.body {
            thread.apply(body);
        }
        Ok(())
    }

    fn encode(&self, thread: &Thread) -> Result<Vec<u8>> {
        Ok(encode_thread(thread))
    }

    fn decode(&self, bytes: &[u8]) -> Result<Thread> {
        decode_thread(bytes)
    }
}
