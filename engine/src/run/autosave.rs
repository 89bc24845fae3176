//! Saving a run that nobody works on: not going, events behind its last checkpoint, and nothing
//! that happened for a while.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender};
use milepost_codec::{Error, ErrorKind, MarkCause, Offset, Result, RunControl};

use super::{Run, Shared};
use crate::history::checkpoint::{Checkpoint, Mark};

/// The thread looks so many times in the time after which it saves.
const LOOKS: u32 = 10;

/// What was seen at the last look.
#[derive(Debug, Default)]
pub(super) struct Idle {
    seen: Option<(Offset, u64)>,
}

impl Idle {
    fn has_seen(&self, head: Offset) -> bool {
        self.seen.is_some_and(|(seen, _)| seen == head)
    }

    /// For how long nothing has happened, in microseconds. `last_us` is the time of the last event:
    /// it is taken where this is the first look at it, and not from the future.
    fn idle_us(&mut self, head: Offset, last_us: u64, now_us: u64) -> u64 {
        let since = match self.seen {
            Some((seen, since)) if seen == head => since.min(now_us),
            _ => last_us.min(now_us),
        };
        self.seen = Some((head, since));
        now_us - since
    }
}

impl Run {
    /// One look: marks a checkpoint of cause `idle` where the run is not going, there are events
    /// behind its last checkpoint, and none came for the time that the options say. The run's own
    /// thread looks now and then; a host with a loop of its own may look itself.
    ///
    /// # Errors
    ///
    /// As [`crate::Task::checkpoint`], unless the run goes on without.
    pub fn autosave(&self) -> Result<Option<Checkpoint>> {
        match self.shared.options.autosave_after {
            Some(after) => self.shared.autosave(after),
            None => Ok(None),
        }
    }
}

impl Shared {
    fn autosave(&self, after: Duration) -> Result<Option<Checkpoint>> {
        let task = self.task();
        let head = task.head()?.next;
        let Some(last) = head.checked_sub(1) else {
            return Ok(None);
        };
        let unsaved = {
            let mut gathered = self.gathered.lock();
            gathered.look(&task)?;
            last >= gathered.saved_to()
        };
        if !unsaved || task.control()? == RunControl::Running {
            return Ok(None);
        }
        let mut idle = self.idle.lock();
        let time_us = match idle.has_seen(head) {
            true => 0,
            false => {
                let event = task.read(last..=last)?.next().transpose()?;
                event.map_or(0, |event| event.header.time_us)
            }
        };
        let idle_us = idle.idle_us(head, time_us, task.lineage().inner().now_us());
        drop(idle);
        if u128::from(idle_us) < after.as_micros() {
            return Ok(None);
        }
        self.save_if_possible(Mark::new().cause(MarkCause::Idle))
    }
}

/// The thread that looks.
#[derive(Debug)]
pub(super) struct Watcher {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Watcher {
    pub(super) fn start(shared: &Arc<Shared>, after: Duration) -> Result<Self> {
        let (stop, stopped) = crossbeam_channel::bounded(1);
        // It holds nothing open: the store closes when everybody else has let go of it.
        let shared: Weak<Shared> = Arc::downgrade(shared);
        let every = (after / LOOKS).max(Duration::from_millis(10));
        let work = move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let Some(shared) = shared.upgrade() else {
                    return;
                };
                if let Err(error) = shared.autosave(after) {
                    match error.kind() {
                        // The store is closed, or the run has to look where it is.
                        ErrorKind::Unavailable | ErrorKind::Conflict => {}
                        _ => tracing::error!("an idle run could not be saved: {error}"),
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("milepost-autosave".into());
        let thread = thread.spawn(work).map_err(|e| {
            let message = format!("cannot start a thread: {e}");
            Error::new(ErrorKind::Unavailable, message)
        })?;
        Ok(Self { stop, thread })
    }

    pub(super) fn stop(self) {
        let _ = self.stop.send(());
        // A run that is dropped by its own thread does not wait for itself.
        if self.thread.thread().id() != std::thread::current().id() {
            let _ = self.thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_from_the_last_event_and_never_backwards() {
        let mut idle = Idle::default();
        assert_eq!(idle.idle_us(5, 100, 150), 50);
        assert_eq!(idle.idle_us(5, 100, 400), 300);
        assert_eq!(idle.idle_us(6, 390, 400), 10, "another event");
        // The clock jumps back: time counts from there on.
        assert_eq!(idle.idle_us(6, 390, 200), 0);
        assert_eq!(idle.idle_us(6, 390, 250), 50);
        assert_eq!(idle.idle_us(7, 9999, 300), 0, "an event of the future");
        assert_eq!(idle.idle_us(7, 9999, 301), 1);
    }
}
