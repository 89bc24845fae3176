//! Queue of the commands that run after an operation, and the thread that runs them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Duration;

use milepost::internals::threads;
use parking_lot::{Condvar, Mutex};

/// Maximum number of queued jobs. Further jobs are dropped.
const JOBS_MAX: usize = 64;

/// A run of a command, or the report of a failure.
type Job = Box<dyn FnOnce() + Send>;

/// The queue. Its thread runs only while there are jobs, so that nothing has to end it.
#[derive(Default)]
pub(super) struct CommandQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// The thread, from the first job until none is left.
    thread: Option<ThreadId>,
    /// The number of jobs that ended.
    done: u64,
    skipped: u64,
    /// `true` after a flush: the store is closed, and no job is taken any more.
    ended: bool,
}

impl CommandQueue {
    /// Queues a job, and starts the thread if there is none.
    pub(super) fn push(self: &Arc<Self>, job: Job) {
        let mut state = self.state.lock();
        if state.ended {
            return;
        }
        if state.jobs.len() >= JOBS_MAX {
            state.skipped += 1;
            return;
        }
        state.jobs.push_back(job);
        if state.thread.is_some() {
            return;
        }
        let queue = Arc::clone(self);
        match threads::start("commands", move || queue.run()) {
            Ok(thread) => state.thread = Some(thread.thread().id()),
            Err(error) => {
                state.jobs.clear();
                tracing::error!("a command of a hook is left out: {error}");
            }
        }
    }

    fn run(&self) {
        let mut state = self.state.lock();
        while let Some(job) = state.jobs.pop_front() {
            let skipped = std::mem::take(&mut state.skipped);
            drop(state);
            if skipped > 0 {
                tracing::warn!("{skipped} calls of hooks were left out: {JOBS_MAX} waited already");
            }
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("a call of a hook panicked");
            }
            state = self.state.lock();
            state.done += 1;
            self.changed.notify_all();
        }
        state.thread = None;
        self.changed.notify_all();
    }

    /// Waits until no job is left, and takes none afterwards. If one job takes longer than
    /// `at_most`, the rest is dropped.
    pub(super) fn flush(&self, at_most: Duration) {
        let mut state = self.state.lock();
        // A hook that closes the store on the thread of the commands cannot wait for it.
        let is_own = state.thread == Some(std::thread::current().id());
        while state.thread.is_some() && !state.ended {
            let done = state.done;
            if !is_own {
                let is_busy = |state: &mut State| state.thread.is_some() && state.done == done;
                self.changed.wait_while_for(&mut state, is_busy, at_most);
            }
            if state.thread.is_some() && state.done == done {
                state.ended = true;
                let jobs = std::mem::take(&mut state.jobs);
                drop(state);
                tracing::warn!(
                    "a hook is still busy and the store is closed: {} calls that waited behind it \
                     are left out",
                    jobs.len()
                );
                return;
            }
        }
        state.ended = true;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Queues a job that waits, and returns when it has begun.
    fn busy(queue: &Arc<CommandQueue>) -> Sender<()> {
        let (begin, begun) = channel();
        let (leave, left): (_, Receiver<()>) = channel();
        queue.push(Box::new(move || {
            begin.send(()).unwrap();
            let _ = left.recv();
        }));
        begun.recv().unwrap();
        leave
    }

    fn count(queue: &Arc<CommandQueue>, jobs: usize) -> Arc<AtomicUsize> {
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..jobs {
            let done = Arc::clone(&done);
            queue.push(Box::new(move || {
                done.fetch_add(1, Ordering::Relaxed);
            }));
        }
        done
    }

    #[test]
    fn jobs_over_the_limit_are_left_out() {
        let queue = Arc::new(CommandQueue::default());
        let leave = busy(&queue);
        let done = count(&queue, JOBS_MAX + 5);
        assert_eq!(queue.state.lock().skipped, 5);
        drop(leave);
        queue.flush(LONG);
        assert_eq!(done.load(Ordering::Relaxed), JOBS_MAX);
    }

    #[test]
    fn a_flush_waits_for_each_job_and_no_job_is_taken_afterwards() {
        let queue = Arc::new(CommandQueue::default());
        queue.push(Box::new(|| panic!("told to")));
        let done = count(&queue, 10);
        queue.flush(LONG);
        assert_eq!(done.load(Ordering::Relaxed), 10);
        count(&queue, 1);
        let state = queue.state.lock();
        assert!(state.jobs.is_empty() && state.thread.is_none());
    }

    #[test]
    fn a_job_that_hangs_is_waited_for_once_and_those_behind_it_are_dropped() {
        let queue = Arc::new(CommandQueue::default());
        let leave = busy(&queue);
        let done = count(&queue, 10);
        queue.flush(Duration::from_millis(1));
        queue.flush(LONG);
        let after = count(&queue, 1);
        drop(leave);
        while queue.state.lock().thread.is_some() {
            std::thread::yield_now();
        }
        assert_eq!((done.load(Ordering::Relaxed), after.load(Ordering::Relaxed)), (0, 0));
    }

    #[test]
    fn a_job_that_flushes_its_own_queue_returns() {
        let queue = Arc::new(CommandQueue::default());
        let itself = Arc::clone(&queue);
        let (notify, notified) = channel();
        queue.push(Box::new(move || {
            itself.flush(LONG);
            notify.send(()).unwrap();
        }));
        notified.recv_timeout(LONG).unwrap();
    }
}
