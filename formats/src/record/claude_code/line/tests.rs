use milepost::events::{Application, Data};

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
fn what_is_no_message_is_kept_word_for_word() {
    for text in [
        r#"{"type":"summary","summary":"s","leafUuid":"x"}"#,
        r#"{"type":"user","uuid":"u","message":"not an object"}"#,
        r#"{"type":"user","message":{"role":"user","content":"without an id"}}"#,
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
