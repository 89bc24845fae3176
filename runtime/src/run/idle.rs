//! The time without events of a task that is not running.

use std::time::Duration;

use milepost::events::{MarkCause, RunControl};
use milepost::internals::new_secret;
use milepost::{Mark, Offset, Result, Task};

use super::due::DueCheckpoint;

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
    if last < due.saved_to || task.control().now()? == RunControl::Running {
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

/// Returns the mark of an idle save, with a correlation id of its own, as a request has one.
pub(super) fn idle_mark() -> Mark {
    let mark = Mark::new().cause(MarkCause::Idle);
    match new_secret() {
        Ok(bytes) => {
            let digits = bytes.iter().take(8).map(|byte| format!("{byte:02x}"));
            mark.correlation(format!("idle-{}", digits.collect::<String>()))
        }
        Err(_) => mark,
    }
}

/// Returns the time between two checks.
pub(super) fn every(after: Duration) -> Duration {
    (after / LOOKS).max(Duration::from_millis(10))
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
