//! Results of requests, and the slots and gates at which callers wait for them.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use milepost_codec::{CheckpointId, CheckpointMarked, Error, ErrorKind, Head, Offset, Result, Seq};
use milepost_store::clock::Stopwatch;
use milepost_store::metrics::Meters;
use milepost_store::sync::{Condvar, Mutex};
use smallvec::SmallVec;

/// Result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommitResult {
    /// The first offset of each append, and the log's head after its last record.
    pub(crate) appended: SmallVec<[(Offset, Head); 1]>,
    pub(crate) seq: Seq,
    /// The number of events of the earlier append, if the key was used before.
    pub(crate) repeated: Option<u32>,
    /// The checkpoint that was marked.
    pub(crate) checkpoint: Option<CheckpointId>,
    /// The whole mark, if this request made it.
    pub(crate) marked: Option<Box<Marked>>,
}

/// A mark as it was committed, with all fields of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marked {
    pub(crate) id: CheckpointId,
    /// The offset of the mark's own event, and the chain hash before it.
    pub(crate) before: Head,
    /// The body, with its parent.
    pub(crate) body: CheckpointMarked,
    pub(crate) time_us: u64,
}

/// A gate for all callers that wait for the same commit. The leader signals once; each woken thread
/// wakes the next.
#[derive(Debug, Default)]
pub(crate) struct ResultGate {
    lock: Mutex<()>,
    open: Condvar,
}

impl ResultGate {
    pub(crate) fn open(&self) {
        let _guard = self.lock.lock();
        self.open.notify_all();
    }
}

/// A slot for the result of a request.
#[derive(Debug)]
pub(crate) struct Slot {
    state: Mutex<State>,
    gate: Arc<ResultGate>,
    /// The start of a submitted request. Its duration is recorded when the result arrives.
    begun: Option<Stopwatch>,
}

#[derive(Debug)]
enum State {
    /// No result yet, and the waker of an async task that polls the slot.
    Waited(Option<Waker>),
    Come(Result<CommitResult>),
    Taken,
}

impl State {
    /// Takes the result, if it is available.
    fn take(&mut self) -> Option<Result<CommitResult>> {
        match std::mem::replace(self, Self::Taken) {
            Self::Come(result) => Some(result),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl Slot {
    pub(crate) fn new(gate: Arc<ResultGate>, begun: Option<Stopwatch>) -> Self {
        Self { state: Mutex::new(State::Waited(None)), gate, begun }
    }

    /// Stores the result. Wakes an async task at once; other waiters wake when the gate opens.
    pub(crate) fn fill(&self, result: Result<CommitResult>) -> &Arc<ResultGate> {
        let before = std::mem::replace(&mut *self.state.lock(), State::Come(result));
        if let State::Waited(Some(waker)) = before {
            waker.wake();
        }
        &self.gate
    }

    pub(crate) fn is_done(&self) -> bool {
        !matches!(*self.state.lock(), State::Waited(_))
    }

    /// Takes the result, or registers the task's waker. Returns `Ready` once.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<Result<CommitResult>> {
        let mut state = self.state.lock();
        match &mut *state {
            State::Waited(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    None => *waker = Some(context.waker().clone()),
                }
                Poll::Pending
            }
            State::Come(_) => state.take().map_or(Poll::Pending, Poll::Ready),
            State::Taken => Poll::Pending,
        }
    }

    /// Waits for the result and takes it. Only one caller may wait.
    pub(crate) fn wait(&self) -> Result<CommitResult> {
        if let Some(result) = self.state.lock().take() {
            return result;
        }
        let mut guard = self.gate.lock.lock();
        loop {
            if let Some(result) = self.state.lock().take() {
                return result;
            }
            self.gate.open.wait(&mut guard);
        }
    }
}

/// The leader's side of a slot. If it is dropped without an answer, as after a panic of the leader,
/// the caller gets the answer that the outcome is unknown, and does not wait forever.
#[derive(Debug)]
pub(crate) struct Answer(Option<Arc<Slot>>);

impl Answer {
    pub(crate) fn new(slot: &Arc<Slot>) -> Self {
        Self(Some(Arc::clone(slot)))
    }

    /// Returns `true` if the result goes to `slot`.
    pub(crate) fn is(&self, slot: Option<&Arc<Slot>>) -> bool {
        match (&self.0, slot) {
            (Some(own), Some(slot)) => Arc::ptr_eq(own, slot),
            _ => false,
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            slot.fill(Err(Error::new(
                ErrorKind::Poisoned,
                "the commit panicked, the next open shows which events are there: reopen the store",
            )))
            .open();
        }
    }
}

/// Results that have not been handed out.
pub(crate) type Results = SmallVec<[(Answer, Result<CommitResult>); 1]>;

/// Hands out results and opens the gates of their waiters. `own` has no waiter.
pub(crate) fn hand_out(results: Results, own: Option<&Arc<Slot>>, meters: &Meters) {
    let mut gates: SmallVec<[Arc<ResultGate>; 1]> = SmallVec::new();
    for (mut answer, result) in results {
        let is_own = answer.is(own);
        let Some(slot) = answer.0.take() else {
            continue;
        };
        if let (Ok(_), Some(begun)) = (&result, slot.begun) {
            meters.append_us.record(begun.us());
        }
        let gate = slot.fill(result);
        if is_own {
            continue;
        }
        if !gates.iter().any(|known| Arc::ptr_eq(known, gate)) {
            gates.push(Arc::clone(gate));
        }
    }
    for gate in gates {
        gate.open();
    }
}

/// Returns the error of a request whose batch was not written.
pub(super) fn refused(error: &Error) -> Error {
    let message = format!("nothing was appended, ask again: {error}");
    Error::new(error.kind(), message)
}

/// Returns the error of a request whose batch may have been written.
pub(super) fn unknown(error: &Error) -> Error {
    Error::new(
        ErrorKind::Poisoned,
        format!("the write failed, whether the events are there shows after a reopen: {error}"),
    )
}
