//! Importing sessions of coding agents. Those of Claude Code unless a module is of another one.

mod codex;
mod copilot;
mod gemini;
mod growth;
mod hostile;
mod made;
mod opencode;
mod qwen;
mod tree;

use std::fs;

use serde_json::{Value, json};

use crate::common::{Place, fixture, number, text};
use made::{Made, SESSION, call, result, said};

/// Returns the messages of a state in order; calls and results by their kinds.
fn conversation(place: &Place, address: &str) -> Vec<String> {
    let state = place.json(&format!("state {address} --messages all"));
    let entries = state["messages"].as_array().unwrap().iter();
    let what = |entry: &Value| match text(entry, "kind") {
        "message" => match &entry["content"] {
            Value::String(text) => text.clone(),
            blocks => format!("{blocks}"),
        },
        "tool_called" => format!("call {}", text(entry, "call")),
        _ => format!("result {}", text(entry, "call")),
    };
    entries.map(what).collect()
}

/// Imports with a small limit for an event, which a line is over. Returns the numbers of events and
/// of lineages.
fn import_limited(place: &Place, path: &str, line: &str) -> [u64; 2] {
    let ran = place.say(&format!("import {path} --event-max 10000 --json"));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains(line), "{}", ran.err);
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(number(&said, "bad_lines"), 1);
    let task = &said["tasks"][0];
    [number(task, "events"), task["lineages"].as_u64().unwrap()]
}

/// A session with a prompt, a tool, a second prompt, and the second one asked otherwise.
fn rewound() -> Made {
    let mut made = Made::new();
    made.other(json!({"type": "summary", "summary": "about it", "leafUuid": "x"}));
    made.user("a", None, "first");
    made.assistant("b", "a", json!([said("on it"), call("t1", "Bash", json!({"command": "ls"}))]));
    made.results("c", "b", json!([result("t1", "a b")]));
    made.assistant("d", "c", json!([said("done")]));
    made.user("e", Some("d"), "second");
    made.assistant("f", "e", json!([said("second done")]));
    made.user("g", Some("d"), "second, otherwise");
    made.assistant("h", "g", json!([said("otherwise done")]));
    made
}

#[test]
fn a_session_becomes_steps_with_messages_and_tools() {
    let place = Place::new();
    let mut made = Made::new();
    made.user("a", None, "first");
    made.assistant("b", "a", json!([said("on it"), call("t1", "Bash", json!({"command": "ls"}))]));
    made.results("c", "b", json!([result("t1", "a b")]));
    made.user("d", Some("c"), "second");
    made.save(&place);
    let said = place.json("import session.jsonl --user ana");
    assert_eq!(said["tasks"][0]["format"], "claude-code");
    assert_eq!(said["tasks"][0]["id"], SESSION);
    assert_eq!(said["bad_lines"], 0);
    assert_eq!(place.items("tasks")[0]["user"], "ana");
    let events = place.lines(&format!("log {SESSION}"));
    let kinds: Vec<&str> = events.iter().map(|event| text(event, "kind")).collect();
    let expected = [
        "lineage_opened",
        "checkpoint_marked",
        "step_started",
        "message",
        "message",
        "tool_called",
        "tool_returned",
        "application",
        "step_finished",
        "checkpoint_marked",
        "step_started",
        "message",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(events[2]["key"], "claude-code:a");
    assert_eq!(events[2]["actor"], "import");
    assert_eq!(events[2]["time"], "2025-05-26T07:27:01.079000Z");
    assert_eq!(events[5]["body"]["arguments"], json!({"command": "ls"}));
    assert_eq!(events[6]["body"]["output"], "a b");
    assert_eq!(events[4]["body"]["claude_code"]["message"]["id"], "m");
    assert_eq!(events[7]["body"]["data"]["toolUseResult"], json!({"stdout": "x"}));
    let mark = &events[9]["body"];
    assert_eq!(mark["label"], "prompt-2");
    assert_eq!(mark["aliases"], json!(["d"]));
    assert_eq!(mark["metadata"], json!({"prompt": "second"}));
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn a_prompt_asked_otherwise_is_a_lineage_that_the_task_goes_on_with() {
    let place = Place::new();
    rewound().save(&place);
    place.say("import session.jsonl").ok();
    let begun = ["first", "on it", "call t1", "result t1", "done"];
    let then = |more: [&'static str; 2]| [&begun[..], &more].concat();
    assert_eq!(conversation(&place, SESSION), then(["second, otherwise", "otherwise done"]));
    assert_eq!(conversation(&place, &format!("{SESSION}/0")), then(["second", "second done"]));
    let lineages = place.json(&format!("lineages {SESSION}"));
    assert_eq!(lineages.as_array().unwrap().len(), 2);
    assert_eq!(lineages[1]["description"], "second, otherwise (g)");
    // Back to before a prompt, by the id of its line.
    place.say(&format!("restore {SESSION}@g")).ok();
    assert_eq!(conversation(&place, SESSION), begun);
}

#[test]
fn the_task_goes_on_where_the_last_line_is() {
    let place = Place::new();
    let mut made = rewound();
    made.user("i", Some("f"), "back to the first try");
    made.save(&place);
    place.say("import session.jsonl").ok();
    let last = conversation(&place, SESSION).pop();
    assert_eq!(last.as_deref(), Some("back to the first try"));
    let before = place.json(&format!("lineages {SESSION}"));
    place.say("import session.jsonl").ok();
    assert_eq!(place.json(&format!("lineages {SESSION}")), before);
}

#[test]
fn an_agents_conversation_parts_behind_the_call_that_asked_for_it() {
    let place = Place::new();
    let mut made = Made::new();
    made.user("a", None, "first");
    let input = json!({"description": "look", "prompt": "look around"});
    made.assistant("b", "a", json!([call("t1", "Task", input)]));
    made.side("s", None, "user", json!("look around"));
    made.side("s2", Some("s"), "assistant", json!([said("seen")]));
    made.side("x", None, "user", json!("what nobody asked for"));
    made.side("x2", Some("x"), "assistant", json!([said("odd")]));
    made.results("c", "b", json!([result("t1", "all seen")]));
    made.assistant("d", "c", json!([said("done")]));
    made.save(&place);
    place.say("import session.jsonl").ok();
    assert_eq!(conversation(&place, SESSION), ["first", "call t1", "result t1", "done"]);
    assert_eq!(
        conversation(&place, &format!("{SESSION}/1")),
        ["first", "call t1", "look around", "seen"]
    );
    assert_eq!(
        conversation(&place, &format!("{SESSION}-side-1")),
        ["what nobody asked for", "odd"]
    );
}

#[test]
fn tools_called_together_stay_on_one_lineage() {
    let place = Place::new();
    let mut made = Made::new();
    made.user("a", None, "first");
    made.assistant("b", "a", json!([said("both")]));
    made.assistant("b1", "b", json!([call("t1", "Read", json!({}))]));
    made.assistant("b2", "b1", json!([call("t2", "Read", json!({}))]));
    made.results("r1", "b1", json!([result("t1", "one")]));
    made.results("r2", "b2", json!([result("t2", "two")]));
    made.assistant("c", "r2", json!([said("done")]));
    made.save(&place);
    place.say("import session.jsonl").ok();
    assert_eq!(place.json(&format!("lineages {SESSION}")).as_array().unwrap().len(), 1);
    assert_eq!(
        conversation(&place, SESSION),
        ["first", "both", "call t1", "call t2", "result t1", "result t2", "done"]
    );
}

#[test]
fn a_compaction_goes_on_where_it_was_made() {
    let place = Place::new();
    let mut made = Made::new();
    made.user("a", None, "first");
    made.assistant("b", "a", json!([said("done")]));
    made.other(
        json!({"type": "system", "subtype": "compact_boundary", "uuid": "k", "parentUuid": null,
        "logicalParentUuid": "b", "content": "Conversation compacted", "sessionId": SESSION}),
    );
    made.with("l", Some("k"), "user", json!("what was before"), json!({"isCompactSummary": true}));
    made.user("m", Some("l"), "second");
    made.save(&place);
    place.say("import session.jsonl").ok();
    assert_eq!(conversation(&place, SESSION), ["first", "done", "what was before", "second"]);
    let state = place.json(&format!("state {SESSION}"));
    assert_eq!(state["step"]["number"], 2, "a summary is no prompt");
    assert_eq!(place.json(&format!("lineages {SESSION}")).as_array().unwrap().len(), 1);
}

#[test]
fn a_folder_of_sessions_is_imported_with_all_there_is_in_it() {
    let place = Place::new();
    let folder = place.path("projects/-home-ana");
    fs::create_dir_all(folder.join("s/subagents")).unwrap();
    fs::write(folder.join(format!("{SESSION}.jsonl")), rewound().text()).unwrap();
    let other = rewound().text().replace(SESSION, "another");
    fs::write(folder.join("another.jsonl"), &other).unwrap();
    let agent = rewound().text().replace("\"cwd\"", "\"agentId\":\"77\",\"cwd\"");
    fs::write(folder.join("s/subagents/agent-77.jsonl"), agent).unwrap();
    fs::write(folder.join("notes.jsonl"), "{\"type\":\"message\"}\n").unwrap();
    let ran = place.say("import projects --json");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("notes.jsonl: no run that is known, by its content"), "{ran:?}");
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    let mut ids: Vec<&str> =
        said["tasks"].as_array().unwrap().iter().map(|t| text(t, "id")).collect();
    ids.sort_unstable();
    assert_eq!(ids, [SESSION, &format!("{SESSION}-agent-77"), "another"]);
    let refused = place.say("import projects --as one");
    refused.failed(1, "--as names one task, and there are 3 inputs");
    place.say("import projects/-home-ana/another.jsonl --as one").ok();
    assert_eq!(conversation(&place, "one").len(), 7);
}

#[test]
fn a_session_that_goes_on_from_another_is_a_task_of_its_own() {
    let place = Place::new();
    rewound().save(&place);
    place.say("import session.jsonl").ok();
    let mut made = rewound();
    made.with("i", Some("h"), "user", json!("further"), json!({"sessionId": "later"}));
    place.write("later.jsonl", made.text());
    let said = place.json("import later.jsonl");
    assert_eq!(said["tasks"][0]["id"], "later");
    assert_eq!(conversation(&place, "later").last().unwrap(), "further");
}

#[test]
fn record_takes_a_session_too_and_tells_of_each_line() {
    let place = Place::new();
    let path = rewound().save(&place);
    let told = place.lines("record session.jsonl --ack --task t");
    let lines = fs::read_to_string(path).unwrap().lines().count();
    assert_eq!(told.len(), lines);
    let last = number(told.last().unwrap(), "offset");
    assert_eq!(last + 1, number(&place.items("tasks")[0], "head"));
}

#[test]
fn a_task_of_something_else_is_not_written_to() {
    let place = Place::new();
    place.write("run.jsonl", "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"x\"}\n");
    place.say("record run.jsonl").ok();
    rewound().save(&place);
    let refused = place.say("import session.jsonl --as run");
    refused.failed(4, "the task run exists already, and is not from here");
    assert_eq!(place.lines("log run").len(), 3);
    // Another format, through an import too.
    let database = fixture("langgraph/checkpoints.sqlite");
    fs::copy(database, place.path("checkpoints.sqlite")).unwrap();
    place.say("import checkpoints.sqlite").ok();
    let refused = place.say("import session.jsonl --as lg:chat");
    refused.failed(4, "the task lg:chat exists already");
}
