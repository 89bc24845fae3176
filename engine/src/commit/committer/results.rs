//! What a caller waits on.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use milepost_codec::{CheckpointId, CheckpointMarked, Error, ErrorKind, Head, Offset, Result, Seq};
use milepost_store::clock::Stopwatch;
use milepost_store::metrics::Meters;
use milepost_store::sync::{Condvar, Mutex};
use smallvec::SmallVec;

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommitResult {
    /// The first offset, and the log's head after the last, of each part.
    pub(crate) parts: SmallVec<[(Offset, Head); 1]>,
    pub(crate) seq: Seq,
    /// How many events the append had, where its key was seen before.
    pub(crate) repeated: Option<u32>,
    /// The checkpoint that was marked.
    pub(crate) checkpoint: Option<CheckpointId>,
    /// The whole mark, where this request made it.
    pub(crate) marked: Option<Box<Marked>>,
}

/// A mark as it was committed: all that a checkpoint says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marked {
    pub(crate) id: CheckpointId,
    /// Its own event: the offset, and the chain hash before it.
    pub(crate) before: Head,
    /// With its parent.
    pub(crate) body: CheckpointMarked,
    pub(crate) time_us: u64,
}

/// Where all who wait for the same commit stand: one signal wakes them, each the next, instead of
/// the lead waking every one.
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

/// Where the result of a request comes.
#[derive(Debug)]
pub(crate) struct Slot {
    state: Mutex<State>,
    gate: Arc<ResultGate>,
    /// When it was begun, where the time ends with the result and nobody has to wait for it.
    begun: Option<Stopwatch>,
}

#[derive(Debug)]
enum State {
    /// Not there yet, and who is to be told beside those at the gate.
    Waited(Option<Waker>),
    Come(Result<CommitResult>),
    Taken,
}

impl State {
    /// Takes the result where it is there.
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

    /// Takes the result. Whoever waits is told when the gate opens, a task that polls now.
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

    /// Takes the result where it is there; else has the task told when it comes. Ready once.
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

    /// Waits for the result and takes it: only one may.
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

/// The leader's side of a slot. Dropping it unanswered, as a panic of the leader does, answers that
/// the outcome is unknown, so that no caller waits for ever.
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

/// Hands out results and opens the gates of those who wait for them; for `own` nobody does.
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
