//! Session files: what an import of them has.
//!
//! An importer of another agent adds its test here: `imports(Agent::Codex)`.

use milepost_agent_tests::Agent;
use milepost_agents::documents::AgentEventKind;
use serde_json::Value;

use crate::{home, session};

const FIRST: &str = "first [[write a.txt one]] [[say first done]]";
const SECOND: &str = "second [[shell echo two > b.txt]] [[say second done]]";

/// The log of an import has the prompts, the calls that hooks saw, by their ids, and the answers;
/// a second import adds nothing.
fn imports(agent: Agent) {
    let Some(home) = home(agent) else { return };
    home.install_hooks();
    home.prompt(FIRST).ok();
    let session = session(&home);
    home.resume(&session, SECOND).ok();
    let folder = home.agent_folder().join("projects");
    let import = ["import", folder.to_str().unwrap(), "--json"];
    let said: Value = serde_json::from_str(&home.milepost(&import).ok().out).unwrap();
    assert_eq!(said["tasks"][0]["id"], session.as_str(), "{said:#}");
    assert_eq!((&said["bad_lines"], &said["skipped"]), (&"0".into(), &"0".into()), "{said:#}");
    let log = home.milepost(&["log", &session, "--reverse", "--json"]).ok().out;
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &'static str| events.iter().filter(move |event| event["kind"] == kind);
    assert_eq!(of("step_started").count(), 2);
    for text in [FIRST, "first done", SECOND, "second done"] {
        let has = |event: &Value| event["content"].to_string().contains(text);
        assert!(of("message").any(has), "{text}: {log}");
    }
    let called: Vec<_> = of("tool_called").map(|event| event["call"].clone()).collect();
    let returned: Vec<_> = of("tool_returned").map(|event| event["call"].clone()).collect();
    let seen: Vec<Value> = home.events().into_iter().filter_map(call).map(Value::from).collect();
    assert_eq!((&called, &returned), (&seen, &seen), "{log}");
    home.milepost(&import).ok();
    assert_eq!(home.milepost(&["log", &session, "--reverse", "--json"]).ok().out, log);
}

fn call(event: milepost_agents::documents::AgentEvent) -> Option<String> {
    match event.kind {
        AgentEventKind::BeforeTool { call, .. } => call,
        _ => None,
    }
}

#[test]
fn session_files_of_claude_code_have_the_prompts_and_calls_of_the_hooks() {
    imports(Agent::ClaudeCode);
}
