//! The handle of a recorder.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use milepost::internals::threads;
use milepost::{Engine, Error, ErrorKind, Result};
use milepost_agents::{Environment, Spool};
use milepost_api::{HookAsked, HookTakenForm};
use parking_lot::Mutex;

use crate::worker::{Work, Worker};

/// Options of a recorder.
#[derive(Debug, Clone)]
pub struct RecorderOptions {
    pub(crate) project: PathBuf,
    pub(crate) user: String,
    pub(crate) environment: Environment,
    pub(crate) spool: Option<Spool>,
    pub(crate) has_files: bool,
    pub(crate) idle: Option<Duration>,
}

impl RecorderOptions {
    /// Creates the options for a project, whose tasks belong to a user.
    pub fn new(project: impl AsRef<Path>, user: impl Into<String>) -> Self {
        Self {
            project: milepost_agents::real(project.as_ref()),
            user: user.into(),
            environment: Environment::default(),
            spool: None,
            has_files: true,
            idle: None,
        }
    }

    /// Sets the variables that name the folders of agents. Session files elsewhere are not read.
    /// Default: none, and no session file is read.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets the spool whose documents are recorded too. Default: none.
    #[must_use]
    pub fn spool(mut self, spool: Spool) -> Self {
        self.spool = Some(spool);
        self
    }

    /// Captures the project's folder. Default: yes.
    #[must_use]
    pub fn files(mut self, capture: bool) -> Self {
        self.has_files = capture;
        self
    }

    /// Ends the recorder this long after the last document, once no agent of its sessions lives.
    /// Default: never.
    #[must_use]
    pub fn idle(mut self, at_most: Duration) -> Self {
        self.idle = Some(at_most);
        self
    }
}

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
    /// `Unavailable`: the recorder ended. `Invalid`: the document is of another project. Others as
    /// [`Task::append`](milepost::Task::append) and
    /// [`Workspace::capture`](milepost_workspace::Workspace::capture).
    pub fn take(&self, asked: HookAsked) -> Result<HookTakenForm> {
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
