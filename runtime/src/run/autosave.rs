//! Autosave: marks a checkpoint of a run that is not running and has events after its last
//! checkpoint, after a time without events.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender};
use milepost::events::{MarkCause, RunControl};
use milepost::internals::threads;
use milepost::{Checkpoint, ErrorKind, Mark, Offset, Result, Task};

use super::checkpointing::DueCheckpoint;
use super::{Run, Shared};

/// The number of checks during the time after which the run is saved.
const LOOKS: u32 = 10;

/// The head at the last check, and the time since which it has not changed.
#[derive(Debug, Default)]
pub(super) struct Idle {
    last_head: Option<(Offset, u64)>,
    /// The time of the last activation: of an undo, a switch or a restore, which append no event.
    activated_us: u64,
}

impl Idle {
    /// Returns the idle time of a task that was activated now.
    pub(super) fn activated(now_us: u64) -> Self {
        Self { last_head: None, activated_us: now_us }
    }

    fn is_unchanged(&self, head: Offset) -> bool {
        self.last_head.is_some_and(|(last_head, _)| last_head == head)
    }

    /// Returns the microseconds since the last event. `last_us` is the event's time: it counts only
    /// at the first check after the event, and not if it is in the future.
    fn idle_us(&mut self, head: Offset, last_us: u64, now_us: u64) -> u64 {
        let since = match self.last_head {
            Some((last_head, since)) if last_head == head => since.min(now_us),
            _ => last_us.max(self.activated_us).min(now_us),
        };
        self.last_head = Some((head, since));
        now_us - since
    }
}

impl Run {
    /// Checks once: marks a checkpoint of cause `idle` if the run is not running, has events after
    /// its last checkpoint, and none since the time in the options. The run's own thread checks
    /// regularly; a host with its own loop can call this too.
    ///
    /// # Errors
    ///
    /// As [`milepost::Task::checkpoint`], unless the run continues without it.
    pub fn autosave(&self) -> Result<Option<Checkpoint>> {
        match self.shared.options.autosave_after {
            Some(after) => self.shared.autosave(after),
            None => Ok(None),
        }
    }
}

impl Shared {
    fn autosave(&self, after: Duration) -> Result<Option<Checkpoint>> {
        if self.failing().is_some() {
            return Ok(None);
        }
        let task = self.task();
        let is_due = {
            let (mut due, mut idle) = (self.gathered.lock(), self.idle.lock());
            due.look(&task)?;
            is_due(&task, &due, &mut idle, after)?
        };
        if !is_due {
            return Ok(None);
        }
        self.save_if_possible(Mark::new().cause(MarkCause::Idle))
    }
}

/// Returns `true` if a task is not running, has events after its last checkpoint, and has got none
/// for a time.
pub(super) fn is_due(
    task: &Task,
    due: &DueCheckpoint,
    idle: &mut Idle,
    after: Duration,
) -> Result<bool> {
    let head = task.head()?.next;
    let Some(last) = head.checked_sub(1) else {
        return Ok(false);
    };
    if last < due.saved_to() || task.control()? == RunControl::Running {
        return Ok(false);
    }
    let time_us = match idle.is_unchanged(head) {
        true => 0,
        false => {
            let event = task.read(last..=last)?.next().transpose()?;
            event.map_or(0, |event| event.header.time_us)
        }
    };
    let idle_us = idle.idle_us(head, time_us, task.clock().now_us());
    Ok(u128::from(idle_us) >= after.as_micros())
}

/// Returns the time between two checks.
pub(super) fn every(after: Duration) -> Duration {
    (after / LOOKS).max(Duration::from_millis(10))
}

/// The autosave thread.
#[derive(Debug)]
pub(super) struct Watcher {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Watcher {
    pub(super) fn start(shared: &Arc<Shared>, after: Duration) -> Result<Self> {
        let (stop, stopped) = crossbeam_channel::bounded(1);
        // A weak reference: the store closes when all other handles are dropped.
        let shared: Weak<Shared> = Arc::downgrade(shared);
        let every = every(after);
        let work = move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let Some(shared) = shared.upgrade() else {
                    return;
                };
                if let Err(error) = shared.autosave(after) {
                    match error.kind() {
                        // The store is closed, or the run has to notice a new activation first.
                        ErrorKind::Unavailable | ErrorKind::Conflict => {}
                        _ => tracing::error!("an idle run could not be saved: {error}"),
                    }
                }
            }
        };
        let thread = threads::start("autosave", work)?;
        Ok(Self { stop, thread })
    }

    pub(super) fn stop(self) {
        let _ = self.stop.send(());
        // A run that is dropped by its own thread cannot join it.
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

    #[test]
    fn an_activation_begins_the_time_anew() {
        let mut idle = Idle::activated(300);
        assert_eq!(idle.idle_us(5, 100, 310), 10);
        assert_eq!(idle.idle_us(5, 100, 400), 100);
        assert_eq!(idle.idle_us(6, 390, 400), 10);
    }
}
