//! Session files, and the content of their import.
//!
//! An importer of another agent adds its tests here.

use std::path::PathBuf;

use milepost_agent_tests::{Agent, AgentHome};
use milepost_agents::documents::{AgentEvent, AgentEventKind};
use serde_json::Value;

use crate::{home, session};

const FIRST: &str = "first [[write a.txt one]] [[say first done]]";
const SECOND: &str = "second [[shell echo two > b.txt]] [[say second done]]";

/// The log of an import has the prompts, the calls that hooks saw, by their ids, and the answers;
/// a second import adds nothing.
fn imports(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.record_hooks();
    home.prompt(FIRST).ok();
    let session = session(&home);
    home.resume(&session, SECOND).ok();
    if agent == Agent::GeminiCli {
        has_a_second_file(&home);
    }
    let folder = folder(&home);
    let import = ["import", folder.to_str().unwrap(), "--json"];
    let said: Value = serde_json::from_str(&home.milepost_apart(&import).ok().out).unwrap();
    assert_eq!(said["tasks"][0]["id"], session.as_str(), "{said:#}");
    assert_eq!(said["bad_lines"], 0, "{said:#}");
    let log = log(&home, &session);
    let of = |kind: &'static str| log.iter().filter(move |event| event["kind"] == kind);
    assert_eq!(of("step_started").count(), 2);
    for text in [FIRST, "first done", SECOND, "second done"] {
        let says = |event: &Value| event["body"]["content"].to_string().contains(text);
        assert!(of("message").any(says), "{text}");
    }
    let calls = |kind| of(kind).map(|event| event["body"]["call"].clone()).collect::<Vec<_>>();
    assert_eq!(calls("tool_called"), calls("tool_returned"));
    are_those_of_hooks(&home, &calls("tool_called"));
    home.milepost_apart(&import).ok();
    assert!(self::log(&home, &session) == log, "a second import adds nothing");
}

fn log(home: &AgentHome, session: &str) -> Vec<Value> {
    let log = home.milepost_apart(&["log", session, "--reverse", "--json"]).ok().out;
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes the file that Gemini CLI makes where a session continues in another minute: the lines
/// before the first prompt, and nothing else.
fn has_a_second_file(home: &AgentHome) {
    let files = home.session_files();
    let text = std::fs::read_to_string(&files[0]).unwrap();
    let lines: Vec<_> = text.lines().take_while(|line| !line.contains(FIRST)).collect();
    let (_, id) = files[0].file_stem().unwrap().to_str().unwrap().rsplit_once('-').unwrap();
    let second = files[0].with_file_name(format!("session-2026-01-01T00-00-{id}.jsonl"));
    std::fs::write(second, format!("{}\n", lines.join("\n"))).unwrap();
}

/// The folder with the session files.
fn folder(home: &AgentHome) -> PathBuf {
    let files = home.session_files();
    let place = files[0].parent().unwrap();
    match home.agent() {
        Agent::ClaudeCode => home.agent_folder().join("projects"),
        Agent::Codex => home.agent_folder().join("sessions"),
        _ => place.to_owned(),
    }
}

/// The ids of calls are those in hooks; Gemini CLI has none in hooks, but as many calls.
#[track_caller]
fn are_those_of_hooks(home: &AgentHome, calls: &[Value]) {
    let call = |event: AgentEvent| match event.kind {
        AgentEventKind::BeforeTool { call, .. } => Some(call),
        _ => None,
    };
    let said: Vec<_> = home.events().into_iter().filter_map(call).collect();
    match home.agent() {
        Agent::GeminiCli => assert_eq!(calls.len(), said.len(), "{calls:?}"),
        _ => assert_eq!(calls, said.into_iter().map(Value::from).collect::<Vec<_>>()),
    }
}

/// The log that the daemon of the project writes has the calls of the hooks, and an import of the
/// session files adds nothing to it.
fn is_recorded(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.record_hooks();
    home.prompt(FIRST).ok();
    let session = session(&home);
    // Captures follow behind the last answer to a hook.
    let kinds = ["step_started", "message", "tool_called", "tool_returned", "step_finished"];
    let events = || {
        let log = home.milepost(&["log", &session, "--reverse", "--json"]).ok().out;
        let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let is_of_file = |event: &Value| kinds.iter().any(|kind| event["kind"] == *kind);
        events.filter(is_of_file).collect::<Vec<_>>()
    };
    let log = events();
    let called = log.iter().filter(|event| event["kind"] == "tool_called");
    let called: Vec<_> = called.map(|event| event["body"]["call"].clone()).collect();
    are_those_of_hooks(&home, &called);
    home.milepost(&["import", folder(&home).to_str().unwrap()]).ok();
    assert!(events() == log, "an import behind hooks adds nothing");
}

#[test]
fn sessions_of_claude_code_are_recorded_by_the_daemon() {
    is_recorded(Agent::ClaudeCode);
}

#[test]
fn session_files_of_claude_code_have_the_prompts_and_calls_of_the_hooks() {
    imports(Agent::ClaudeCode);
}

#[test]
fn sessions_of_codex_are_recorded_by_the_daemon() {
    is_recorded(Agent::Codex);
}

#[test]
fn session_files_of_codex_have_the_prompts_and_calls_of_the_hooks() {
    imports(Agent::Codex);
}

#[test]
fn sessions_of_gemini_cli_are_recorded_by_the_daemon() {
    is_recorded(Agent::GeminiCli);
}

#[test]
fn session_files_of_gemini_cli_have_the_prompts_and_calls_of_the_hooks() {
    imports(Agent::GeminiCli);
}
