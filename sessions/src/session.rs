//! One session: its task, its files and its open calls.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use milepost::{Engine, LineageId, Result};
use milepost_agents::documents::{AgentEvent, AgentEventKind};
use milepost_agents::{Agent, Environment};
use milepost_formats::{ErrorKind as FileErrorKind, Format};
use milepost_formats::{SessionTail, TailStop, session_description};
use tracing::warn;

use crate::lineage;

/// The actor of the events of an agent.
pub(crate) const ACTOR: &str = "agent";

/// A call of a tool that did not return yet.
#[derive(Debug)]
pub(crate) struct OpenCall {
    pub(crate) id: String,
    pub(crate) actor: String,
    pub(crate) tool: String,
    pub(crate) input: Option<String>,
    /// The agent's process, if it is watched.
    pub(crate) process: Option<u32>,
    /// True if a call of another session ran at the same time.
    pub(crate) is_shared: bool,
    /// True if the tool ran before the capture was done.
    pub(crate) is_uncaptured: bool,
}

/// A session of an agent.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) agent: Agent,
    id: String,
    /// The task: named after the session, or the one of the session that it continues.
    pub(crate) task: String,
    /// The lineage that the session's conversation is in.
    pub(crate) lineage: Option<LineageId>,
    /// True if its model has to be told that files were taken back.
    pub(crate) is_to_tell: bool,
    /// The agent's processes that are watched.
    pub(crate) processes: BTreeSet<u32>,
    user: String,
    /// The session file, if it is one of the agent's.
    file: Option<PathBuf>,
    tail: Option<SessionTail>,
    /// The files of sub-agents by their ids. `None` for one that is not read any more.
    subagents: HashMap<String, Option<SessionTail>>,
    pub(crate) open: Vec<OpenCall>,
}

impl Session {
    pub(crate) fn new(agent: Agent, id: &str, task: String, user: &str) -> Self {
        Self {
            agent,
            id: id.to_owned(),
            task,
            lineage: None,
            is_to_tell: false,
            processes: BTreeSet::new(),
            user: user.to_owned(),
            file: None,
            tail: None,
            subagents: HashMap::new(),
            open: Vec::new(),
        }
    }

    /// Takes the session file of an event, if it is in the agent's folder.
    pub(crate) fn follow(
        &mut self,
        engine: &Engine,
        event: &AgentEvent,
        environment: &Environment,
    ) {
        let Some(file) = &event.session_file else { return };
        if self.file.as_ref() == Some(file) || !self.agent.is_session_file(file, environment) {
            return;
        }
        self.tail = self.tail_of(engine, file, &self.id);
        self.file = Some(file.clone());
        self.subagents.clear();
    }

    fn tail_of(&self, engine: &Engine, file: &Path, task: &str) -> Option<SessionTail> {
        let format = match self.agent {
            Agent::ClaudeCode => Format::ClaudeCode,
            Agent::Codex => Format::Codex,
            Agent::GeminiCli => Format::GeminiCli,
        };
        let tail = SessionTail::new(engine, format, file, task, &self.user);
        tail.inspect_err(|error| self.warn(error)).ok()
    }

    /// Records the lines that are new in the file of the session or of a sub-agent, up to a stop.
    /// A file that cannot be recorded does not end the session: its captures go on.
    pub(crate) fn read_on(&mut self, engine: &Engine, subagent: Option<&str>, stop: TailStop<'_>) {
        if let Some(id) = subagent
            && !self.subagents.contains_key(id)
            && let Some(file) = self.file.as_deref().and_then(|file| subagent_file(file, id))
            && let Some(tail) = self.tail_of(engine, &file, &format!("{}-agent-{id}", self.id))
        {
            self.subagents.insert(id.to_owned(), Some(tail));
        }
        let tail = match subagent {
            Some(id) => self.subagents.get_mut(id).and_then(Option::as_mut),
            None => self.tail.as_mut(),
        };
        if let Some(Err(error)) = tail.map(|tail| tail.read_on(stop)) {
            self.warn(&error);
            // Each hook would read the whole file again, with the same end.
            if error.kind() == FileErrorKind::Conflict {
                match subagent {
                    Some(id) => drop(self.subagents.insert(id.to_owned(), None)),
                    None => self.tail = None,
                }
            }
        }
    }

    /// Records the new lines of all files.
    pub(crate) fn read_all(&mut self, engine: &Engine) {
        let ids: Vec<String> = self.subagents.keys().cloned().collect();
        for id in &ids {
            self.read_on(engine, Some(id), TailStop::End);
        }
        self.read_on(engine, None, TailStop::End);
    }

    /// Makes the lineage of this session active again, where the user continues its conversation
    /// after a restore, an undo or a switch. Notes if its model has to be told of files.
    pub(crate) fn come_back(&mut self, engine: &Engine) -> Result<()> {
        let task = engine.task(&self.task)?;
        let active = task.lineage().id();
        let own = match self.lineage {
            Some(own) => own,
            None => lineage::of_session(&task, &self.id)?,
        };
        self.lineage = Some(own);
        self.is_to_tell |= match own == active {
            true => lineage::files_went_back(&task, &self.id)?,
            false => lineage::opened_with_files(&task)?,
        };
        if own != active {
            engine.switch(&task.lineage_named(own)?)?;
        }
        Ok(())
    }

    /// Notes the lineage that lines of the session opened while an event was recorded.
    pub(crate) fn note_lineage(&mut self, engine: &Engine, before: LineageId) -> Result<()> {
        let task = engine.task(&self.task)?;
        let active = task.lineage().id();
        let is_rewind = || {
            let description = task.lineage().info()?.description;
            let is_session = |text: String| text.starts_with(&session_description(""));
            Ok::<_, milepost::Error>(description.is_some_and(is_session))
        };
        if active != before && !is_rewind()? {
            self.lineage = Some(active);
        }
        Ok(())
    }

    fn warn(&self, error: &milepost_formats::Error) {
        let session = &self.task;
        warn!(target: "milepost::sessions", session, %error, "a session file is not recorded");
    }

    /// Forgets the calls that did not return, and of which an event says that they will not.
    pub(crate) fn end_calls(&mut self, event: &AgentEvent) {
        let is_main = event.subagent.is_none();
        match &event.kind {
            AgentEventKind::SessionEnded { .. } => self.open.clear(),
            AgentEventKind::TurnEnded { .. } if is_main => self.open.clear(),
            // Without ids there is one call at a time.
            AgentEventKind::BeforeTool { call: None, .. }
            | AgentEventKind::Prompt { .. }
            | AgentEventKind::TurnEnded { .. }
            | AgentEventKind::SubagentEnded { .. } => {
                let actor = actor(event);
                self.open.retain(|open| open.actor != actor);
            }
            _ => {}
        }
    }

    /// Closes a call: the one with its id, or else the last with the same tool and arguments.
    pub(crate) fn close_call(
        &mut self,
        event: &AgentEvent,
        id: Option<&String>,
        tool: &str,
        input: Option<&String>,
    ) -> Option<OpenCall> {
        let actor = actor(event);
        let place = self.open.iter().rposition(|open| match id {
            Some(id) => open.id == *id,
            None => open.actor == actor && open.tool == tool && open.input.as_ref() == input,
        })?;
        Some(self.open.remove(place))
    }
}

/// Returns the actor of an event.
pub(crate) fn actor(event: &AgentEvent) -> String {
    match &event.subagent {
        Some(id) => format!("{ACTOR}:{id}"),
        None => ACTOR.to_owned(),
    }
}

/// Returns the file of a sub-agent, next to the file of its session.
fn subagent_file(session: &Path, id: &str) -> Option<PathBuf> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_name = !id.is_empty() && id.chars().all(is_plain);
    is_name.then(|| session.with_extension("").join("subagents").join(format!("agent-{id}.jsonl")))
}
