//! Queue of the hooks' own thread: a few calls, and the offsets by which logs grew. Events are not
//! queued, so the queue has at most one entry for each lineage, however slow a hook is.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use milepost_codec::{LogId, LogKind, Offset};
use milepost_store::sync::{Condvar, Mutex};

use super::Hooks;
use crate::commit::committer::GrowthSink;

/// Maximum number of queued calls. Further calls are dropped.
pub(super) const CALLS_MAX: usize = 64;

/// A call on the hooks' thread.
pub(super) type Call = Box<dyn FnOnce(&Hooks) + Send>;

/// An entry of the queue.
pub(super) enum Next {
    Call(Call),
    /// A log and the offsets by which it grew.
    Growth(LogId, Range<Offset>),
}

/// The queue of undelivered notifications.
#[derive(Default)]
pub(crate) struct DeliveryQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    calls: VecDeque<Call>,
    grown: HashMap<LogId, Range<Offset>>,
    /// The logs that grew, in the order of their first growth.
    order: VecDeque<LogId>,
    left_out: u64,
    /// `true` once the thread is to end after the last entry.
    closing: bool,
    /// `true` once no entry is taken any more.
    ended: bool,
}

impl DeliveryQueue {
    /// Queues a call for the hooks' thread. Returns `false` if the call was dropped.
    pub(super) fn call(&self, call: Call) -> bool {
        let mut state = self.state.lock();
        if state.ended {
            return false;
        }
        if state.calls.len() >= CALLS_MAX {
            state.left_out += 1;
            return false;
        }
        state.calls.push_back(call);
        drop(state);
        self.changed.notify_all();
        true
    }

    /// Waits for the next entry; `None` at the end. Calls come first, since there are few of them.
    pub(super) fn next(&self) -> Option<Next> {
        let mut state = self.state.lock();
        loop {
            if state.ended {
                return None;
            }
            if let Some(call) = state.calls.pop_front() {
                return Some(Next::Call(call));
            }
            if let Some(log) = state.order.pop_front() {
                let offsets = state.grown.remove(&log).unwrap_or_default();
                return Some(Next::Growth(log, offsets));
            }
            if state.closing {
                state.ended = true;
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    /// Returns the next queued call.
    pub(super) fn next_call(&self) -> Option<Call> {
        self.state.lock().calls.pop_front()
    }

    /// Returns the number of calls dropped since the last query.
    pub(super) fn left_out(&self) -> u64 {
        std::mem::take(&mut self.state.lock().left_out)
    }

    /// Ends the thread after the entries that are queued.
    pub(super) fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_all();
    }

    /// Ends the queue and drops its entries. Returns the number of undelivered events and calls.
    pub(super) fn abandon(&self) -> (u64, usize) {
        let mut state = self.state.lock();
        state.ended = true;
        let events = state.grown.values();
        let events = events.map(|offsets| offsets.end.saturating_sub(offsets.start));
        let left = (events.sum(), state.calls.len());
        state.grown.clear();
        state.order.clear();
        let calls = std::mem::take(&mut state.calls);
        drop(state);
        drop(calls);
        self.changed.notify_all();
        left
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state.lock().ended
    }
}

impl GrowthSink for DeliveryQueue {
    fn grew(&self, log: LogId, offsets: Range<Offset>) {
        if !matches!(log.kind, LogKind::Lineage(_)) {
            return;
        }
        let mut state = self.state.lock();
        if state.ended {
            return;
        }
        match state.grown.get_mut(&log) {
            Some(known) => known.end = known.end.max(offsets.end),
            None => {
                state.grown.insert(log, offsets);
                state.order.push_back(log);
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use milepost_codec::{LineageId, TaskNo};

    use super::*;

    fn log(lineage: u32) -> LogId {
        LogId::lineage(TaskNo(1), LineageId(lineage))
    }

    fn grown(feed: &DeliveryQueue) -> (LogId, Range<Offset>) {
        match feed.next() {
            Some(Next::Growth(log, offsets)) => (log, offsets),
            _ => panic!("no log grew"),
        }
    }

    #[test]
    fn a_log_that_grows_again_is_one_entry_and_keeps_its_place() {
        let feed = DeliveryQueue::default();
        feed.grew(log(0), 3..4);
        feed.grew(log(1), 0..1);
        for offset in 4..1000 {
            feed.grew(log(0), offset..offset + 1);
        }
        feed.grew(LogId::control(TaskNo(1)), 0..1);
        assert_eq!(feed.state.lock().order.len(), 2);
        assert_eq!(grown(&feed), (log(0), 3..1000));
        feed.grew(log(0), 1000..1001);
        assert_eq!(grown(&feed), (log(1), 0..1));
        assert_eq!(grown(&feed), (log(0), 1000..1001));
        feed.close();
        assert!(feed.next().is_none());
    }

    #[test]
    fn calls_over_the_limit_are_left_out_and_counted() {
        let feed = DeliveryQueue::default();
        let taken = (0..CALLS_MAX + 5).filter(|_| feed.call(Box::new(|_| ()))).count();
        assert_eq!(taken, CALLS_MAX);
        assert_eq!((feed.left_out(), feed.left_out()), (5, 0));
        assert_eq!(feed.abandon(), (0, CALLS_MAX));
        assert!(!feed.call(Box::new(|_| ())), "nobody would make it");
    }
}
