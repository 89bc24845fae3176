//! The committer: puts the requests of many callers in one order and commits them with one sync.
//!
//! ```text
//! request    an append, encoded and hashed on the thread of its caller
//! results    the result that a caller waits for
//! leader     admits requests and commits them as one batch
//! plan       computes everything that a request adds, before anything changes
//! overtaken  refuses requests that were computed from an earlier capture
//! watch      wakes readers of new events
//! ```
//!
//! If no thread is the leader, the caller becomes the leader: it takes the queued requests, commits
//! them and hands out the results. So a single writer never waits for another thread. Requests that
//! arrive during a commit are committed by the next leader, or by a dedicated thread.

mod leader;
mod log_append;
mod overtaken;
mod plan;
mod request;
mod results;
#[cfg(all(test, shuttle))]
mod tests;
mod watch;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use milepost_codec::{Error, ErrorKind, LogId, Result, TaskNo};

pub(crate) use leader::{BackgroundJob, Leader, SnapshotDue, outdated};
pub(crate) use log_append::LogAppend;
use milepost_store::Log;
use milepost_store::clock::Stopwatch;
use milepost_store::metrics::Meters;
use milepost_store::sync::channel::{Receiver, Sender};
use milepost_store::sync::{Condvar, Mutex};
pub(crate) use overtaken::is_overtaken;
pub(crate) use request::Request;
use results::{Answer, ResultGate, Results, hand_out};
pub(crate) use results::{CommitResult, Marked, Slot};
pub(crate) use watch::{GrowthSink, Watch, Watchers};

use crate::history::catalog::Catalog;

/// Queued bytes above which callers wait.
const QUEUE_BYTES: usize = 16 << 20;

/// Maximum bytes of one commit, unless a single request is larger.
const COMMIT_BYTES: usize = 4 << 20;

#[derive(Default)]
struct Queue {
    requests: VecDeque<(Request, Answer)>,
    /// The gate at which callers of queued requests wait.
    gate: Arc<ResultGate>,
    bytes: usize,
    closed: bool,
}

/// Takes requests and commits them in order.
pub(crate) struct Committer {
    log: Arc<dyn Log>,
    lead: Mutex<Leader>,
    queue: Mutex<Queue>,
    room: Condvar,
    wake: Sender<()>,
    watchers: Watchers,
    jobs: Sender<BackgroundJob>,
    meters: Arc<Meters>,
}

impl Committer {
    /// Creates a committer over a log. Its thread leads when no caller does, and ends with the
    /// committer. Lineages with a due snapshot are sent to `jobs`.
    pub(crate) fn start(
        catalog: Catalog,
        jobs: Sender<BackgroundJob>,
        meters: Arc<Meters>,
    ) -> Result<Arc<Self>> {
        let (wake, woken) = milepost_store::sync::channel::bounded(1);
        let committer = Arc::new(Self {
            log: Arc::clone(catalog.log()),
            lead: Mutex::new(Leader::new(catalog, Arc::clone(&meters))),
            queue: Mutex::default(),
            room: Condvar::new(),
            wake,
            watchers: Watchers::default(),
            jobs,
            meters,
        });
        let thread = {
            let committer = Arc::downgrade(&committer);
            milepost_store::sync::thread::Builder::new().name("milepost-committer".into()).spawn(
                move || {
                    run(&woken, &committer);
                },
            )
        };
        match thread {
            Ok(_) => Ok(committer),
            Err(e) => {
                Err(Error::new(ErrorKind::Unavailable, format!("cannot start a thread: {e}")))
            }
        }
    }

    /// Queues a request. The result comes through the slot.
    pub(crate) fn submit(&self, request: Request) -> Result<Arc<Slot>> {
        let begun = request.begun();
        let slot = self.enqueue(request, begun)?;
        let _ = self.wake.try_send(());
        Ok(slot)
    }

    /// Queues a request without waiting. Returns `None` if too much is queued.
    pub(crate) fn try_submit(&self, request: Request) -> Result<Option<Arc<Slot>>> {
        self.check_writable()?;
        let begun = request.begun();
        let mut queue = self.queue.lock();
        if queue.bytes > QUEUE_BYTES && !queue.closed {
            return Ok(None);
        }
        let slot = self.put(&mut queue, request, begun)?;
        drop(queue);
        let _ = self.wake.try_send(());
        Ok(Some(slot))
    }

    /// Commits a request and waits for its result.
    pub(crate) fn commit(&self, request: Request) -> Result<CommitResult> {
        let begun = request.begun();
        let slot = self.enqueue(request, None)?;
        // A thread that holds the lead checks the queue again after it releases the lead.
        if let Some(mut lead) = self.lead.try_lock() {
            let results = self.commit_gathered(&mut lead, Some(&slot));
            drop(lead);
            // The next commit begins while the results of this one are handed out.
            self.pass_on();
            hand_out(results, Some(&slot), &self.meters);
        }
        let done = slot.wait();
        if let (Ok(_), Some(begun)) = (&done, begun) {
            self.meters.append_us.record(begun.us());
        }
        done
    }

    /// Returns an error if nothing can be committed: in a forked child, or if the log was opened
    /// for reading.
    fn check_writable(&self) -> Result<()> {
        self.log.owner().check()?;
        self.log.check_writable()
    }

    /// Queues a request. `begun` is the start of a request whose caller does not wait here.
    fn enqueue(&self, request: Request, begun: Option<Stopwatch>) -> Result<Arc<Slot>> {
        self.check_writable()?;
        let mut queue = self.queue.lock();
        while queue.bytes > QUEUE_BYTES && !queue.closed {
            self.room.wait(&mut queue);
        }
        self.put(&mut queue, request, begun)
    }

    fn put(
        &self,
        queue: &mut Queue,
        request: Request,
        begun: Option<Stopwatch>,
    ) -> Result<Arc<Slot>> {
        if queue.closed {
            let closed = Error::new(ErrorKind::Unavailable, "the store is closed");
            return self.meters.refused(Err(closed));
        }
        let slot = Arc::new(Slot::new(Arc::clone(&queue.gate), begun));
        queue.bytes += request.bytes();
        queue.requests.push_back((request, Answer::new(&slot)));
        Ok(slot)
    }

    /// Wakes the thread if requests are queued without a leader.
    fn pass_on(&self) {
        if !self.queue.lock().requests.is_empty() {
            let _ = self.wake.try_send(());
        }
    }

    /// Commits the queued requests and returns the results, which are empty if nothing was queued.
    /// The leader's caller does not wait for `own`.
    fn commit_gathered(&self, lead: &mut Leader, own: Option<&Arc<Slot>>) -> Results {
        let mut taken = lead.room();
        {
            let mut queue = self.queue.lock();
            let mut bytes = 0;
            while let Some((request, answer)) = queue.requests.pop_front() {
                bytes += request.bytes();
                queue.bytes = queue.bytes.saturating_sub(request.bytes());
                taken.push_back((request, answer));
                if bytes >= COMMIT_BYTES {
                    break;
                }
            }
            let mut others = taken.iter().filter(|(_, answer)| !answer.is(own));
            if queue.requests.is_empty() && others.next().is_some() {
                queue.gate = Arc::default();
            }
        }
        if !taken.is_empty() {
            self.room.notify_all();
        }
        let mut results = Results::with_capacity(taken.len());
        while !taken.is_empty() {
            // After a panic the leader refuses all later requests. Requests that it had taken are
            // answered when they are dropped.
            let commit = || lead.commit(&mut taken, &mut results);
            let Ok(grown) = catch_unwind(AssertUnwindSafe(commit)) else {
                taken.clear();
                break;
            };
            for (log, offsets, due) in grown {
                self.watchers.wake(log, offsets);
                if let Some(due) = due {
                    let _ = self.jobs.try_send(BackgroundJob::Snapshot(due));
                }
            }
        }
        lead.keep_room(taken);
        results
    }

    /// Runs `work` while no commit is in progress, then clears the leader's caches.
    pub(crate) fn hold<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut lead = self.lead.lock();
        let done = work();
        lead.forget();
        drop(lead);
        self.pass_on();
        done
    }

    /// Watches a log: every commit to it sets the signal.
    pub(crate) fn watch(&self, log: LogId) -> Watch {
        self.watchers.watch(log)
    }

    /// Watches several logs: every commit to one of them sets the signal.
    pub(crate) fn watch_all(&self, logs: &[LogId]) -> Watch {
        self.watchers.watch_all(logs)
    }

    /// Signals every watch on a log of a task.
    pub(crate) fn wake_task(&self, task: TaskNo) {
        self.watchers.wake_task(task);
    }

    /// Reports growth of logs to a sink from now on.
    pub(crate) fn set_sink(&self, sink: Arc<dyn GrowthSink>) {
        self.watchers.set_sink(sink);
    }

    /// Refuses requests from now on and commits those that are queued.
    pub(crate) fn close(&self) {
        self.queue.lock().closed = true;
        self.room.notify_all();
        let mut lead = self.lead.lock();
        loop {
            let results = self.commit_gathered(&mut lead, None);
            if results.is_empty() {
                break;
            }
            hand_out(results, None, &self.meters);
        }
        drop(lead);
        self.watchers.close();
    }
}

fn run(woken: &Receiver<()>, committer: &std::sync::Weak<Committer>) {
    while woken.recv().is_ok() {
        let Some(committer) = committer.upgrade() else {
            return;
        };
        loop {
            let results = {
                let mut lead = committer.lead.lock();
                committer.commit_gathered(&mut lead, None)
            };
            if results.is_empty() {
                break;
            }
            hand_out(results, None, &committer.meters);
        }
        // Requests that were queued between the last check and the release of the lead.
        committer.pass_on();
    }
}
