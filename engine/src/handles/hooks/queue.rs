//! Queue of the hooks' own thread: the offsets by which logs grew. Events are not queued, so the
//! queue has at most one entry for each lineage, however slow a hook is.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use milepost_codec::{LogId, LogKind, Offset};
use milepost_store::sync::{Condvar, Mutex};

use crate::commit::committer::GrowthSink;

/// The queue of undelivered events.
#[derive(Default)]
pub(crate) struct DeliveryQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    grown: HashMap<LogId, Range<Offset>>,
    /// The logs that grew, in the order of their first growth.
    order: VecDeque<LogId>,
    /// `true` once the thread is to end after the last entry.
    closing: bool,
    /// `true` once no entry is taken any more.
    ended: bool,
}

impl DeliveryQueue {
    /// Waits for the next log and the offsets by which it grew; `None` at the end.
    pub(super) fn next(&self) -> Option<(LogId, Range<Offset>)> {
        let mut state = self.state.lock();
        loop {
            if state.ended {
                return None;
            }
            if let Some(log) = state.order.pop_front() {
                let offsets = state.grown.remove(&log);
                return Some((log, offsets.expect("each log of the order has grown")));
            }
            if state.closing {
                state.ended = true;
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    /// Ends the thread after the entries that are queued.
    pub(super) fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_all();
    }

    /// Ends the queue and drops its entries. Returns the number of undelivered events.
    pub(super) fn abandon(&self) -> u64 {
        let mut state = self.state.lock();
        state.ended = true;
        let events = state.grown.values();
        let left = events.map(|offsets| offsets.end.saturating_sub(offsets.start)).sum();
        state.grown.clear();
        state.order.clear();
        drop(state);
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

    #[test]
    fn a_log_that_grows_again_is_one_entry_and_keeps_its_place() {
        let queue = DeliveryQueue::default();
        queue.grew(log(0), 3..4);
        queue.grew(log(1), 0..1);
        for offset in 4..1000 {
            queue.grew(log(0), offset..offset + 1);
        }
        queue.grew(LogId::control(TaskNo(1)), 0..1);
        assert_eq!(queue.state.lock().order.len(), 2);
        assert_eq!(queue.next().unwrap(), (log(0), 3..1000));
        queue.grew(log(0), 1000..1001);
        assert_eq!(queue.next().unwrap(), (log(1), 0..1));
        assert_eq!(queue.next().unwrap(), (log(0), 1000..1001));
        queue.close();
        assert!(queue.next().is_none());
    }
}
