use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::record::session::testing::{any_json, assert_kept, kinds};

const NAMES: [&str; 22] = [
    "uuid",
    "parentUuid",
    "timestamp",
    "type",
    "user",
    "assistant",
    "tool_result",
    "message",
    "parts",
    "text",
    "thought",
    "functionCall",
    "functionResponse",
    "id",
    "name",
    "args",
    "response",
    "output",
    "error",
    "toolCallResult",
    "status",
    "usageMetadata",
];

fn line(kind: &str, parts: Value) -> Value {
    json!({"uuid": "b", "parentUuid": "a", "sessionId": "s", "type": kind,
        "timestamp": "2026-03-01T10:00:00.500Z", "message": {"role": "x", "parts": parts},
        "model": "m", "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2}})
}

fn read_one(line: &Value) -> SessionLine {
    let text = line.to_string();
    let read = read(&text).unwrap();
    assert_kept(&text, &read, SESSIONS.written);
    read
}

#[test]
fn an_answer_has_its_thoughts_texts_and_calls() {
    let call = json!({"functionCall": {"id": "c", "name": "shell", "args": {"command": "ls"}}});
    let parts = json!([{"text": "hm", "thought": true}, {"text": "on it"}, call]);
    let read = read_one(&line("assistant", parts));
    assert_eq!(kinds(&read), ["message", "message", "tool_called", "application"]);
    assert_eq!((read.uuid.as_deref(), read.parent.as_deref()), (Some("b"), Some("a")));
    assert_eq!((read.prompt(), read.calls(key("c"))), (None, true));
    let Body::Message(first) = &read.events[0] else { panic!() };
    let extra = first.extra.as_ref().unwrap().0.text();
    assert!(extra.contains(r#""usage":{"cache_read":0,"input":9,"output":2}"#), "{extra}");
    let alone = read_one(&line("assistant", json!([call])));
    assert_eq!(kinds(&alone), ["tool_called", "application", "application"]);
}

#[test]
fn a_result_is_no_prompt_and_says_whether_it_failed() {
    let response = json!({"id": "c", "name": "shell", "response": {"output": "a b"}});
    let mut result = line("tool_result", json!([{"functionResponse": response}]));
    let Body::ToolReturned(done) = &read_one(&result).events[0] else { panic!() };
    assert_eq!((done.ok, done.output.as_ref().unwrap().text()), (true, "\"a b\""));
    result["toolCallResult"] = json!({"status": "error"});
    let Body::ToolReturned(failed) = &read_one(&result).events[0] else { panic!() };
    assert!(!failed.ok);
}

#[test]
fn a_prompt_is_a_text_of_the_user_and_every_other_line_is_kept() {
    assert_eq!(read_one(&line("user", json!([{"text": "do it"}]))).prompt(), Some("do it"));
    for other in [
        json!({"uuid": "u", "parentUuid": "p", "type": "system", "systemPayload": {"n": 1}}),
        json!({"type": "user", "message": {"parts": [{"text": "without an id"}]}}),
        json!({"uuid": "u", "type": "user", "message": "x"}),
    ] {
        let read = read_one(&other);
        assert_eq!((&read.part, kinds(&read)), (&Part::Nothing, vec!["application"]), "{other}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_line_is_read_or_refused_and_kept(
        message in any_json(&NAMES),
        kind in prop::sample::select(&NAMES[4..7]),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let _ = read(&String::from_utf8_lossy(&noise));
        let listed = line(kind, json!([message]));
        for line in [message, listed] {
            let text = line.to_string();
            if let Ok(read) = read(&text) {
                assert_kept(&text, &read, SESSIONS.written);
            }
        }
    }
}
