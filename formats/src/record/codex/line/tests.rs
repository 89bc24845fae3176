use serde_json::{Value, json};

use proptest::prelude::*;

use super::*;
use crate::record::session::testing::{any_json, assert_kept, kinds, read};

const NAMES: [&str; 34] = [
    "timestamp",
    "type",
    "payload",
    "response_item",
    "event_msg",
    "turn_context",
    "message",
    "role",
    "user",
    "assistant",
    "content",
    "text",
    "input_text",
    "output_text",
    "reasoning",
    "summary",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "call_id",
    "name",
    "arguments",
    "input",
    "action",
    "output",
    "success",
    "thread_rolled_back",
    "num_turns",
    "task_started",
    "turn_id",
    "internal_chat_message_metadata_passthrough",
    "content_item_kinds",
];

fn line(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-03-01T10:00:00.500Z", "type": kind, "payload": payload})
}

fn item(payload: Value) -> Value {
    line("response_item", payload)
}

fn user(text: &str, kinds: &[&str]) -> Value {
    item(json!({"type": "message", "id": "msg_1", "role": "user",
        "content": [{"type": "input_text", "text": text}],
        "internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds}}))
}

fn begun(turn: &str) -> Value {
    line("event_msg", json!({"type": "task_started", "turn_id": turn}))
}

#[test]
fn items_become_messages_and_calls_and_every_line_is_kept() {
    let lines = [
        line("session_meta", json!({"id": "t", "cwd": "/x", "n": 1.50})),
        user("do it", &["user.text"]),
        item(json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]})),
        item(json!({"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "on it", "annotations": []}]})),
        item(json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "u"}]})),
        item(json!({"type": "function_call", "name": "exec", "call_id": "c1",
            "arguments": "{\"cmd\": \"ls <\"}"})),
        item(json!({"type": "function_call_output", "call_id": "c1", "output": "a b"})),
        item(json!({"type": "custom_tool_call", "name": "patch", "call_id": "c2",
            "input": "{not json"})),
        item(json!({"type": "custom_tool_call_output", "call_id": "c2",
            "output": {"success": false, "content": "no"}})),
        item(json!({"type": "local_shell_call", "call_id": "c3", "action": {"type": "exec"}})),
        line("event_msg", json!({"type": "turn_aborted", "reason": "interrupted"})),
    ];
    let all = read(&mut Rollout::default(), &lines);
    let told: Vec<_> = all.iter().map(|line| kinds(line).join(" ")).collect();
    let expected = [
        "application",
        "message",
        "message",
        "message",
        "message",
        "tool_called application",
        "tool_returned application",
        "tool_called application",
        "tool_returned application",
        "tool_called application",
        "application",
    ];
    assert_eq!(told, expected);
    for (text, line) in lines.iter().zip(&all) {
        assert_kept(&text.to_string(), line, written);
    }
    let Body::Message(asked) = &all[1].events[0] else { panic!() };
    assert_eq!(
        (asked.role.as_str(), asked.content.as_ref().unwrap().text()),
        ("user", "\"do it\"")
    );
    assert_eq!(all[1].time_us, Some(1_772_359_200_500_000));
    let Body::ToolCalled(called) = &all[5].events[0] else { panic!() };
    assert_eq!((called.tool.as_str(), called.arguments.text()), ("exec", "{\"cmd\": \"ls <\"}"));
    let Body::ToolReturned(failed) = &all[8].events[0] else { panic!() };
    assert!(!failed.ok);
    let Body::ToolCalled(shell) = &all[9].events[0] else { panic!() };
    assert_eq!(shell.tool, "local_shell");
}

#[test]
fn what_codex_says_for_the_user_is_no_prompt() {
    let older = |text: &str| {
        item(json!({"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": text}]}))
    };
    let lines = [
        user("<environment_context>\n", &["environments.environment_context"]),
        user("<environment_context> is what I mean", &["user.text"]),
        older("# AGENTS.md instructions for /x"),
        older(" <environment_context>"),
        older("hello"),
    ];
    let all = read(&mut Rollout::default(), &lines);
    let prompts: Vec<_> = all.iter().map(SessionLine::prompt).collect();
    let mine = Some("<environment_context> is what I mean");
    assert_eq!(prompts, [None, mine, None, None, Some("hello")]);
}

#[test]
fn the_first_prompt_of_a_turn_is_known_by_the_turn() {
    let context = |turn: &str| line("turn_context", json!({"turn_id": turn, "model": "m"}));
    let lines = [
        begun("turn-1"),
        context("turn-1"),
        user("first", &["user.text"]),
        context("turn-1"),
        user("and this", &["user.text"]),
        context("turn-2"),
        user("second", &["user.text"]),
    ];
    let all = read(&mut Rollout::default(), &lines);
    let alias = |at: usize| all[at].alias.as_deref();
    assert_eq!([alias(2), alias(4), alias(6)], [Some("turn-1"), Some("msg_1"), Some("turn-2")]);
}

#[test]
fn a_rollback_goes_back_before_its_prompts() {
    let back =
        |turns: Value| line("event_msg", json!({"type": "thread_rolled_back", "num_turns": turns}));
    let all = read(&mut Rollout::default(), &[back(json!(2)), back(json!("x")), back(json!(-1))]);
    assert_eq!(all[0].part, Part::Back(Back::Prompts(2)));
    assert_eq!((&all[1].part, &all[2].part), (&Part::Nothing, &Part::Nothing));
}

#[test]
fn escapes_of_arguments_come_back_as_they_were() {
    let call = |arguments: &str| {
        let item = r#""type":"function_call","call_id":"c","name":"n""#;
        let payload = format!(r#"{{{item},"arguments":{arguments}}}"#);
        format!(r#"{{"type":"response_item","payload":{payload}}}"#)
    };
    for arguments in
        [r#""{\"a\":\"\u003c\"}""#, r#""{\u0022a\u0022:1}""#, "\"{\"", "{\"a\":1}", "null", "7"]
    {
        let text = call(arguments);
        let line = Rollout::default().read(&text).unwrap();
        assert_kept(&text, &line, written);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_line_is_read_or_refused_and_kept(
        items in prop::collection::vec(any_json(&NAMES), 1..6),
        kind in prop::sample::select(&NAMES[3..6]),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut rollout = Rollout::default();
        let _ = rollout.read(&String::from_utf8_lossy(&noise));
        for payload in items {
            let whole = payload.to_string();
            if let Ok(line) = rollout.read(&whole) {
                assert_kept(&whole, &line, written);
            }
            let text = line(kind, payload).to_string();
            assert_kept(&text, &rollout.read(&text).unwrap(), written);
        }
    }
}
