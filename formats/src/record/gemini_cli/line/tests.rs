use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::record::session::testing::{any_json, assert_kept, kinds, read};

const NAMES: [&str; 30] = [
    "id",
    "timestamp",
    "type",
    "user",
    "gemini",
    "info",
    "content",
    "text",
    "thoughts",
    "subject",
    "description",
    "tokens",
    "input",
    "output",
    "cached",
    "model",
    "toolCalls",
    "name",
    "args",
    "result",
    "status",
    "success",
    "functionResponse",
    "functionCall",
    "response",
    "error",
    "$set",
    "messages",
    "$rewindTo",
    "sessionId",
];

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "2026-03-01T10:00:00.500Z", "type": "user",
        "content": [{"text": text}]})
}

fn gemini(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "gemini", "content": text, "thoughts": [], "model": "g",
        "tokens": {"input": 9, "output": 2, "cached": 1, "total": 11}})
}

fn response(call: &str) -> Value {
    json!({"functionResponse": {"id": call, "name": "shell", "response": {"output": "a b"}}})
}

/// An answer that is written again with a call and its result.
fn with_call(id: &str, text: &str, call: &str, status: &str) -> Value {
    let mut message = gemini(id, text);
    message["toolCalls"] = json!([{"id": call, "name": "shell", "args": {"command": "ls"},
        "result": [response(call)], "status": status}]);
    message
}

fn told(all: &[SessionLine]) -> Vec<String> {
    all.iter().map(|line| kinds(line).join(" ")).collect()
}

#[test]
fn messages_calls_and_results_are_read_once_and_every_line_is_kept() {
    let lines = [
        json!({"sessionId": "s", "projectHash": "h", "kind": "main"}),
        json!({"$set": {"messages": [user("c", "<session_context>\nhere")]}}),
        user("a", "do it"),
        json!({"$set": {"lastUpdated": "2026-03-01T10:00:00.500Z"}}),
        gemini("b", "on it"),
        with_call("b", "on it", "c1", "success"),
        json!({"id": "d", "type": "user", "content": [response("c1")]}),
        with_call("e", "", "c2", "error"),
        json!({"id": "f", "type": "info", "content": "note"}),
        json!({"$set": {"messages": [user("a", "do it"), gemini("b", "on it"),
            {"id": "b_response", "type": "user", "content": [response("c1")]},
            gemini("z", "a summary")]}}),
    ];
    let all = read(&mut Chat::default(), &lines);
    let expected = [
        "application",
        "message application",
        "message",
        "application",
        "message",
        "tool_called tool_returned application",
        "application",
        "application tool_called tool_returned application",
        "application",
        "message application",
    ];
    assert_eq!(told(&all), expected);
    for (text, line) in lines.iter().zip(&all) {
        assert_kept(&text.to_string(), line, written);
    }
    let prompts: Vec<_> = all.iter().filter_map(SessionLine::prompt).collect();
    assert_eq!(prompts, ["do it"]);
    assert_eq!((all[2].uuid.as_deref(), all[5].uuid.as_deref()), (Some("a"), None));
    let Body::ToolReturned(done) = &all[5].events[1] else { panic!() };
    assert_eq!((done.call.as_str(), done.ok), ("c1", true));
    assert_eq!(done.output.as_ref().unwrap().text(), "\"a b\"");
    let Body::ToolReturned(failed) = &all[7].events[2] else { panic!() };
    assert!(!failed.ok);
    let Body::Message(answer) = &all[4].events[0] else { panic!() };
    let extra = answer.extra.as_ref().unwrap().0.text();
    assert!(extra.contains(r#""usage":{"cache_read":1,"input":9,"output":2}"#), "{extra}");
}

#[test]
fn thoughts_are_a_message_before_the_answer() {
    let mut message = gemini("a", "yes");
    message["thoughts"] = json!([{"subject": "Look", "description": "around"}]);
    let all = read(&mut Chat::default(), &[message.clone(), message]);
    assert_eq!(told(&all), ["message message", "application"]);
    let Body::Message(thought) = &all[0].events[0] else { panic!() };
    let block = r#"[{"thinking":"Look\naround","type":"thinking"}]"#;
    assert_eq!(thought.content.as_ref().unwrap().text(), block);
}

#[test]
fn a_text_that_comes_later_is_a_message_then() {
    let all =
        read(&mut Chat::default(), &[gemini("a", ""), gemini("a", "yes"), gemini("a", "yes")]);
    assert_eq!(told(&all), ["application application", "message", "application"]);
}

#[test]
fn a_rewind_forgets_a_message_and_all_after_it() {
    let rewind = |id: &str| json!({"$rewindTo": id});
    let lines = [
        user("a", "one"),
        user("b", "two"),
        with_call("c", "x", "c1", "success"),
        rewind("b"),
        user("b", "two"),
        with_call("d", "x", "c1", "success"),
        rewind("nowhere"),
        user("a", "one"),
        json!({"$set": {"messages": [user("l", "in a list")]}}),
        rewind("l"),
    ];
    let all = read(&mut Chat::default(), &lines);
    let backs: Vec<_> = [3, 6, 9].map(|at| all[at].part == Part::Nothing).into();
    assert_eq!(all[3].part, Part::Back(Back::Before("b".into())));
    assert_eq!(all[6].part, Part::Back(Back::Beginning));
    assert_eq!(backs, [false, false, true]);
    assert_eq!(told(&all)[5], "message tool_called tool_returned");
    assert_eq!(told(&all)[7], "message");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_line_is_read_or_refused_and_kept(
        messages in prop::collection::vec(any_json(&NAMES), 1..6),
        ids in prop::collection::vec(prop::sample::select(vec!["a", "b"]), 6),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut chat = Chat::default();
        let _ = chat.read(&String::from_utf8_lossy(&noise));
        for (message, id) in messages.into_iter().zip(ids) {
            let calls = [&message];
            let whole = json!({"id": id, "type": "gemini", "content": message, "toolCalls": calls});
            let listed = json!({"$set": {"messages": [message]}});
            for line in [message, whole, listed] {
                let text = line.to_string();
                if let Ok(read) = chat.read(&text) {
                    assert_kept(&text, &read, written);
                }
            }
        }
    }
}
