//! Folds events of checkpoints into the state of a thread.

use milepost::events::{Application, Data};
use milepost::state::Chunks;
use milepost::{Body, Event, Reducer, Result};

use crate::change::apply;
use crate::record::{EVENT, Record, decode_thread, encode_thread};
use crate::thread::Thread;

/// Folds a task into the state of a thread. A task without checkpoints of LangGraph has the empty
/// state.
///
/// A program that trims events of threads has to register it: a base keeps the states of the
/// reducers that are registered.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadReducer;

impl Thread {
    /// Applies an event. Events of other kinds change nothing, nor do bytes of another program
    /// under the same name.
    pub fn apply(&mut self, body: &Body) {
        let Body::Application(Application { name, data: Data::Bytes(bytes) }) = body else {
            return;
        };
        if name != EVENT {
            return;
        }
        let Ok(record) = Record::decode(bytes) else {
            return;
        };
        if record.fresh {
            self.channels.clear();
        }
        for change in &record.changes {
            apply(self, change);
        }
        (self.id, self.parent) = (record.id, record.parent);
        (self.content, self.metadata) = (record.content, record.metadata);
    }
}

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
