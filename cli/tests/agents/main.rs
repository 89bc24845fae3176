//! The programs of agents themselves, with a scripted model and the hooks of Milepost.
//!
//! `tests/agents/install FOLDER` installs them; `MILEPOST_AGENTS=FOLDER` names the folder to these
//! tests. Without it each says that it did not run.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod deleted;
mod demo;
mod disk;
mod ends;
mod escape;
mod failures;
mod files;
mod kills;
mod others;
mod places;
mod resumed;
mod rewind;
mod sessions;
mod settings;
mod together;

use std::path::Path;

use milepost_agent_tests::{Agent, AgentHome};
use milepost_agents::documents::AgentEventKind;
use serde_json::Value;

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
        AgentEventKind::Answered { .. } => "answered".to_owned(),
        AgentEventKind::TurnEnded { .. } => "turn ended".to_owned(),
        AgentEventKind::SubagentStarted { .. } => "sub-agent started".to_owned(),
        AgentEventKind::SubagentEnded { .. } => "sub-agent ended".to_owned(),
        AgentEventKind::Compaction { .. } => "compaction".to_owned(),
        AgentEventKind::GoingBack => "going back".to_owned(),
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

/// The events of a task, the first one first.
#[track_caller]
fn log(home: &AgentHome, task: &str) -> Vec<Value> {
    let log = home.milepost(&["log", task, "--reverse", "--json"]).ok().out;
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The events of a kind.
fn of_kind<'a>(log: &'a [Value], kind: &str) -> Vec<&'a Value> {
    log.iter().filter(|event| event["kind"] == kind).collect()
}

/// Rewinds, and returns the report.
#[track_caller]
fn rewound(home: &AgentHome, arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["rewind", "--yes", "--json"].iter().chain(arguments).copied().collect();
    serde_json::from_str(&home.milepost(&all).ok().out).unwrap()
}
