//! Watches: signals that a log has grown.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use milepost_codec::{LogId, Offset, TaskNo};
use milepost_store::sync::Mutex;
use milepost_store::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use milepost_store::sync::channel::{Receiver, Sender, TrySendError};

/// A watch on one log: a signal that is set when the log has grown since it was last taken.
pub(crate) type Watch = Receiver<()>;

/// The number of watches, and each doubling of it, at which ended watches are dropped.
const CROWD: usize = 16;

/// A receiver of the growth of every log.
pub(crate) trait GrowthSink: Send + Sync {
    /// Records that a log has grown. Called by the leader in commit order, so it must be fast.
    fn grew(&self, log: LogId, offsets: Range<Offset>);
}

/// The watches on all logs.
#[derive(Default)]
pub(crate) struct Watchers {
    logs: Mutex<HashMap<LogId, Vec<Sender<()>>>>,
    /// The number of watches: a commit without watches takes no lock.
    any: AtomicUsize,
    closed: AtomicBool,
    /// The receiver of all logs and offsets.
    sink: OnceLock<Arc<dyn GrowthSink>>,
}

impl Watchers {
    pub(crate) fn watch(&self, log: LogId) -> Watch {
        self.watch_all(&[log])
    }

    /// Returns a signal that is set when one of these logs has grown.
    pub(crate) fn watch_all(&self, of: &[LogId]) -> Watch {
        let (sender, watch) = milepost_store::sync::channel::bounded(1);
        let mut logs = self.logs.lock();
        if !self.closed.load(Ordering::Acquire) {
            for log in of {
                let senders = logs.entry(*log).or_default();
                senders.push(sender.clone());
            }
            self.any.fetch_add(of.len(), Ordering::Release);
            // Signalling also drops ended watches of logs that do not grow.
            let any = self.any.load(Ordering::Acquire);
            if any >= CROWD && any.is_power_of_two() {
                logs.values_mut().for_each(|senders| self.signal(senders));
                logs.retain(|_, senders| !senders.is_empty());
            }
        }
        watch
    }

    /// Sets the sink of all growth, once.
    pub(crate) fn set_sink(&self, sink: Arc<dyn GrowthSink>) {
        let _ = self.sink.set(sink);
    }

    pub(crate) fn wake(&self, log: LogId, offsets: Range<Offset>) {
        if let Some(sink) = self.sink.get() {
            sink.grew(log, offsets);
        }
        if self.any.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut logs = self.logs.lock();
        if let Some(senders) = logs.get_mut(&log) {
            self.signal(senders);
            if senders.is_empty() {
                logs.remove(&log);
            }
        }
    }

    /// Signals every watch on a log of a task, whose readable events have changed.
    pub(crate) fn wake_task(&self, task: TaskNo) {
        let mut logs = self.logs.lock();
        for (_, senders) in logs.iter_mut().filter(|(log, _)| log.task == task) {
            self.signal(senders);
        }
        logs.retain(|_, senders| !senders.is_empty());
    }

    /// Signals every watcher and drops disconnected ones. A spurious wake-up is harmless.
    fn signal(&self, senders: &mut Vec<Sender<()>>) {
        let before = senders.len();
        senders.retain(|s| !matches!(s.try_send(()), Err(TrySendError::Disconnected(()))));
        self.any.fetch_sub(before - senders.len(), Ordering::Release);
    }

    /// Ends all watches.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.logs.lock().clear();
        self.any.store(0, Ordering::Release);
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use milepost_codec::LineageId;

    use super::*;

    #[test]
    fn watches_that_ended_do_not_stay_though_their_log_never_grows() {
        let watchers = Watchers::default();
        let log = LogId::lineage(TaskNo(1), LineageId(0));
        let kept: Vec<Watch> = (0..3).map(|_| watchers.watch(log)).collect();
        for _ in 0..1000 {
            drop(watchers.watch(log));
        }
        let there = watchers.logs.lock()[&log].len();
        assert!(there <= 2 * CROWD, "{there}");
        assert_eq!(watchers.any.load(Ordering::Acquire), there);
        for watch in &kept {
            let _ = watch.try_recv();
        }
        watchers.wake(log, 0..1);
        assert!(kept.iter().all(|watch| watch.try_recv().is_ok()));
        assert_eq!(watchers.any.load(Ordering::Acquire), 3);
    }
}
