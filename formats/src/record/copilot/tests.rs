use milepost::events::Data;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::record::session::testing::{any_json, assert_kept, kinds};

const NAMES: [&str; 25] = [
    "id",
    "parentId",
    "timestamp",
    "type",
    "user.message",
    "assistant.message",
    "tool.execution_complete",
    "tool.user_requested",
    "data",
    "agentId",
    "content",
    "source",
    "reasoningText",
    "toolRequests",
    "toolCallId",
    "name",
    "toolName",
    "arguments",
    "success",
    "result",
    "error",
    "message",
    "session.usage_record",
    "usage",
    "line",
];

fn line(kind: &str, data: Value) -> Value {
    json!({"type": kind, "data": data, "id": "b", "timestamp": "2026-03-01T10:00:00.500Z",
        "parentId": "a"})
}

fn of_agent(mut line: Value) -> Value {
    line["agentId"] = "agent-1".into();
    line
}

fn read_one(line: &Value) -> SessionLine {
    let text = line.to_string();
    let read = read(&text).unwrap();
    assert_kept(&text, &read, SESSIONS.written);
    read
}

fn answered() -> Value {
    let request = json!({"toolCallId": "c", "name": "bash", "arguments": {"command": "ls"}});
    line(
        "assistant.message",
        json!({"reasoningText": "hm", "content": "on it", "toolRequests": [request]}),
    )
}

#[test]
fn an_answer_has_its_thoughts_text_and_calls() {
    let read = read_one(&answered());
    assert_eq!(kinds(&read), ["message", "message", "tool_called", "application"]);
    assert_eq!((read.uuid.as_deref(), read.parent.as_deref()), (Some("b"), Some("a")));
    assert_eq!((read.prompt(), read.calls(key("c"))), (None, true));
    let asked = read_one(&line("tool.user_requested", json!({"toolCallId": "u", "toolName": "x"})));
    assert_eq!((kinds(&asked), asked.calls(key("u"))), (vec!["tool_called", "application"], true));
}

#[test]
fn a_result_has_the_text_for_the_model_and_says_whether_it_failed() {
    let result = |data: Value| {
        let read = read_one(&line("tool.execution_complete", data));
        let Body::ToolReturned(done) = &read.events[0] else { panic!() };
        (done.ok, done.output.as_ref().map(|output| output.text().to_owned()))
    };
    let done = json!({"toolCallId": "c", "success": true, "result": {"content": "a b"}});
    assert_eq!(result(done), (true, Some("\"a b\"".into())));
    let failed = json!({"toolCallId": "c", "success": false, "error": {"message": "no"}});
    assert_eq!(result(failed), (false, Some("\"no\"".into())));
    let other = json!({"toolCallId": "c", "success": true, "result": {"contents": [1]}});
    assert_eq!(result(other), (true, Some("{\"contents\":[1]}".into())));
}

#[test]
fn a_line_of_usage_has_tokens_and_hides_its_cost() {
    let usage = json!({"model": "m", "inputTokens": 9, "cacheReadTokens": 1, "cost": 1.0});
    let read = read_one(&line("session.usage_record", json!({"usage": usage})));
    assert_eq!((&read.part, kinds(&read)), (&Part::Nothing, vec!["application"; 2]));
    let [Body::Application(tokens), Body::Application(kept)] = read.events.as_slice() else {
        panic!()
    };
    let Data::Json(tokens) = &tokens.data else { panic!() };
    let counted = r#""usage":{"cache_read":1,"cache_write":null,"input":9,"output":null}"#;
    assert!(tokens.text().contains(counted), "{}", tokens.text());
    let Data::Json(kept) = &kept.data else { panic!() };
    assert!(kept.text().starts_with(r#"{"line":{"line":{"#), "{}", kept.text());
}

#[test]
fn of_a_sub_agent_only_the_calls_are_events() {
    assert_eq!(kinds(&read_one(&of_agent(answered()))), ["tool_called", "application"]);
    let said = of_agent(line("user.message", json!({"content": "do it"})));
    assert_eq!(read_one(&said).part, Part::Nothing);
}

#[test]
fn a_prompt_is_what_the_user_wrote_and_every_other_line_is_kept() {
    let mut said = line("user.message", json!({"content": "do it"}));
    assert_eq!(read_one(&said).prompt(), Some("do it"));
    said["data"]["source"] = "skill-x".into();
    let by_skill = read_one(&said);
    let Body::Message(message) = &by_skill.events[0] else { panic!() };
    assert_eq!((by_skill.prompt(), message.role.as_str()), (None, "system"));
    for other in [
        line("session.usage_record", json!({"usage": 3})),
        json!({"line": {"line": {"type": "x"}}}),
        line("assistant.message", json!({"content": "", "toolRequests": []})),
        json!({"type": "user.message", "data": {"content": "without an id"}}),
        json!({"type": "user.message", "id": "u", "data": "x"}),
    ] {
        let read = read_one(&other);
        assert_eq!((&read.part, kinds(&read)), (&Part::Nothing, vec!["application"]), "{other}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_line_is_read_or_refused_and_kept(
        data in any_json(&NAMES),
        kind in prop::sample::select(&NAMES[4..8]),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let _ = read(&String::from_utf8_lossy(&noise));
        let made = line(kind, data.clone());
        for line in [data, of_agent(made.clone()), made] {
            let text = line.to_string();
            if let Ok(read) = read(&text) {
                assert_kept(&text, &read, SESSIONS.written);
            }
        }
    }
}
