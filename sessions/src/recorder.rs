//! The handle of a recorder.

use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use milepost::internals::threads;
use milepost::{Engine, Error, ErrorKind, Result};
use milepost_api::{HookRequest, HookTakenForm};
use parking_lot::Mutex;

use crate::options::RecorderOptions;
use crate::worker::{Work, Worker};

/// A recorder of the sessions in one project. It has one thread, which records one document after
/// the other.
#[derive(Debug)]
pub struct Recorder {
    works: Sender<Work>,
    ended: Receiver<()>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Recorder {
    /// Starts a recorder. Documents in the spool are recorded first.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the system refuses a thread. Errors of opening the project's folder, as
    /// [`Workspace::open`](milepost_workspace::Workspace::open).
    pub fn start(engine: &Engine, options: RecorderOptions) -> Result<Self> {
        let (works, given) = unbounded();
        let (end, ended) = bounded::<()>(0);
        let mut worker = Worker::new(engine, options, works.clone())?;
        let thread = threads::start("recorder", move || {
            worker.run(&given);
            drop(end);
        })?;
        Ok(Self { works, ended, thread: Mutex::new(Some(thread)) })
    }

    /// Records the document of a hook, and returns once the agent may continue. A document that was
    /// recorded before, by its id, is not recorded again.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the recorder ended. `Invalid`: the document is of another project. Otherwise
    /// as [`Lineage::append`](milepost::Lineage::append) and
    /// [`Workspace::capture`](milepost_workspace::Workspace::capture).
    pub fn take(&self, asked: HookRequest) -> Result<HookTakenForm> {
        let (reply, answer) = bounded(1);
        let sent = self.works.send(Work::Hook(Box::new(asked), reply));
        match sent.ok().and_then(|()| answer.recv().ok()) {
            Some(taken) => taken,
            None => Err(Error::new(ErrorKind::Unavailable, "the recorder of sessions ended")),
        }
    }

    /// Waits until the recorder ends.
    pub fn wait(&self) {
        // The other side is dropped at the end.
        let _ = self.ended.recv();
    }

    /// Ends the recorder after the documents it was given, and waits for the end.
    pub fn stop(&self) {
        let _ = self.works.send(Work::Stop);
        if let Some(thread) = self.thread.lock().take() {
            // A panic of the thread was already reported.
            let _ = thread.join();
        }
    }
}
