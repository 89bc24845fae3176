//! One session: its task, its conversation and its open calls.

use std::collections::{BTreeSet, HashSet};

use milepost::{Engine, LineageId, Result};
use milepost_agents::Agent;
use milepost_agents::documents::{AgentEvent, AgentEventKind};
use milepost_formats::session_description;

use crate::conversation::Conversation;
use crate::folder::ACTOR;
use crate::lineage;

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
    /// The time of its beginning, in microseconds since the Unix epoch.
    pub(crate) began_us: u64,
    /// True if the session went on without its return: it may have ended.
    pub(crate) is_stale: bool,
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
    pub(crate) conversation: Conversation,
    pub(crate) open: Vec<OpenCall>,
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

    /// Forgets the calls that did not return, and of which an event says that they will not.
    pub(crate) fn end_calls(&mut self, event: &AgentEvent) {
        if matches!(event.kind, AgentEventKind::Prompt { .. } | AgentEventKind::TurnEnded { .. }) {
            self.open.iter_mut().for_each(|open| open.is_stale = true);
        }
        match &event.kind {
            AgentEventKind::SessionEnded { .. } => self.open.clear(),
            // A sub-agent may work on behind the turn that began it. Without ids there is one call
            // at a time.
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
