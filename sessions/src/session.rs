//! One session: its task, its conversation and its open calls.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use milepost::events::{CheckpointMarked, MarkCause};
use milepost::{Body, Engine, LineageId, Offset, Result};
use milepost_agents::Agent;
use milepost_agents::documents::{AgentEvent, AgentEventKind};
use milepost_formats::session_description;

use crate::conversation::Conversation;
use crate::folder::{ACTOR, RUNNING};
use crate::lineage;
use crate::reach::Reach;

/// Number of events among which calls are found that another recorder heard begin.
const LOOKED_BACK: u64 = 4096;

/// A call of a tool that did not return yet.
#[derive(Debug)]
pub(crate) struct OpenCall {
    pub(crate) id: String,
    pub(crate) actor: String,
    pub(crate) tool: String,
    pub(crate) input: Option<String>,
    /// The agent's process, if it is watched.
    pub(crate) process: Option<u32>,
    /// Other sessions, calls of which ran at the same time.
    pub(crate) shared: BTreeSet<String>,
    /// Paths that it may change, and those that the calls of these sessions may change.
    pub(crate) reach: Reach,
    pub(crate) others: Reach,
    /// True if the tool ran before the capture was done.
    pub(crate) is_uncaptured: bool,
    /// The folder that it runs in, if captures of the project do not have it.
    pub(crate) elsewhere: Option<PathBuf>,
    /// The time of its beginning, in microseconds since the Unix epoch.
    pub(crate) began_us: u64,
    /// True if the session continued without its return: it may have ended.
    pub(crate) is_stale: bool,
}

impl OpenCall {
    /// Returns the call of a mark before it.
    fn of_mark(id: String, actor: String, began_us: u64, mark: &CheckpointMarked) -> Self {
        let facts = mark.metadata.as_ref().and_then(|facts| facts.value().ok());
        let fact = |name: &str| facts.as_ref().and_then(|facts| facts.get(name));
        let says = |name: &str| says(mark, name);
        let sessions = fact("with").and_then(|with| with.as_array()).into_iter().flatten();
        let others = if says("shared") { Reach::of_fact(fact("others")) } else { Reach::default() };
        let tool = fact("tool").and_then(|tool| tool.as_str()).unwrap_or_default().to_owned();
        Self {
            id,
            actor,
            tool,
            input: None,
            process: None,
            shared: sessions.filter_map(|session| session.as_str().map(str::to_owned)).collect(),
            reach: Reach::of_fact(fact("paths")),
            others,
            elsewhere: fact("folder").and_then(|folder| folder.as_str()).map(PathBuf::from),
            is_uncaptured: says("uncaptured"),
            began_us,
            is_stale: false,
        }
    }
}

/// Returns `true` if a mark has a fact.
fn says(mark: &CheckpointMarked, name: &str) -> bool {
    let facts = mark.metadata.as_ref().and_then(|facts| facts.value().ok());
    facts.as_ref().and_then(|facts| facts.get(name)?.as_bool()) == Some(true)
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
    /// `true` if its model has to be told that files were restored.
    pub(crate) is_to_tell: bool,
    /// The agent's processes that are watched.
    pub(crate) processes: BTreeSet<u32>,
    pub(crate) conversation: Conversation,
    pub(crate) open: Vec<OpenCall>,
    /// The offset up to which the log was searched for results of open calls.
    pub(crate) looked: Offset,
    /// Calls that were captured when their agent's process ended. Their last hooks may follow.
    pub(crate) ended: HashSet<String>,
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
            conversation: Conversation::new(agent, id, user),
            open: Vec::new(),
            looked: 0,
            ended: HashSet::new(),
        }
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
            engine.switch(&task.lineage_named(own)?).run()?;
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

    /// Takes the calls that an event reports as ended without a hook for their return.
    pub(crate) fn take_over(&mut self, event: &AgentEvent) -> Vec<OpenCall> {
        if matches!(event.kind, AgentEventKind::Prompt { .. } | AgentEventKind::TurnEnded { .. }) {
            let others = self.open.iter_mut().filter(|open| open.actor != actor(event));
            others.for_each(|open| open.is_stale = true);
        }
        match &event.kind {
            AgentEventKind::SessionEnded { .. } => std::mem::take(&mut self.open),
            // A sub-agent may continue after the turn that began it. Without ids there is one call
            // at a time.
            AgentEventKind::BeforeTool { call: None, .. }
            | AgentEventKind::Prompt { .. }
            | AgentEventKind::TurnEnded { .. }
            | AgentEventKind::SubagentEnded { .. } => {
                let actor = actor(event);
                self.open.extract_if(.., |open| open.actor == actor).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Takes the calls whose results were recorded since the last reading of the log: the session
    /// file has them, also of calls that failed or were interrupted.
    pub(crate) fn take_returned(&mut self, engine: &Engine) -> Result<Vec<OpenCall>> {
        if self.open.is_empty() {
            return Ok(Vec::new());
        }
        let task = engine.task(&self.task)?;
        let head = task.head()?.next;
        let from = std::mem::replace(&mut self.looked, head).min(head);
        let mut returned = HashSet::new();
        for event in task.read(from..head)? {
            if let Some(Body::ToolReturned(result)) = event?.body {
                returned.insert(result.call);
            }
        }
        Ok(self.open.extract_if(.., |open| returned.contains(&open.id)).collect())
    }

    /// Adds the calls that are open in the log: another recorder heard them begin.
    pub(crate) fn find_open(&mut self, engine: &Engine) -> Result<()> {
        let Ok(task) = engine.task(&self.task) else { return Ok(()) };
        let (head, begin) = (task.head()?.next, task.lineage().info()?.begin);
        let from = head.saturating_sub(LOOKED_BACK).max(begin);
        for event in task.read(from..head)? {
            let event = event?;
            match (event.body, event.header.correlation) {
                (Some(Body::CheckpointMarked(mark)), Some(call)) if !says(&mark, RUNNING) => {
                    self.open.retain(|open| open.id != call);
                    if mark.cause == MarkCause::BeforeTool {
                        let actor = event.header.actor.unwrap_or_else(|| ACTOR.to_owned());
                        self.open.push(OpenCall::of_mark(call, actor, event.header.time_us, &mark));
                    }
                }
                // A capture outside of calls: it may have ended before.
                (Some(Body::WorkspaceCaptured(_)), None) => {
                    self.open.iter_mut().for_each(|open| open.is_stale = true);
                }
                (Some(Body::Restored(_)), _) => self.open.clear(),
                _ => {}
            }
        }
        self.looked = from;
        Ok(())
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
