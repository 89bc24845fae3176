//! Documents of further agents: those in the form of Claude Code, with differences, and of Cline.

use serde_json::{Value, json};

use super::super::*;

fn read_json(agent: Agent, document: &Value) -> Document {
    read(agent, document.to_string().as_bytes())
}

#[track_caller]
fn taken(agent: Agent, document: &Value) -> AgentEvent {
    match read_json(agent, document) {
        Document::Event(event) => *event,
        Document::Ignored(why) => panic!("{why:?}: {document}"),
    }
}

fn with(mut document: Value, more: Value) -> Value {
    document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    document
}

#[test]
fn qwen_code_has_an_empty_prompt_behind_each_tool_and_events_of_failures() {
    let of = |event: &str, more: Value| {
        let document = json!({
            "session_id": "q-1", "cwd": "/srv/shop", "hook_event_name": event,
            "transcript_path": "/home/eva/.qwen/projects/-srv-shop/chats/q-1.jsonl",
        });
        with(document, more)
    };
    let agent = Agent::QwenCode;
    let empty = read_json(agent, &of("UserPromptSubmit", json!({"prompt": ""})));
    assert_eq!(empty, Document::Ignored(IgnoredDocument::NoPrompt));
    let call = json!({
        "tool_name": "edit", "tool_use_id": "toolu_1_x", "tool_input": {"a": 1},
        "error": "no such file",
    });
    let event = taken(agent, &of("PostToolUseFailure", call));
    assert!(event.session_file.unwrap().ends_with("chats/q-1.jsonl"));
    let AgentEventKind::AfterTool { call, result, .. } = event.kind else { panic!() };
    assert_eq!((call.as_deref(), result.as_deref()), (Some("toolu_1_x"), Some("\"no such file\"")));
    let failed = taken(agent, &of("StopFailure", json!({"error": "rate_limit"})));
    assert_eq!(failed.kind, AgentEventKind::TurnEnded { answer: None });
}

#[test]
fn a_sub_agent_of_copilot_is_of_the_session_of_its_parent() {
    let of = |event: &str, more: Value| {
        let document = json!({
            "session_id": "child", "agent_id": "child", "parent_agent_id": "root",
            "cwd": "/srv/shop", "hook_event_name": event, "agent_type": "explore",
        });
        with(document, more)
    };
    let agent = Agent::Copilot;
    let begun = taken(agent, &of("UserPromptSubmit", json!({"prompt": "look"})));
    assert_eq!((begun.session.as_str(), begun.subagent.as_deref()), ("root", Some("child")));
    assert_eq!(begun.kind, AgentEventKind::SubagentStarted { kind: Some("explore".into()) });
    let call = json!({
        "tool_name": "Bash", "tool_input": {"command": "ls"},
        "tool_result": {"result_type": "success"},
    });
    let after = taken(agent, &of("PostToolUse", call));
    assert_eq!((after.session.as_str(), after.subagent.as_deref()), ("root", Some("child")));
    let result = Some(r#"{"result_type":"success"}"#.to_owned());
    let input = Some(r#"{"command":"ls"}"#.to_owned());
    let tool = "Bash".to_owned();
    assert_eq!(
        after.kind,
        AgentEventKind::AfterTool { call: None, tool, input, result, is_failed: false }
    );
    // The turn of the parent lasts; its own document says that the child has ended.
    let ended = read_json(agent, &of("Stop", json!({"stop_reason": "end_turn"})));
    assert_eq!(ended, Document::Ignored(IgnoredDocument::OtherEvent));
    let main = json!({"session_id": "root", "hook_event_name": "Stop", "cwd": "/srv/shop"});
    assert_eq!(taken(agent, &main).kind, AgentEventKind::TurnEnded { answer: None });
}

#[test]
fn documents_of_the_plugin_for_opencode_are_read() {
    let of = |event: &str, more: Value| {
        with(json!({"session_id": "ses_1", "cwd": "/srv/shop", "hook_event_name": event}), more)
    };
    let agent = Agent::OpenCode;
    let prompt = json!({"prompt": "mend it", "prompt_id": "msg_1"});
    let prompt = taken(agent, &of("UserPromptSubmit", prompt));
    assert_eq!((prompt.prompt_id.as_deref(), prompt.session_file), (Some("msg_1"), None));
    let call = json!({"tool_name": "bash", "tool_use_id": "call_1", "tool_response": "done"});
    let AgentEventKind::AfterTool { call, result, .. } =
        taken(agent, &of("PostToolUse", call)).kind
    else {
        panic!()
    };
    assert_eq!((call.as_deref(), result.as_deref()), (Some("call_1"), Some("\"done\"")));
    let ended = json!({"agent_id": "ses_2", "last_assistant_message": "it is mended"});
    let ended = taken(agent, &of("SubagentStop", ended));
    assert_eq!(ended.subagent.as_deref(), Some("ses_2"));
    let answer = Some("it is mended".to_owned());
    assert_eq!(ended.kind, AgentEventKind::SubagentEnded { session_file: None, answer });
}

/// A document of Cline.
fn cline(name: &str, more: Value) -> Value {
    let document = json!({
        "taskId": "conv_1", "sessionContext": {"rootSessionId": "17-root"},
        "workspaceRoots": ["relative", "/srv/shop", "/srv/other"], "agent_id": "agent_1",
        "parent_agent_id": null, "hookName": name,
    });
    with(document, more)
}

#[test]
fn documents_of_cline_are_read_by_their_own_names() {
    let kind = |name: &str, more| taken(Agent::Cline, &cline(name, more)).kind;
    let started = taken(Agent::Cline, &cline("agent_start", json!({})));
    assert_eq!((started.session.as_str(), started.subagent), ("17-root", None));
    assert_eq!(started.folder.unwrap().to_str(), Some("/srv/shop"));
    let prompt = json!({"userPromptSubmit": {"prompt": "mend it", "attachments": []}});
    assert_eq!(kind("prompt_submit", prompt), AgentEventKind::Prompt { text: "mend it".into() });
    let (call, tool) = (Some("call_1".to_owned()), "run_commands".to_owned());
    let input = Some(r#"{"commands":["ls"]}"#.to_owned());
    let given = json!({"id": "call_1", "name": "run_commands", "input": {"commands": ["ls"]}});
    assert_eq!(
        kind("tool_call", json!({"tool_call": given})),
        AgentEventKind::BeforeTool { call: call.clone(), tool: tool.clone(), input: input.clone() }
    );
    let given = with(given, json!({"output": [{"success": true}]}));
    let result = Some(r#"[{"success":true}]"#.to_owned());
    assert_eq!(
        kind("tool_result", json!({"tool_result": given})),
        AgentEventKind::AfterTool { call, tool, input, result, is_failed: false }
    );
    let turn = json!({"turn": {"outputText": "done", "status": "completed"}});
    let answer = Some("done".to_owned());
    assert_eq!(kind("agent_end", turn), AgentEventKind::TurnEnded { answer });
    assert_eq!(kind("agent_error", json!({})), AgentEventKind::TurnEnded { answer: None });
    let cause = Some("exit".to_owned());
    let ended = kind("session_shutdown", json!({"reason": "exit"}));
    assert_eq!(ended, AgentEventKind::SessionEnded { cause });
}

#[test]
fn documents_of_cline_without_a_session_or_a_tool_say_so() {
    let child = json!({"parent_agent_id": "agent_0"});
    let begun = taken(Agent::Cline, &cline("agent_start", child));
    assert_eq!(begun.subagent.as_deref(), Some("agent_1"));
    assert_eq!(begun.kind, AgentEventKind::SubagentStarted { kind: None });
    let alone = taken(Agent::Cline, &cline("agent_start", json!({"sessionContext": []})));
    assert_eq!(alone.session, "conv_1");
    for (document, why) in [
        (json!({"hookName": "tool_call"}), IgnoredDocument::NoSession),
        (cline("tool_call", json!({"tool_call": []})), IgnoredDocument::NoTool),
        (cline("tool_call", json!({})), IgnoredDocument::NoTool),
        (cline("prompt_submit", json!({"userPromptSubmit": "x"})), IgnoredDocument::NoPrompt),
        (cline("other", json!({})), IgnoredDocument::OtherEvent),
        (json!({"taskId": "conv_1"}), IgnoredDocument::OtherEvent),
    ] {
        assert_eq!(read_json(Agent::Cline, &document), Document::Ignored(why), "{document}");
    }
}

/// A document of Cursor, as its command sends one.
fn cursor(event: &str, more: Value) -> Value {
    let document = json!({
        "conversation_id": "4c84-cursor", "generation_id": "gen-3", "model": "composer-2",
        "hook_event_name": event, "cursor_version": "3.1.17", "user_email": null,
        "workspace_roots": ["/srv/shop", "/srv/other"], "transcript_path": null,
    });
    with(document, more)
}

#[test]
fn documents_of_cursor_are_read_by_their_own_names() {
    let kind = |name: &str, more| taken(Agent::Cursor, &cursor(name, more)).kind;
    let prompt = taken(Agent::Cursor, &cursor("beforeSubmitPrompt", json!({"prompt": "mend it"})));
    assert_eq!(
        (prompt.session.as_str(), prompt.prompt_id.as_deref()),
        ("4c84-cursor", Some("gen-3"))
    );
    assert_eq!(prompt.folder.unwrap().to_str(), Some("/srv/shop"));
    assert_eq!(prompt.kind, AgentEventKind::Prompt { text: "mend it".into() });
    let (call, tool) = (Some("call_1\nctc_1".to_owned()), "Shell".to_owned());
    let input = Some(r#"{"command":"date","cwd":""}"#.to_owned());
    let given = json!({
        "tool_name": "Shell", "tool_use_id": "call_1\nctc_1", "cwd": "",
        "tool_input": {"command": "date", "cwd": ""},
    });
    assert_eq!(
        kind("preToolUse", given.clone()),
        AgentEventKind::BeforeTool { call: call.clone(), tool: tool.clone(), input: input.clone() }
    );
    for (output, result, is_failed) in [
        (json!("{\"exitCode\":0}"), "{\"exitCode\":0}", false),
        (json!("{\"exitCode\":2}"), "{\"exitCode\":2}", true),
        (json!("{\"success\":false}"), "{\"success\":false}", true),
        (json!("3 files"), "\"3 files\"", false),
        (json!({"stdout": "x"}), "{\"stdout\":\"x\"}", false),
    ] {
        let more = with(given.clone(), json!({ "tool_output": output, "duration": 36.841 }));
        let (call, tool, input) = (call.clone(), tool.clone(), input.clone());
        let result = Some(result.to_owned());
        let after = AgentEventKind::AfterTool { call, tool, input, result, is_failed };
        assert_eq!(kind("postToolUse", more), after);
    }
    let more = with(given, json!({"error_message": "denied", "failure_type": "permission_denied"}));
    let result = Some("\"denied\"".to_owned());
    let failed = AgentEventKind::AfterTool { call, tool, input, result, is_failed: true };
    assert_eq!(kind("postToolUseFailure", more), failed);
    let said = AgentEventKind::Answered { text: "done".into() };
    assert_eq!(kind("afterAgentResponse", json!({"text": "done"})), said);
    let stop = json!({"status": "completed", "loop_count": 0});
    assert_eq!(kind("stop", stop), AgentEventKind::TurnEnded { answer: None });
    let cause = Some("auto".to_owned());
    assert_eq!(
        kind("preCompact", json!({"trigger": "auto"})),
        AgentEventKind::Compaction { cause }
    );
    let child =
        json!({"parent_conversation_id": "4c84-parent", "subagent_id": "s-1", "summary": "ok"});
    let child = taken(Agent::Cursor, &cursor("subagentStop", child));
    assert_eq!((child.session.as_str(), child.subagent.as_deref()), ("4c84-parent", Some("s-1")));
    let answer = Some("ok".to_owned());
    assert_eq!(child.kind, AgentEventKind::SubagentEnded { session_file: None, answer });
    let ended = kind("sessionEnd", json!({"reason": "window_close", "session_id": "4c84-cursor"}));
    assert_eq!(ended, AgentEventKind::SessionEnded { cause: Some("window_close".into()) });
    let back = json!({"session_id": "4c84-cursor", "hook_event_name": GOING_BACK});
    assert_eq!(taken(Agent::Cursor, &back).kind, AgentEventKind::GoingBack);
}

#[test]
fn a_document_of_cursor_is_recorded_by_its_own_hooks_only() {
    let document = cursor("sessionStart", json!({"session_id": "4c84-cursor"}));
    let ignored = Document::Ignored(IgnoredDocument::OfCursor);
    assert_eq!(read_json(Agent::ClaudeCode, &document), ignored);
    assert!(is_of_cursor(document.to_string().as_bytes()));
    for other in [
        json!({"session_id": "s", "prompt": "what is \"cursor_version\"?"}),
        json!({"session_id": "s", "tool_input": {"cursor_version": "1"}}),
        json!(["cursor_version"]),
    ] {
        assert!(!is_of_cursor(other.to_string().as_bytes()), "{other}");
    }
    for (document, why) in [
        (json!({"hook_event_name": "stop", "cursor_version": "3"}), IgnoredDocument::NoSession),
        (cursor("preToolUse", json!({})), IgnoredDocument::NoTool),
        (cursor("beforeSubmitPrompt", json!({"prompt": " "})), IgnoredDocument::NoPrompt),
        (cursor("afterFileEdit", json!({})), IgnoredDocument::OtherEvent),
        (cursor("afterAgentResponse", json!({"text": ""})), IgnoredDocument::OtherEvent),
    ] {
        assert_eq!(read_json(Agent::Cursor, &document), Document::Ignored(why), "{document}");
    }
}
