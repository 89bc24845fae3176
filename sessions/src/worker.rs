//! The thread of a recorder: one document after the other.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use milepost::clock::{Clock as _, SystemClock};
use milepost::{Engine, Error, ErrorKind, Result};
use milepost_agents::documents::{self, AgentEvent, AgentEventKind, Document};
use milepost_agents::{Agent, Environment, HOOK_WAIT, SpoolResult};
use milepost_api::{HookRequest, HookTakenForm};
use milepost_formats::{HOOK_KEY, continued};
use milepost_workspace::{Workspace, WorkspaceOptions};
use tracing::{info, warn};

use crate::events::{Heard, Place, Reply};
use crate::folder;
use crate::lineage::is_appended;
use crate::options::RecorderOptions;
use crate::process::at_end_of;
use crate::reach::Reach;
use crate::session::Session;

/// Longest time for documents of the spool before a live one, in microseconds.
const SLICE_US: u64 = 300_000;

/// The wait for a live document while others wait in the spool.
const PAUSE: Duration = Duration::from_millis(50);

/// The wait between two checks of the spool after a document: hooks that took too long put theirs
/// there.
const LOOK: Duration = Duration::from_secs(1);

/// Number of these looks.
const LOOKS: u32 = 30;

/// Maximum number of sessions whose agents ended, and whose last hooks may follow.
const ENDED: usize = 100;

/// Most bytes of the id of a session that is a task.
const TASK_MAX: usize = 150;

/// A piece of work for the thread.
#[derive(Debug)]
pub(crate) enum Work {
    /// A document, and where its answer goes.
    Hook(Box<HookRequest>, Sender<Result<HookTakenForm>>),
    /// The process of a session ended.
    Gone { session: String, process: u32 },
    /// The recorder ends.
    Stop,
}

/// The state of the spool after its documents were recorded for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spooled {
    /// No document waits.
    Nothing,
    /// The time was over.
    More,
    /// The next one cannot be recorded now.
    Failed,
}

/// The state of the thread.
#[derive(Debug)]
pub(crate) struct Worker {
    place: Place,
    options: RecorderOptions,
    sessions: HashMap<String, Session>,
    /// The calls of sessions whose agents ended, by session.
    ended: HashMap<String, HashSet<String>>,
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
                let watched = WorkspaceOptions::default().watch(true).may_be_gone(true);
                Some(Workspace::open(&options.project, watched)?)
            }
            false => None,
        };
        let file_wait = options.file_wait;
        let place = Place { engine: engine.clone(), workspace, file_wait };
        Ok(Self { place, options, sessions: HashMap::new(), ended: HashMap::new(), own })
    }

    /// Works until the recorder is stopped, or was idle for long.
    pub(crate) fn run(&mut self, given: &Receiver<Work>) {
        let all_looks = if self.options.spool.is_some() { LOOKS } else { 0 };
        let mut looks = all_looks;
        let mut is_behind = self.take_spooled(SLICE_US) == Spooled::More;
        loop {
            let has_open = self.has_open();
            let wait = match (is_behind, looks) {
                (true, _) => Some(PAUSE),
                (false, 0) if !has_open => self.options.idle,
                (false, _) => Some(self.options.idle.map_or(LOOK, |idle| idle.min(LOOK))),
            };
            let work = match wait {
                Some(wait) => given.recv_timeout(wait),
                None => given.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match work {
                Ok(Work::Hook(asked, to)) => {
                    is_behind = self.live(&asked, to);
                    looks = all_looks;
                }
                Ok(Work::Gone { session, process }) => {
                    // Documents of its last hooks come first.
                    is_behind = self.take_spooled(SLICE_US) == Spooled::More;
                    self.gone(&session, process);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let is_idle = !is_behind && looks == 0 && !has_open;
                    looks = looks.saturating_sub(u32::from(!is_behind));
                    is_behind = self.take_spooled(SLICE_US) == Spooled::More;
                    self.look_at_calls();
                    if is_idle && !is_behind && !self.lives() {
                        return;
                    }
                }
                Ok(Work::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Records a document of now, and answers. Returns `true` if documents may wait in the spool.
    fn live(&mut self, asked: &HookRequest, to: Sender<Result<HookTakenForm>>) -> bool {
        let mut reply = Reply::new(Some(to));
        // The order counts: waiting documents are older. The hook puts this one after them.
        if self.take_spooled(SLICE_US) != Spooled::Nothing {
            let text = "documents from before wait in the spool";
            reply.send(Err(Error::new(ErrorKind::Unavailable, text)));
            return true;
        }
        let done = self.hook(asked, false, &mut reply);
        let mut is_kept = false;
        if let Err(error) = &done {
            warn!(target: "milepost::sessions", %error, "a hook is not recorded");
            is_kept = reply.is_sent() && self.keep(asked);
        }
        reply.send(done.map(|()| HookTakenForm::default()));
        is_kept
    }

    /// Puts a document into the spool whose hook has its answer already. It is tried again.
    fn keep(&self, asked: &HookRequest) -> bool {
        let Some(spool) = &self.options.spool else { return false };
        match spool.put(asked) {
            Ok(SpoolResult::Kept(_)) => true,
            Ok(SpoolResult::Dropped) => false,
            Err(error) => {
                warn!(target: "milepost::sessions", %error, "a document is lost");
                false
            }
        }
    }

    /// Returns `true` if a call is open whose agent lives.
    fn has_open(&self) -> bool {
        let is_open = |session: &Session| !session.open.is_empty();
        self.sessions.values().any(|session| is_open(session) && !session.processes.is_empty())
    }

    /// Ends the calls whose results are in session files: no hook reports one that the user
    /// interrupted.
    fn look_at_calls(&mut self) {
        for (id, session) in &mut self.sessions {
            if let Err(error) = self.place.look_at_calls(session) {
                warn!(target: "milepost::sessions", session = id, %error, "an end is not recorded");
            }
        }
    }

    /// Returns `true` if the process of a session lives.
    fn lives(&self) -> bool {
        self.sessions.values().any(|session| !session.processes.is_empty())
    }

    /// Records the documents that wait in the spool, for at most this long.
    fn take_spooled(&mut self, slice_us: u64) -> Spooled {
        let Some(spool) = self.options.spool.clone() else { return Spooled::Nothing };
        let waiting = spool.waiting(&self.options.project).unwrap_or_else(|error| {
            warn!(target: "milepost::sessions", %error, "the spool cannot be read");
            Vec::new()
        });
        let end_us = SystemClock.now_us().saturating_add(slice_us);
        for (n, place) in waiting.iter().enumerate() {
            if n > 0 && SystemClock.now_us() >= end_us {
                return Spooled::More;
            }
            let why = match spool.read(place) {
                Ok(asked) => match self.spooled(&asked) {
                    Ok(()) => {
                        let _ = spool.remove(place);
                        continue;
                    }
                    Err(error) if is_permanent(&error) => error.to_string(),
                    // The order counts: the others wait, too.
                    Err(error) => {
                        warn!(target: "milepost::sessions", %error, "documents wait in the spool");
                        return Spooled::Failed;
                    }
                },
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => error.to_string(),
            };
            // A person can examine it.
            let name = place.display();
            warn!(target: "milepost::sessions", %name, why, "a document cannot be recorded");
            if let Err(error) = spool.set_aside(place) {
                warn!(target: "milepost::sessions", %name, %error, "it cannot be renamed");
            }
        }
        Spooled::Nothing
    }

    /// Records a document of the spool. A panic is an error of this document alone.
    fn spooled(&mut self, asked: &HookRequest) -> Result<()> {
        let record = || self.hook(asked, true, &mut Reply::new(None));
        catch_unwind(AssertUnwindSafe(record))
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Invalid, "the recorder panicked")))
    }

    /// Records one document.
    fn hook(&mut self, asked: &HookRequest, is_spooled: bool, reply: &mut Reply) -> Result<()> {
        let project = milepost_agents::project(asked);
        if project != self.options.project {
            let text = format!("the project is {}", self.options.project.display());
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let Some(event) = event(asked) else { return Ok(()) };
        let key = format!("{HOOK_KEY}{}", asked.id);
        let is_new = self.open(asked, &event, is_spooled)?;
        let reach = reach(&event, project);
        let (shared, others) = self.mark_shared(&event, &reach);
        let Some(session) = self.sessions.get_mut(&event.session) else { return Ok(()) };
        let task = started(&self.place.engine, &session.task, &self.options.user)?;
        let patience_us = u64::try_from(HOOK_WAIT.as_micros()).unwrap_or(u64::MAX);
        let limit_us = asked.time_us.0.saturating_add(patience_us);
        let process = process(asked).filter(|process| session.processes.contains(process));
        let (event, key) = (&event, key.as_str());
        let folder = event.folder.as_deref();
        let elsewhere = folder::elsewhere(folder, project).filter(|_| self.options.has_files);
        let heard = Heard {
            asked,
            event,
            key,
            process,
            is_spooled,
            limit_us,
            shared,
            reach,
            others,
            elsewhere,
        };
        let is_known = is_appended(&task, key, is_spooled)?;
        if is_known && !is_appended(&task, key, false)? {
            return Ok(());
        }
        let environment = environment(asked, &self.options.environment);
        let to = (&self.place.engine, session.task.as_str());
        session.conversation.follow(to, event, &environment)?;
        if is_known {
            return self.place.hear_again(session, &heard);
        }
        let begins = matches!(
            event.kind,
            AgentEventKind::SessionStarted { .. } | AgentEventKind::Prompt { .. }
        );
        if begins && !is_spooled {
            session.come_back(&self.place.engine)?;
        }
        // The rewind is not part of a session.
        let is_of_agent = event.kind != AgentEventKind::GoingBack;
        let starts = matches!(event.kind, AgentEventKind::SessionStarted { .. });
        if (is_new || starts) && is_of_agent {
            self.place.opened(session, &heard)?;
        }
        let before = task.lineage().id();
        if is_of_agent {
            session.lineage.get_or_insert(before);
        }
        self.place.record(session, &heard, reply)?;
        // Lines of the session may have opened a lineage.
        session.note_lineage(&self.place.engine, before)
    }

    /// Adds a session that is not known, and watches its process. Returns `true` if it is new.
    fn open(&mut self, asked: &HookRequest, event: &AgentEvent, is_spooled: bool) -> Result<bool> {
        let is_new = !self.sessions.contains_key(&event.session);
        if is_new {
            let id = task_id(&event.session);
            let continued = continued(&self.place.engine, &id).map_err(unread)?;
            let lineage = continued.as_ref().map(|(_, lineage)| *lineage);
            let task = continued.map_or_else(|| id.clone(), |(task, _)| task);
            let mut session = Session::new(event.agent, &id, task, &self.options.user);
            session.lineage = lineage;
            session.ended = self.ended.remove(&event.session).unwrap_or_default();
            session.find_open(&self.place.engine)?;
            self.sessions.insert(event.session.clone(), session);
        }
        let Some(session) = self.sessions.get_mut(&event.session) else { return Ok(false) };
        // The number of a process that ended may be in use again.
        let is_over = is_spooled || matches!(event.kind, AgentEventKind::SessionEnded { .. });
        let is_watched = |process: &u32| session.processes.contains(process);
        if let Some(process) = process(asked).filter(|process| !is_over && !is_watched(process)) {
            let (own, id) = (self.own.clone(), event.session.clone());
            let gone = move || drop(own.send(Work::Gone { session: id, process }));
            if at_end_of(process, gone) {
                session.processes.insert(process);
            }
        }
        Ok(is_new)
    }

    /// Notes in open calls of other sessions that a call begins at the same time. Returns the
    /// sessions of these, and the paths that they may change.
    fn mark_shared(&mut self, event: &AgentEvent, reach: &Reach) -> (BTreeSet<String>, Reach) {
        let own = self.sessions.get(&event.session).map(|session| session.task.clone());
        let others = self.sessions.iter_mut().filter(|(id, _)| **id != event.session);
        let begins = matches!(event.kind, AgentEventKind::BeforeTool { .. });
        let (mut at_once, mut changed) = (BTreeSet::new(), Reach::default());
        for (_, session) in others {
            for open in &mut session.open {
                at_once.insert(session.task.clone());
                changed.add(&open.reach);
                if begins {
                    open.shared.extend(own.clone());
                    open.others.add(reach);
                }
            }
        }
        (at_once, changed)
    }

    fn gone(&mut self, id: &str, process: u32) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.processes.remove(&process);
        if !session.processes.is_empty() {
            session.open.retain(|open| open.process != Some(process));
            return;
        }
        match self.place.gone(session, process) {
            Ok(()) => info!(target: "milepost::sessions", session = id, process, "agent gone"),
            Err(error) => {
                warn!(target: "milepost::sessions", session = id, %error, "end not recorded");
            }
        }
        if let Some(session) = self.sessions.remove(id).filter(|gone| !gone.ended.is_empty()) {
            if self.ended.len() >= ENDED {
                self.ended.clear();
            }
            self.ended.insert(id.to_owned(), session.ended);
        }
    }
}

/// Reads the event of a document. `None` if it is recorded nowhere.
fn event(asked: &HookRequest) -> Option<AgentEvent> {
    let agent = Agent::of_name(&asked.agent)?;
    match documents::read(agent, asked.payload.as_bytes()) {
        Document::Event(event) => Some(*event),
        Document::Ignored(why) => {
            info!(target: "milepost::sessions", ?why, "a document is recorded nowhere");
            None
        }
    }
}

/// Returns the paths that the call of an event may change; none of an event of no call.
fn reach(event: &AgentEvent, project: &Path) -> Reach {
    match &event.kind {
        AgentEventKind::BeforeTool { tool, input, .. }
        | AgentEventKind::AfterTool { tool, input, .. } => {
            Reach::of((tool, input.as_deref()), event.folder.as_deref(), project)
        }
        _ => Reach::default(),
    }
}

/// Returns the process of the agent that called a hook: the nearest one is the shell of the guard.
fn process(asked: &HookRequest) -> Option<u32> {
    asked.parents.get(1).copied()
}

/// Returns `true` for an error that a document has again whenever it is tried.
fn is_permanent(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Conflict)
}

fn unread(error: milepost_formats::Error) -> Error {
    Error::new(ErrorKind::Unavailable, error.to_string())
}

/// Returns the task of a session: its id, or a name derived from it if that is too long for a task.
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
fn environment(asked: &HookRequest, own: &Environment) -> Environment {
    let home = own.home().map(Path::to_owned).map(PathBuf::into_os_string);
    Environment::new(|name| match name {
        "HOME" => home.clone(),
        name => asked.env.get(name).map(Into::into),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]

    use milepost::Options;
    use milepost_agents::{HookCall, Spool};

    use super::*;

    fn asked(project: &Path, event: &str) -> HookRequest {
        let call = HookCall {
            agent: "claude-code".to_owned(),
            time_us: SystemClock.now_us(),
            payload: format!(r#"{{"hook_event_name":"{event}","session_id":"s1"}}"#).into(),
            is_cut: false,
        };
        let asked = call.with(project, |_| None);
        HookRequest { parents: vec![1, std::process::id()], ..asked }
    }

    /// Returns a worker with a spool, whose state is in this folder.
    fn worker(dir: &Path) -> (Worker, Spool) {
        let environment = Environment::new(|name| (name == "HOME").then(|| dir.into()));
        let spool = Spool::of(&environment).unwrap();
        let options = RecorderOptions::new(dir, "ana").spool(spool.clone()).files(false);
        let engine = Engine::in_memory(Options::default()).unwrap();
        let (own, _) = crossbeam_channel::unbounded();
        (Worker::new(&engine, options, own).unwrap(), spool)
    }

    #[test]
    fn a_live_document_is_refused_while_others_wait() {
        let dir = tempfile::tempdir().unwrap();
        let (mut worker, spool) = worker(dir.path());
        for _ in 0..3 {
            spool.put(&asked(dir.path(), "Stop")).unwrap();
        }
        let project = worker.options.project.clone();
        assert_eq!(worker.take_spooled(0), Spooled::More);
        assert_eq!(spool.waiting(&project).unwrap().len(), 2);
        assert_eq!(worker.take_spooled(u64::MAX), Spooled::Nothing);
        assert!(spool.waiting(&project).unwrap().is_empty());
        // A document that cannot be recorded now.
        worker.place.engine.clone().close().unwrap();
        spool.put(&asked(dir.path(), "Stop")).unwrap();
        let (reply, answer) = crossbeam_channel::bounded(1);
        assert!(worker.live(&asked(dir.path(), "Stop"), reply));
        assert_eq!(answer.recv().unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!(spool.waiting(&project).unwrap().len(), 1);
        assert_eq!(spool.failed().unwrap(), 0);
    }

    #[test]
    fn only_live_documents_of_sessions_that_last_name_a_process_to_watch() {
        let dir = tempfile::tempdir().unwrap();
        let (mut worker, _) = worker(dir.path());
        let mut take = |event: &str, is_spooled: bool| {
            let asked = asked(dir.path(), event);
            worker.hook(&asked, is_spooled, &mut Reply::new(None)).unwrap();
            worker.lives()
        };
        assert!(!take("SessionStart", true));
        assert!(!take("SessionEnd", false));
        assert!(take("Stop", false));
    }
}
