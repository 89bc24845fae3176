//! State and progress of a workspace, and feeds of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use milepost::hooks::WorkspaceState;
use milepost::{Error, ErrorKind, Result};
use parking_lot::{Condvar, Mutex};

/// Minimum interval between reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// State and progress of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkspaceStatus {
    /// Current state.
    pub state: WorkspaceState,
    /// Number of files scanned so far.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Last error, until an operation succeeds.
    pub error: Option<String>,
}

#[derive(Debug, Default)]
struct StatusRecord {
    state: WorkspaceState,
    error: Option<String>,
    /// Number of state changes.
    changes: u64,
    /// Start of the operation under way.
    since: Option<Instant>,
    closed: bool,
}

/// The states of one workspace.
#[derive(Debug, Default)]
pub(crate) struct States {
    record: Mutex<StatusRecord>,
    changed: Condvar,
    files: AtomicU64,
    bytes: AtomicU64,
    read: AtomicU64,
}

/// Previous state, and the counts of an operation that ended.
#[derive(Debug, Default)]
pub(crate) struct Transition {
    pub(crate) before: WorkspaceState,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) read: u64,
    pub(crate) took_us: u64,
}

impl States {
    pub(crate) fn status(&self) -> WorkspaceStatus {
        self.status_of(&self.record.lock())
    }

    fn status_of(&self, record: &StatusRecord) -> WorkspaceStatus {
        WorkspaceStatus {
            state: record.state,
            files: self.files.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            error: record.error.clone(),
        }
    }

    /// Changes the state. `Unavailable`: `next` may not follow the current state.
    pub(crate) fn go(&self, next: WorkspaceState, error: Option<&Error>) -> Result<Transition> {
        let mut record = self.record.lock();
        if !follows(record.state, next) {
            let message = match record.state {
                WorkspaceState::Creating => "the workspace is being captured",
                WorkspaceState::Restoring => "the workspace is being restored",
                _ => "nothing is under way",
            };
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        let mut transition = Transition { before: record.state, ..Transition::default() };
        if matches!(next, WorkspaceState::Creating | WorkspaceState::Restoring) {
            record.since = Some(now());
            for count in [&self.files, &self.bytes, &self.read] {
                count.store(0, Ordering::Relaxed);
            }
        } else {
            record.error = error.map(ToString::to_string);
            let took = record.since.take().map(|since| since.elapsed().as_micros());
            transition.took_us = took.map_or(0, |us| u64::try_from(us).unwrap_or(u64::MAX));
            transition.files = self.files.load(Ordering::Relaxed);
            transition.bytes = self.bytes.load(Ordering::Relaxed);
            transition.read = self.read.load(Ordering::Relaxed);
        }
        record.state = next;
        record.changes += 1;
        self.changed.notify_all();
        Ok(transition)
    }

    /// Sets the number of files that were read.
    pub(crate) fn have_read(&self, files: u64) {
        self.read.store(files, Ordering::Relaxed);
    }

    /// Counts scanned files.
    pub(crate) fn count(&self, files: u64, bytes: u64) {
        self.files.fetch_add(files, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Ends all feeds.
    pub(crate) fn close(&self) {
        self.record.lock().closed = true;
        self.changed.notify_all();
    }
}

#[expect(clippy::disallowed_methods, reason = "how long something takes decides nothing")]
fn now() -> Instant {
    Instant::now()
}

/// Returns `true` if state `to` may follow `from`.
fn follows(from: WorkspaceState, to: WorkspaceState) -> bool {
    use WorkspaceState::{Creating, Error, Idle, Restoring};
    matches!(
        (from, to),
        (Idle | Error, Creating | Restoring) | (Creating | Restoring, Idle | Error) | (Error, Idle)
    )
}

/// Feed of status changes: see [`Workspace::statuses`](crate::Workspace::statuses).
#[derive(Debug)]
pub struct StatusFeed {
    states: Arc<States>,
    seen: u64,
    last: WorkspaceStatus,
}

impl StatusFeed {
    pub(crate) fn of(states: &Arc<States>) -> Self {
        let seen = states.record.lock().changes;
        Self { states: Arc::clone(states), seen, last: states.status() }
    }

    /// Waits at most `patience` for a change of the state or for progress, and returns the newest
    /// status; `None` after that time. Progress is reported at most ten times a second. States
    /// between two calls are not reported.
    pub fn next_within(&mut self, patience: Duration) -> Option<WorkspaceStatus> {
        let mut left = patience;
        loop {
            let step = left.min(PROGRESS_EVERY);
            let mut record = self.states.record.lock();
            if record.changes == self.seen && !record.closed {
                self.states.changed.wait_for(&mut record, step);
            }
            let status = self.states.status_of(&record);
            if record.changes != self.seen || status != self.last {
                self.seen = record.changes;
                self.last = status.clone();
                return Some(status);
            }
            left = left.saturating_sub(step);
            if record.closed || left.is_zero() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WorkspaceState::{Creating, Error as Failed, Idle, Restoring};
    use super::*;

    #[test]
    fn a_state_follows_only_what_the_table_says() {
        let legal = [
            (Idle, Creating),
            (Idle, Restoring),
            (Creating, Idle),
            (Creating, Failed),
            (Restoring, Idle),
            (Restoring, Failed),
            (Failed, Creating),
            (Failed, Restoring),
            (Failed, Idle),
        ];
        for from in [Idle, Creating, Restoring, Failed] {
            for to in [Idle, Creating, Restoring, Failed] {
                assert_eq!(follows(from, to), legal.contains(&(from, to)), "{from:?} {to:?}");
            }
        }
    }

    #[test]
    fn a_feed_tells_the_newest_state_and_what_went_wrong() {
        let states = Arc::new(States::default());
        let mut feed = StatusFeed::of(&states);
        assert_eq!(feed.next_within(Duration::ZERO), None);
        states.go(Creating, None).unwrap();
        states.count(1, 5);
        let status = feed.next_within(Duration::ZERO).unwrap();
        assert_eq!((status.state, status.files, status.bytes), (Creating, 1, 5));
        assert_eq!(states.go(Restoring, None).unwrap_err().kind(), ErrorKind::Unavailable);
        states.go(Failed, Some(&Error::invalid("no room"))).unwrap();
        let status = feed.next_within(Duration::ZERO).unwrap();
        assert_eq!((status.state, status.error.as_deref()), (Failed, Some("no room")));
        states.go(Idle, None).unwrap();
        assert_eq!(feed.next_within(Duration::ZERO).unwrap().error, None);
        states.close();
        assert_eq!(feed.next_within(Duration::from_secs(60)), None);
    }
}
