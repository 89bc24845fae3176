//! The thread of a recorder: one document after the other.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use milepost::{Engine, Error, ErrorKind, Result};
use milepost_agents::documents::{self, AgentEvent, AgentEventKind, Document};
use milepost_agents::{Agent, Environment};
use milepost_api::{HookAsked, HookTakenForm};
use milepost_formats::{HOOK_KEY, continued};
use milepost_workspace::{Workspace, WorkspaceOptions};
use tracing::{info, warn};

use crate::events::{Heard, Place, Reply};
use crate::process::at_end_of;
use crate::recorder::RecorderOptions;
use crate::session::Session;

/// How long after a hook's call its agent continues without an answer, in microseconds.
const PATIENCE_US: u64 = 1_900_000;

/// Most bytes of the id of a session that is a task.
const TASK_MAX: usize = 150;

/// A piece of work for the thread.
#[derive(Debug)]
pub(crate) enum Work {
    /// A document, and where its answer goes.
    Hook(Box<HookAsked>, Sender<Result<HookTakenForm>>),
    /// The process of a session ended.
    Gone { session: String, process: u32 },
    /// The recorder ends.
    Stop,
}

/// The state of the thread.
#[derive(Debug)]
pub(crate) struct Worker {
    place: Place,
    options: RecorderOptions,
    sessions: HashMap<String, Session>,
    own: Sender<Work>,
}

impl Worker {
    pub(crate) fn new(
        engine: &Engine,
        options: RecorderOptions,
        own: Sender<Work>,
    ) -> Result<Self> {
        let workspace = match options.has_files {
            true => {
                let watched = WorkspaceOptions::default().watch(true);
                Some(Workspace::open(&options.project, watched)?)
            }
            false => None,
        };
        let place = Place { engine: engine.clone(), workspace };
        Ok(Self { place, options, sessions: HashMap::new(), own })
    }

    /// Works until the recorder is stopped, or was idle for long.
    pub(crate) fn run(&mut self, given: &Receiver<Work>) {
        self.take_spooled();
        loop {
            let work = match self.options.idle {
                Some(idle) => given.recv_timeout(idle),
                None => given.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match work {
                Ok(Work::Hook(asked, to)) => {
                    // What waits is from before.
                    self.take_spooled();
                    let mut reply = Reply::new(Some(to));
                    let done = self.hook(&asked, false, &mut reply);
                    if let Err(error) = &done {
                        warn!(target: "milepost::sessions", %error, "a hook is not recorded");
                    }
                    reply.send(done.map(|()| HookTakenForm::default()));
                }
                Ok(Work::Gone { session, process }) => self.gone(&session, process),
                Err(RecvTimeoutError::Timeout) if self.lives() => {}
                Ok(Work::Stop) | Err(_) => return,
            }
        }
    }

    /// Returns `true` if the process of a session lives.
    fn lives(&self) -> bool {
        self.sessions.values().any(|session| session.process.is_some())
    }

    /// Records the documents that wait in the spool.
    fn take_spooled(&mut self) {
        let Some(spool) = self.options.spool.clone() else { return };
        let waiting = spool.waiting(&self.options.project).unwrap_or_else(|error| {
            warn!(target: "milepost::sessions", %error, "the spool cannot be read");
            Vec::new()
        });
        for place in waiting {
            let done = match spool.read(&place) {
                Ok(asked) => self.hook(&asked, true, &mut Reply::new(None)),
                // A file that is no document is kept for a person to look at.
                Err(error) => {
                    let place = place.display();
                    warn!(target: "milepost::sessions", %place, %error, "no document of a hook");
                    continue;
                }
            };
            match done {
                Ok(()) => drop(spool.remove(&place)),
                // The order counts: the others wait, too.
                Err(error) => {
                    warn!(target: "milepost::sessions", %error, "documents wait in the spool");
                    return;
                }
            }
        }
    }

    /// Records one document.
    fn hook(&mut self, asked: &HookAsked, is_spooled: bool, reply: &mut Reply) -> Result<()> {
        let project = milepost_agents::project(asked);
        if project != self.options.project {
            let text = format!("the project is {}", self.options.project.display());
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let Some(event) = event(asked) else { return Ok(()) };
        let key = format!("{HOOK_KEY}{}", asked.id);
        let is_new = self.open(asked, &event)?;
        let is_shared = self.mark_shared(&event);
        let Some(session) = self.sessions.get_mut(&event.session) else { return Ok(()) };
        let task = started(&self.place.engine, &session.task, &self.options.user)?;
        if task.lineage().appended_under(&key)?.is_some() {
            return Ok(());
        }
        let limit_us = asked.time_us.0.saturating_add(PATIENCE_US);
        let heard = Heard { asked, event: &event, key: &key, is_spooled, limit_us, is_shared };
        if is_new || matches!(event.kind, AgentEventKind::SessionStarted { .. }) {
            self.place.opened(session, &heard)?;
        }
        session.follow(&self.place.engine, &event, &environment(asked, &self.options.environment));
        let before = task.lineage().id();
        session.lineage.get_or_insert(before);
        self.place.record(session, &heard, reply)?;
        // Lines of the session may have opened a lineage.
        session.note_lineage(&self.place.engine, before)
    }

    /// Adds a session that is not known, and watches its process. Returns `true` if it is new.
    fn open(&mut self, asked: &HookAsked, event: &AgentEvent) -> Result<bool> {
        let is_new = !self.sessions.contains_key(&event.session);
        if is_new {
            let id = task_id(&event.session);
            let continued = continued(&self.place.engine, &id).map_err(unread)?;
            let lineage = continued.as_ref().map(|(_, lineage)| *lineage);
            let task = continued.map_or_else(|| id.clone(), |(task, _)| task);
            let mut session = Session::new(event.agent, &id, task, &self.options.user);
            session.lineage = lineage;
            self.sessions.insert(event.session.clone(), session);
        }
        let Some(session) = self.sessions.get_mut(&event.session) else { return Ok(false) };
        // The nearest process is the shell of the guard.
        let process = asked.parents.get(1).copied();
        if let Some(process) = process.filter(|_| session.process.is_none()) {
            let (own, id) = (self.own.clone(), event.session.clone());
            let gone = move || drop(own.send(Work::Gone { session: id, process }));
            if at_end_of(process, gone) {
                session.process = Some(process);
            }
        }
        Ok(is_new)
    }

    /// Marks open calls of other sessions as shared if a call begins. Returns `true` if there are
    /// any.
    fn mark_shared(&mut self, event: &AgentEvent) -> bool {
        let others = self.sessions.iter_mut().filter(|(id, _)| **id != event.session);
        let begins = matches!(event.kind, AgentEventKind::BeforeTool { .. });
        let mut is_shared = false;
        for open in others.flat_map(|(_, session)| &mut session.open) {
            is_shared = true;
            open.is_shared |= begins;
        }
        is_shared
    }

    fn gone(&mut self, id: &str, process: u32) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.process = None;
        match self.place.gone(session, process) {
            Ok(()) => info!(target: "milepost::sessions", session = id, process, "agent gone"),
            Err(error) => {
                warn!(target: "milepost::sessions", session = id, %error, "end not recorded");
            }
        }
        self.sessions.remove(id);
    }
}

/// Reads the event of a document. `None` if it is recorded nowhere.
fn event(asked: &HookAsked) -> Option<AgentEvent> {
    let agent = Agent::of_name(&asked.agent)?;
    match documents::read(agent, asked.payload.as_bytes()) {
        Document::Event(event) => Some(*event),
        Document::Ignored(why) => {
            info!(target: "milepost::sessions", ?why, "a document is recorded nowhere");
            None
        }
    }
}

fn unread(error: milepost_formats::Error) -> Error {
    Error::new(ErrorKind::Unavailable, error.to_string())
}

/// Returns the task of a session: its id, or a name made of it if that is too long for a task.
fn task_id(session: &str) -> String {
    let is_usable = session.len() <= TASK_MAX && !session.chars().any(char::is_control);
    match is_usable {
        true => session.to_owned(),
        false => session.chars().filter(|c| c.is_ascii_graphic()).take(TASK_MAX).collect(),
    }
}

/// Returns the task, which is started if there is none.
fn started(engine: &Engine, task: &str, user: &str) -> Result<milepost::Task> {
    match engine.task(task) {
        Err(error) if error.kind() == ErrorKind::NotFound => engine.start_task(task, user),
        found => found,
    }
}

/// Returns the variables of the hook's environment that name folders of agents.
fn environment(asked: &HookAsked, own: &Environment) -> Environment {
    let home = own.home().map(Path::to_owned).map(PathBuf::into_os_string);
    Environment::new(|name| match name {
        "HOME" => home.clone(),
        name => asked.env.get(name).map(Into::into),
    })
}
