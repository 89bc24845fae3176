//! Autosave: marks a checkpoint of a run that is not running and has events after its last
//! checkpoint, after a time without events.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender};
use milepost::events::MarkCause;
use milepost::internals::threads;
use milepost::{Checkpoint, ErrorKind, Mark, Result};

use super::Run;
use super::idle::{every, idle_mark, is_due};
use super::shared::Shared;

impl Run {
    /// Checks once: marks a checkpoint of cause `idle` if the run is not running, has events after
    /// its last checkpoint, and none since the time in the options. The run's own thread checks
    /// regularly; a host with its own loop can call this too.
    ///
    /// # Errors
    ///
    /// As [`milepost::Lineage::checkpoint`], unless the run continues without it.
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
        let mark = match self.options.context.correlation {
            Some(_) => Mark::new().cause(MarkCause::Idle),
            None => idle_mark(),
        };
        self.save_if_possible(mark)
    }
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
