//! The programs of agents themselves, with a scripted model and the hooks of Milepost.
//!
//! `tests/agents/install FOLDER` installs them; `MILEPOST_AGENTS=FOLDER` names the folder to these
//! tests. Without it each says that it did not run.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod failures;
mod files;
mod resumed;
mod rewind;
mod sessions;
mod settings;

use std::path::Path;

use milepost_agent_tests::{Agent, AgentHome};
use milepost_agents::documents::AgentEventKind;

/// A home for an agent. `None` if the agents are not installed.
fn home(agent: Agent) -> Option<AgentHome> {
    AgentHome::new(agent, Path::new(env!("CARGO_BIN_EXE_milepost")))
}

/// The kinds of the events, with the names of tools in the order of their calls.
fn kinds(home: &AgentHome) -> Vec<String> {
    let kind = |kind: &AgentEventKind| match kind {
        AgentEventKind::SessionStarted { cause, .. } => {
            format!("started: {}", cause.as_deref().unwrap_or("?"))
        }
        AgentEventKind::SessionEnded { .. } => "ended".to_owned(),
        AgentEventKind::Prompt { .. } => "prompt".to_owned(),
        AgentEventKind::BeforeTool { tool, .. } => format!("before {tool}"),
        AgentEventKind::AfterTool { tool, .. } => format!("after {tool}"),
        AgentEventKind::TurnEnded { .. } => "turn ended".to_owned(),
        AgentEventKind::SubagentStarted { .. } => "sub-agent started".to_owned(),
        AgentEventKind::SubagentEnded { .. } => "sub-agent ended".to_owned(),
        AgentEventKind::Compaction { .. } => "compaction".to_owned(),
    };
    home.events().into_iter().map(|event| kind(&event.kind)).collect()
}

/// The id of the only session so far.
#[track_caller]
fn session(home: &AgentHome) -> String {
    let mut ids: Vec<_> = home.events().into_iter().map(|event| event.session).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    ids.remove(0)
}
