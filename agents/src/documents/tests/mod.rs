//! Tests with documents in the form of each agent, and with any other text.

#![allow(clippy::unwrap_used, reason = "tests")]

mod further;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A document of Claude Code, with these fields besides those that all have.
fn claude(event: &str, more: Value) -> Vec<u8> {
    with(
        json!({
            "session_id": "0f6c-claude",
            "transcript_path": "/home/eva/.claude/projects/-srv-shop/0f6c-claude.jsonl",
            "cwd": "/srv/shop",
            "permission_mode": "default",
            "hook_event_name": event,
        }),
        more,
    )
}

fn codex(event: &str, more: Value) -> Vec<u8> {
    with(
        json!({
            "session_id": "77aa-codex",
            "transcript_path": null,
            "cwd": "/srv/shop",
            "hook_event_name": event,
            "model": "tiny",
            "turn_id": "turn-9",
        }),
        more,
    )
}

fn gemini(event: &str, more: Value) -> Vec<u8> {
    with(
        json!({
            "session_id": "51de-gemini",
            "transcript_path": "/home/eva/.gemini/tmp/shop/chats/session-1.jsonl",
            "cwd": "/srv/shop",
            "hook_event_name": event,
            "timestamp": "2026-05-04T10:00:00.000Z",
        }),
        more,
    )
}

fn with(mut document: Value, more: Value) -> Vec<u8> {
    document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    document.to_string().into_bytes()
}

#[track_caller]
fn taken(agent: Agent, bytes: &[u8]) -> AgentEvent {
    match read(agent, bytes) {
        Document::Event(event) => *event,
        Document::Ignored(why) => panic!("{why:?}"),
    }
}

#[test]
fn documents_of_claude_code_are_read() {
    let kind = |event, more| taken(Agent::ClaudeCode, &claude(event, more)).kind;
    let started = taken(Agent::ClaudeCode, &claude("SessionStart", json!({"source": "resume"})));
    assert_eq!(started.session, "0f6c-claude");
    assert_eq!(started.folder.unwrap().to_str(), Some("/srv/shop"));
    assert!(started.session_file.unwrap().ends_with("0f6c-claude.jsonl"));
    let cause = Some("resume".to_owned());
    assert_eq!(started.kind, AgentEventKind::SessionStarted { cause, model: None });
    let prompt = taken(
        Agent::ClaudeCode,
        &claude("UserPromptSubmit", json!({"prompt": "mend it", "prompt_id": "p-1"})),
    );
    assert_eq!(prompt.prompt_id.as_deref(), Some("p-1"));
    assert_eq!(prompt.kind, AgentEventKind::Prompt { text: "mend it".into() });
    let call = json!({
        "tool_name": "Bash", "tool_use_id": "toolu_1", "agent_id": "a1",
        "tool_input": {"command": "rm x"}, "tool_response": {"stdout": ""},
    });
    let before = taken(Agent::ClaudeCode, &claude("PreToolUse", call.clone()));
    assert_eq!(before.subagent.as_deref(), Some("a1"));
    let (id, tool) = (Some("toolu_1".to_owned()), "Bash".to_owned());
    let input = Some(r#"{"command":"rm x"}"#.to_owned());
    assert_eq!(
        before.kind,
        AgentEventKind::BeforeTool { call: id.clone(), tool: tool.clone(), input: input.clone() }
    );
    let result = Some(r#"{"stdout":""}"#.to_owned());
    let after = AgentEventKind::AfterTool { call: id, tool, input, result, is_failed: false };
    assert_eq!(kind("PostToolUse", call), after);
    let answer = Some("done".to_owned());
    assert_eq!(
        kind("Stop", json!({"last_assistant_message": "done"})),
        AgentEventKind::TurnEnded { answer: answer.clone() }
    );
    assert_eq!(
        kind("SubagentStart", json!({"agent_type": "reviewer"})),
        AgentEventKind::SubagentStarted { kind: Some("reviewer".into()) }
    );
    let ended = json!({"agent_transcript_path": "/a/b.jsonl", "last_assistant_message": "done"});
    let session_file = Some("/a/b.jsonl".into());
    assert_eq!(kind("SubagentStop", ended), AgentEventKind::SubagentEnded { session_file, answer });
    let cause = Some("auto".to_owned());
    let compaction = AgentEventKind::Compaction { cause: cause.clone() };
    assert_eq!(kind("PreCompact", json!({"trigger": "auto"})), compaction);
    assert_eq!(
        kind("SessionEnd", json!({"reason": "auto"})),
        AgentEventKind::SessionEnded { cause }
    );
}

#[test]
fn documents_of_codex_name_the_turn() {
    let event = taken(Agent::Codex, &codex("UserPromptSubmit", json!({"prompt": "go"})));
    assert_eq!((event.prompt_id.as_deref(), event.session_file), (Some("turn-9"), None));
    let started = taken(Agent::Codex, &codex("SessionStart", json!({"source": "startup"})));
    let (cause, model) = (Some("startup".to_owned()), Some("tiny".to_owned()));
    assert_eq!(started.kind, AgentEventKind::SessionStarted { cause, model });
    let call = json!({"tool_name": "Bash", "tool_use_id": "call_1", "tool_response": ""});
    let after = taken(Agent::Codex, &codex("PostToolUse", call));
    let result = Some("\"\"".to_owned());
    let (call, tool) = (Some("call_1".to_owned()), "Bash".to_owned());
    assert_eq!(
        after.kind,
        AgentEventKind::AfterTool { call, tool, input: None, result, is_failed: false }
    );
}

#[test]
fn documents_of_gemini_cli_are_read_by_their_own_names() {
    let kind = |event, more| taken(Agent::GeminiCli, &gemini(event, more)).kind;
    let text = "go".to_owned();
    assert_eq!(kind("BeforeAgent", json!({"prompt": "go"})), AgentEventKind::Prompt { text });
    let call = json!({"tool_name": "write_file", "tool_input": {"n": 1.50}});
    assert!(matches!(
        kind("BeforeTool", call.clone()),
        AgentEventKind::BeforeTool { call: None, tool, .. } if tool == "write_file"
    ));
    assert!(matches!(kind("AfterTool", call), AgentEventKind::AfterTool { result: None, .. }));
    let answer = Some("yes".to_owned());
    assert_eq!(
        kind("AfterAgent", json!({"prompt": "go", "prompt_response": "yes"})),
        AgentEventKind::TurnEnded { answer }
    );
    // It is called before each request to the model, also where nothing is compressed.
    for event in ["PreToolUse", "PreCompress"] {
        let other = read(Agent::GeminiCli, &gemini(event, json!({"tool_name": "x"})));
        assert_eq!(other, Document::Ignored(IgnoredDocument::OtherEvent));
    }
}

#[test]
fn what_is_no_event_says_why() {
    let why = |bytes: &[u8]| match read(Agent::ClaudeCode, bytes) {
        Document::Ignored(why) => why,
        Document::Event(event) => panic!("{event:?}"),
    };
    for (bytes, reason) in [
        (b"".to_vec(), IgnoredDocument::NoObject),
        (b"\xff\xfe".to_vec(), IgnoredDocument::NoObject),
        (b"[{\"session_id\": \"a\"}]".to_vec(), IgnoredDocument::NoObject),
        (b"{\"hook_event_name\": \"Stop\"}".to_vec(), IgnoredDocument::NoSession),
        (claude("Stop", json!({"session_id": "x".repeat(257)})), IgnoredDocument::NoSession),
        (claude("Stop", json!({"session_id": 7})), IgnoredDocument::NoSession),
        (claude("Notification", json!({})), IgnoredDocument::OtherEvent),
        (claude("UserPromptSubmit", json!({"prompt": " \n"})), IgnoredDocument::NoPrompt),
        (
            claude("UserPromptSubmit", json!({"prompt": "<task-notification>\n.."})),
            IgnoredDocument::NoPrompt,
        ),
        (claude("PreToolUse", json!({"tool_name": null})), IgnoredDocument::NoTool),
        (vec![b' '; SIZE_MAX + 1], IgnoredDocument::TooLarge),
    ] {
        assert_eq!(
            why(&bytes),
            reason,
            "{}",
            String::from_utf8_lossy(bytes.get(..60).unwrap_or(&bytes))
        );
    }
}

#[test]
fn numbers_and_repeated_names_of_arguments_stay_as_they_are() {
    let text = r#"{"session_id": "a", "session_id": "b", "hook_event_name": "PreToolUse",
        "tool_name": "t", "cwd": "relative", "tool_input": {"n": 1.50e3, "n": 1e999}}"#;
    let event = taken(Agent::Codex, text.as_bytes());
    assert_eq!((event.session.as_str(), event.folder), ("b", None));
    let input = Some("{\"n\": 1.50e3, \"n\": 1e999}".to_owned());
    let (call, tool) = (None, "t".to_owned());
    assert_eq!(event.kind, AgentEventKind::BeforeTool { call, tool, input });
}

/// Any value under a name of the documents.
fn field() -> impl Strategy<Value = (String, Value)> {
    let names = vec![
        "session_id",
        "hook_event_name",
        "cwd",
        "prompt",
        "tool_name",
        "tool_input",
        "agent_id",
        "tool_use_id",
        "transcript_path",
        "source",
    ];
    let value = prop_oneof![
        Just(Value::Null),
        any::<f64>().prop_map(|number| json!(number)),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec!["Stop", "PreToolUse", "BeforeTool", "UserPromptSubmit", "s-1"])
            .prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..3).prop_map(Value::from),
        Just(json!({"a": {"b": [1]}})),
    ];
    (prop::sample::select(names).prop_map(str::to_owned), value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_document_is_an_event_or_ignored(fields in prop::collection::vec(field(), 0..12)) {
        let document: serde_json::Map<String, Value> = fields.into_iter().collect();
        let bytes = serde_json::to_vec(&document).unwrap();
        for agent in Agent::ALL {
            if let Document::Event(event) = read(agent, &bytes) {
                prop_assert_eq!(document.get("session_id"), Some(&json!(event.session)));
            }
        }
    }

    #[test]
    fn any_bytes_are_an_event_or_ignored(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for agent in Agent::ALL {
            let _ = read(agent, &bytes);
        }
    }
}
