//! The committer: many callers, one order, one sync for all that has gathered.
//!
//! ```text
//! request  an append, encoded and hashed on the thread of its caller
//! results  the result that a caller waits for
//! leader   admits requests and commits them as one batch
//! plan     computes everything that a request adds, before anything changes
//! watch    wakes readers of new events
//! ```
//!
//! Whoever finds nobody leading leads: it takes what has gathered, commits it and hands out the
//! results. So a single writer never waits for another thread. What gathers meanwhile is led by
//! the next, or by a thread kept for it.

#[cfg(all(test, shuttle))]
mod interleavings;
mod leader;
mod plan;
mod request;
mod results;
mod watch;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use milepost_codec::{Error, ErrorKind, LogId, Result, TaskNo};

pub(crate) use leader::{BackgroundJob, Leader};
use milepost_store::Log;
use milepost_store::clock::Stopwatch;
use milepost_store::metrics::Meters;
use milepost_store::sync::channel::{Receiver, Sender};
use milepost_store::sync::{Condvar, Mutex};
pub(crate) use request::{Activate, Part, PartBuilder, Request};
use results::{Answer, ResultGate, Results, hand_out};
pub(crate) use results::{CommitResult, Marked, Slot};
pub(crate) use watch::{GrowthSink, Watch, Watchers};

use crate::history::catalog::Catalog;

/// What may wait in the queue, in bytes, before callers wait too.
const QUEUE_BYTES: usize = 16 << 20;

/// What one commit takes at most, in bytes, unless a single request has more.
const COMMIT_BYTES: usize = 4 << 20;

#[derive(Default)]
struct Queue {
    requests: VecDeque<(Request, Answer)>,
    /// Where those wait who gather now.
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
    errands: Sender<BackgroundJob>,
    meters: Arc<Meters>,
}

impl Committer {
    /// A committer over a log, with a thread that leads where no caller does, and that ends with
    /// it. Lineages whose snapshot is due are sent to `errands`.
    pub(crate) fn start(
        catalog: Catalog,
        errands: Sender<BackgroundJob>,
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
            errands,
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

    /// Queues a request; the result comes through the slot.
    pub(crate) fn submit(&self, request: Request) -> Result<Arc<Slot>> {
        let begun = request.begun();
        let slot = self.enqueue(request, begun)?;
        let _ = self.wake.try_send(());
        Ok(slot)
    }

    /// The same where that needs no wait; nothing where too much is queued.
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

    /// Commits a request and waits for it.
    pub(crate) fn commit(&self, request: Request) -> Result<CommitResult> {
        let begun = request.begun();
        let slot = self.enqueue(request, None)?;
        // Whoever holds the lead looks at the queue again after letting go of it.
        if let Some(mut lead) = self.lead.try_lock() {
            let results = self.commit_gathered(&mut lead, Some(&slot));
            drop(lead);
            // The next commit begins while those of this one are told.
            self.pass_on();
            hand_out(results, Some(&slot), &self.meters);
        }
        let done = slot.wait();
        if let (Ok(_), Some(begun)) = (&done, begun) {
            self.meters.append_us.record(begun.us());
        }
        done
    }

    /// Returns an error where nothing can be committed: in a forked child, and to a log that was
    /// opened for reading.
    fn check_writable(&self) -> Result<()> {
        self.log.owner().check()?;
        self.log.check_writable()
    }

    /// Queues a request. Of one that nobody waits for here, `begun` says when it was begun.
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

    /// Wakes the thread where something has gathered that nobody leads.
    fn pass_on(&self) {
        if !self.queue.lock().requests.is_empty() {
            let _ = self.wake.try_send(());
        }
    }

    /// Commits what has gathered and gives the results: none where there was nothing. Who leads
    /// does not wait for `own`.
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
            // The leader refuses all requests from then on. Those that it had taken are answered
            // when they are dropped.
            let commit = || lead.commit(&mut taken, &mut results);
            let Ok(grown) = catch_unwind(AssertUnwindSafe(commit)) else {
                taken.clear();
                break;
            };
            for (log, offsets, due) in grown {
                self.watchers.wake(log, offsets);
                if let Some(due) = due {
                    let _ = self.errands.try_send(BackgroundJob::Snapshot(due));
                }
            }
        }
        lead.keep_room(taken);
        results
    }

    /// Does something while nothing is committed, after which all that is known of logs is read
    /// again.
    pub(crate) fn hold<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut lead = self.lead.lock();
        let done = work();
        lead.forget();
        drop(lead);
        self.pass_on();
        done
    }

    /// Tells whoever watches a log of every commit to it.
    pub(crate) fn watch(&self, log: LogId) -> Watch {
        self.watchers.watch(log)
    }

    /// Tells whoever watches several logs of every commit to one of them.
    pub(crate) fn watch_all(&self, logs: &[LogId]) -> Watch {
        self.watchers.watch_all(logs)
    }

    /// Signals every watch on a log of a task.
    pub(crate) fn wake_task(&self, task: TaskNo) {
        self.watchers.wake_task(task);
    }

    /// Has growth of logs noted for hooks from now on.
    pub(crate) fn feed(&self, sink: Arc<dyn GrowthSink>) {
        self.watchers.feed(sink);
    }

    /// Refuses requests from now on and waits for those that are queued.
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
        // What was queued between the last look and letting go of the lead.
        committer.pass_on();
    }
}
