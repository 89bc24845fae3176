use milepost::Json;
use milepost::events::{Application, Data, Message, ToolReturned};

use super::*;

fn json(text: &str) -> Json {
    Json::new(text).unwrap()
}

fn talk(line: &SessionLine) -> &Talk {
    match &line.part {
        Part::Message(talk) => talk,
        Part::Nothing | Part::Back(_) => panic!("no message: {line:?}"),
    }
}

#[test]
fn a_prompt_is_a_message_with_all_other_fields_beside_it() {
    let line = read(
        r#"{"parentUuid":null,"isSidechain":false,"cwd":"/x","type":"user",
            "message":{"role":"user","content":"do  it\nnow"},
            "uuid":"u1","timestamp":"2025-05-26T07:27:40.079Z"}"#,
    )
    .unwrap();
    assert_eq!(line.uuid.as_deref(), Some("u1"));
    assert_eq!((line.parent.as_deref(), line.side), (None, false));
    assert_eq!(line.time_us, Some(1_748_244_460_079_000));
    assert_eq!(line.prompt(), Some("do it now"));
    let kept = concat!(
        r#"{"claude_code":{"parentUuid":null,"isSidechain":false,"cwd":"/x","type":"user","#,
        r#""uuid":"u1","timestamp":"2025-05-26T07:27:40.079Z"}}"#
    );
    let message = Message {
        role: "user".into(),
        content: Some(json(r#""do  it\nnow""#)),
        name: None,
        extra: Some(Extra(json(kept))),
    };
    assert_eq!(line.events, [message.into()]);
}

#[test]
fn blocks_become_messages_and_calls_in_their_order() {
    let line = read(
        r#"{"type":"assistant","uuid":"u","message":{"id":"m","role":"assistant","content":[
            {"type":"text","text":"let me look"},
            {"type":"tool_use","id":"t1","name":"Task","input":{"prompt":"look"},"caller":"x"},
            {"type":"thinking","thinking":"hm","signature":"s"}]}}"#,
    )
    .unwrap();
    let kinds: Vec<&str> = line.events.iter().map(|body| body.kind_name()).collect();
    assert_eq!(kinds, ["message", "tool_called", "message"]);
    let Body::Message(first) = &line.events[0] else {
        panic!("{line:?}");
    };
    assert_eq!(first.content, Some(json(r#""let me look""#)));
    let kept = concat!(
        r#"{"claude_code":{"type":"assistant","uuid":"u","message":{"id":"m"},"#,
        r#""blocks":{"t1":{"caller":"x"}}}}"#
    );
    assert_eq!(first.extra, Some(Extra(json(kept))));
    let Body::Message(last) = &line.events[2] else {
        panic!("{line:?}");
    };
    let thought = r#"[{"type":"thinking","thinking":"hm","signature":"s"}]"#;
    assert_eq!(last.content, Some(json(thought)));
    assert_eq!(talk(&line).called, [(key("t1"), Some(key("look")))]);
    assert_eq!(line.prompt(), None, "nobody asks there");
}

#[test]
fn a_result_is_no_prompt_and_what_it_has_beside_is_an_event() {
    let line = read(
        r#"{"type":"user","uuid":"u","message":{"role":"user","content":[
            {"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no"},
            {"type":"text","text":"stop"}]},"toolUseResult":{"a":1}}"#,
    )
    .unwrap();
    let returned =
        ToolReturned { call: "t1".into(), tool: None, ok: false, output: Some(json(r#""no""#)) };
    assert_eq!(line.events[0], returned.into());
    assert_eq!(talk(&line).returned, [key("t1")]);
    assert_eq!(line.prompt(), None);
    let alone = read(
        r#"{"type":"user","uuid":"u","message":{"role":"user","content":[
            {"type":"tool_result","tool_use_id":"t1","content":null}]},"toolUseResult":{"a":1}}"#,
    )
    .unwrap();
    let kept = Application {
        name: NAME.into(),
        data: Data::Json(json(r#"{"type":"user","uuid":"u","toolUseResult":{"a":1}}"#)),
    };
    assert_eq!(alone.events[1..], [kept.into()]);
}

#[test]
fn a_message_without_an_id_is_a_message() {
    let line = read(r#"{"type":"user","message":{"role":"user","content":"go"}}"#).unwrap();
    assert_eq!((line.prompt(), line.uuid.as_ref(), line.follows), (Some("go"), None, false));
    // As `--output-format stream-json` prints it.
    let line = r#"{"type":"assistant","message":{"role":"assistant","content":"ok"},"#;
    let own = read(&format!(r#"{line}"session_id":"s","uuid":"u","parent_tool_use_id":null}}"#));
    assert!(own.is_ok_and(|line| line.follows && line.is_message()));
    let agent = read(&format!(r#"{line}"session_id":"s","uuid":"u","parent_tool_use_id":"t"}}"#));
    assert!(agent.is_ok_and(|line| line.part == Part::Nothing && line.events.len() == 1));
}

#[test]
fn a_text_that_the_user_did_not_type_is_no_prompt_and_of_the_system() {
    let user = |content: &str, more: &str| {
        let message = format!(r#"{{"role":"user","content":{content}}}"#);
        format!(r#"{{"type":"user","uuid":"u","message":{message}{more}}}"#)
    };
    let untyped = [
        "<command-name>/model</command-name>",
        "<command-message>init</command-message>",
        "<local-command-stdout>Set model</local-command-stdout>",
        "<local-command-caveat>Caveat: ..",
        "<bash-input>ls</bash-input>",
        "<bash-stdout></bash-stdout>",
        "\n  [Request interrupted by user for tool use]",
        "[Request interrupted by user]",
        "<task-notification><task-id>1</task-id>",
        "Caveat: The messages below were generated by the user while running local commands. ..",
        "This session is being continued from a previous conversation that ran out of context. ..",
    ];
    let mut lines: Vec<String> = Vec::new();
    for text in untyped {
        let text = Json::string(text);
        lines.push(user(text.text(), ""));
        lines.push(user(&format!(r#"[{{"type":"text","text":{}}}]"#, text.text()), ""));
    }
    lines.push(user("\"go\"", r#","isMeta":true"#));
    lines.push(user("\"go\"", r#","isCompactSummary":true"#));
    lines.push(user("\"go\"", r#","origin":{"kind":"task-notification"}"#));
    for text in &lines {
        let line = read(text).unwrap();
        assert!(line.prompt().is_none() && talk(&line).untyped, "{text}");
        let Body::Message(message) = &line.events[0] else { panic!("{line:?}") };
        assert_eq!(message.role, "system", "{text}");
        let again = super::super::written::written(&line.events).unwrap();
        let object = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        // A list of one text comes back as a text.
        if !text.contains("[{") {
            assert_eq!(object(again.text()), object(text));
        }
    }
    // An editor puts its context before the text.
    let typed = r#"[{"type":"text","text":"<ide_opened_file>a</ide_opened_file>"},
        {"type":"text","text":"go"}]"#;
    assert_eq!(read(&user(typed, "")).unwrap().prompt(), Some("go"));
}

#[test]
fn what_is_no_message_is_kept_word_for_word() {
    for text in [
        r#"{"type":"summary","summary":"s","leafUuid":"x"}"#,
        r#"{"type":"user","uuid":"u","message":"not an object"}"#,
        r#"{"type":"not yet known","uuid":"u","parentUuid":"p","n":1.50}"#,
    ] {
        let line = read(text).unwrap();
        assert_eq!(line.part, Part::Nothing, "{text}");
        let kept = Application { name: NAME.into(), data: Data::Json(json(text)) };
        assert_eq!(line.events, [kept.into()]);
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    assert_eq!(read("[1]").unwrap_err(), "not a JSON object");
    let error = read(r#"{"uuid":"#).unwrap_err();
    assert!(error.starts_with("not JSON: EOF"), "{error}");
    assert!(read(&format!("{{\"a\":{}", "[".repeat(9000))).is_err());
}
