//! The hooks' own thread. It reads events from the log when the hooks are ready for them.

use std::ops::Range;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use milepost_codec::{Error, ErrorKind, LogId, LogKind, Offset, Result};
use milepost_replay::Event;
use milepost_store::threads;

use super::queue::DeliveryQueue;
use super::{Hooks, TaskId};
use crate::history::catalog::Catalog;
use crate::history::events::{Cursor, event};

/// Handle on the hooks' thread.
pub(super) struct Delivery {
    queue: Arc<DeliveryQueue>,
    /// Signals each delivery. Disconnected when the thread ends.
    told: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Delivery {
    /// Starts the thread for hooks that want events.
    pub(super) fn start(hooks: Hooks, catalog: Catalog) -> Result<Self> {
        let queue = Arc::new(DeliveryQueue::default());
        let (tell, told) = crossbeam_channel::bounded(1);
        let delivery =
            DeliveryThread { hooks, catalog, queue: Arc::clone(&queue), told: tell, task: None };
        let thread = threads::start("hooks", move || delivery.run())?;
        Ok(Self { queue, told, thread })
    }

    /// Returns the queue for growth of logs.
    pub(super) fn queue(&self) -> Arc<DeliveryQueue> {
        Arc::clone(&self.queue)
    }

    /// Delivers the queued events and ends the thread. If one call of a hook takes longer
    /// than `patience`, the rest is dropped: a hook that hangs cannot be ended.
    pub(super) fn stop(self, patience: Duration) {
        self.queue.close();
        // A hook that closes the store would otherwise wait for itself.
        let itself = self.thread.thread().id() == std::thread::current().id();
        loop {
            let waited = match itself {
                true => Err(RecvTimeoutError::Timeout),
                false => self.told.recv_timeout(patience),
            };
            match waited {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = self.thread.join();
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {
                    let events = self.queue.abandon();
                    tracing::warn!(
                        "a hook is still busy and the store is closed: hooks are not told of \
                         {events} events that waited behind it"
                    );
                    return;
                }
            }
        }
    }
}

/// State of the thread. It holds no engine, so that the store can close without it.
struct DeliveryThread {
    hooks: Hooks,
    catalog: Catalog,
    queue: Arc<DeliveryQueue>,
    told: Sender<()>,
    /// The task of the last event.
    task: Option<TaskId>,
}

impl DeliveryThread {
    fn run(mut self) {
        while let Some((log, offsets)) = self.queue.next() {
            self.events(log, offsets);
        }
    }

    /// Delivers the events of a log at these offsets. Unreadable events are skipped.
    fn events(&mut self, log: LogId, offsets: Range<Offset>) {
        let mut next = offsets.start;
        let mut unread: Option<(Offset, Error)> = None;
        while next < offsets.end {
            match self.extent(log, next..offsets.end, &mut unread) {
                Ok(to) => next = to,
                // The store is closed, so the thread ends.
                Err(_) if self.queue.has_ended() => return,
                // The task was deleted in between.
                Err((_, error)) if error.kind() == ErrorKind::NotFound => return,
                Err((at, error)) if error.kind() == ErrorKind::Unavailable => {
                    tracing::error!(
                        "hooks are not told of {log} from offset {at} to {}: {error}",
                        offsets.end
                    );
                    return;
                }
                Err((at, error)) => {
                    unread.get_or_insert((at, error));
                    next = at + 1;
                }
            }
        }
        passed_over(log, &mut unread, offsets.end);
    }

    /// Delivers events up to the first unreadable one, whose offset is in the error. Returns the
    /// end.
    fn extent(
        &mut self,
        log: LogId,
        offsets: Range<Offset>,
        unread: &mut Option<(Offset, Error)>,
    ) -> std::result::Result<Offset, (Offset, Error)> {
        let LogKind::Lineage(lineage) = log.kind else {
            return Ok(offsets.end);
        };
        let task = self.task(log).map_err(|error| (offsets.start, error))?;
        let store = Arc::clone(self.catalog.log());
        let erased = self.catalog.erased_of(log.task);
        let mut cursor = Cursor::new(&store, log, offsets.start);
        for offset in offsets.clone() {
            let read = cursor.next_record(|at, record| {
                event(&store, lineage, at, record, erased.has(lineage, at))
            });
            let missing = || Error::corrupt(format!("{log} at offset {offset}"), "it", "nothing");
            let event = read.and_then(|read| read.ok_or_else(missing));
            let event = event.map_err(|error| (offset, error))?;
            passed_over(log, unread, offset);
            self.tell(&task, &event);
            if self.queue.has_ended() {
                return Ok(Offset::MAX);
            }
        }
        Ok(offsets.end)
    }

    fn tell(&self, task: &TaskId, event: &Event) {
        self.hooks.tell("an event", |hook| {
            hook.on_event(task, event);
            // The patience of closing is for one call, not for all calls of an event.
            let _ = self.told.try_send(());
        });
    }

    fn task(&mut self, log: LogId) -> Result<TaskId> {
        match &self.task {
            Some(task) if task.no == log.task => Ok(task.clone()),
            _ => {
                let entry = self.catalog.task(log.task)?;
                let (id, user, no) = (entry.name, entry.user, log.task);
                let task = TaskId { id, user, no };
                Ok(self.task.insert(task).clone())
            }
        }
    }
}

/// Logs consecutive unreadable events once.
fn passed_over(log: LogId, unread: &mut Option<(Offset, Error)>, to: Offset) {
    if let Some((from, error)) = unread.take() {
        tracing::error!("hooks are not told of {log} from offset {from} to {to}: {error}");
    }
}
