use milepost::events::Data;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::SESSIONS;
use super::*;
use crate::json_object::compact;
use crate::record::session::testing::{any_json, kinds};

const NAMES: [&str; 26] = [
    "info",
    "messages",
    "parts",
    "id",
    "type",
    "text",
    "reasoning",
    "tool",
    "callID",
    "state",
    "status",
    "pending",
    "running",
    "completed",
    "error",
    "input",
    "output",
    "role",
    "user",
    "assistant",
    "time",
    "created",
    "end",
    "tokens",
    "synthetic",
    "finish",
];

fn document(messages: Value) -> Value {
    json!({"info": {"id": "ses_1", "time": {"created": 1}}, "messages": messages})
}

fn answer(parts: Value, time: Value) -> Value {
    let cache = json!({"read": 1, "write": 0});
    let tokens = json!({"input": 9, "output": 2, "reasoning": 3, "cache": cache});
    let info = json!({"id": "msg_2", "role": "assistant", "time": time, "tokens": tokens,
        "cost": 0.5, "modelID": "m", "finish": "stop"});
    json!({"info": info, "parts": parts})
}

fn tool(status: &str) -> Value {
    let state = json!({"status": status, "input": {"command": "ls"}, "output": "a b"});
    json!({"id": "prt_3", "type": "tool", "tool": "bash", "callID": "c", "state": state})
}

fn lines(document: &Value) -> Vec<SessionLine> {
    let read = read(&document.to_string()).unwrap();
    assert_eq!(read.bad, []);
    read.lines
}

fn all_kinds(document: &Value) -> Vec<String> {
    lines(document).iter().map(|line| kinds(line).join(" ")).collect()
}

#[test]
fn a_message_is_its_parts_and_then_its_end() {
    let user = json!({"info": {"id": "msg_1", "role": "user"}, "parts": [
        {"id": "prt_0", "type": "text", "text": "a file", "synthetic": true},
        {"id": "prt_1", "type": "text", "text": "do it"},
    ]});
    let parts = json!([{"id": "prt_2", "type": "reasoning", "text": "hm"}, tool("completed"),
        {"id": "prt_4", "type": "patch"}]);
    let made = document(json!([user, answer(parts, json!({"completed": 5}))]));
    let parts = ["message application", "tool_called application", "tool_returned application"];
    let ends = ["application", "application application"];
    let [message, called, returned] = parts;
    let expected =
        ["application", message, message, ends[0], message, called, returned, ends[0], ends[1]];
    assert_eq!(all_kinds(&made), expected);
    let lines = lines(&made);
    let prompts: Vec<_> = lines.iter().filter_map(SessionLine::prompt).collect();
    assert_eq!(prompts, ["do it"]);
    assert_eq!(lines[2].alias.as_deref(), Some("msg_1"));
    assert!(lines[5].calls(key("c")) && lines.last().unwrap().time_us.is_none());
    let Body::Application(usage) = &lines.last().unwrap().events[0] else { panic!() };
    let Data::Json(usage) = &usage.data else { panic!() };
    assert!(usage.text().contains(r#""cache_read":1"#), "{}", usage.text());
    // Thoughts are tokens of the output, too.
    assert!(usage.text().contains(r#""output":5"#), "{}", usage.text());
    assert!(usage.text().contains(r#""cost":0.5,"currency":"USD""#), "{}", usage.text());
}

#[test]
fn what_an_answer_does_not_have_yet_comes_behind_what_it_has() {
    let text = |time: Value| json!({"id": "prt_5", "type": "text", "text": "on", "time": time});
    let states = [
        (json!([]), json!({})),
        (json!([tool("pending")]), json!({})),
        (json!([tool("running"), text(json!({}))]), json!({})),
        (json!([tool("completed"), text(json!({}))]), json!({})),
        (json!([tool("completed"), text(json!({"end": 4}))]), json!({})),
        (json!([tool("completed"), text(json!({"end": 4}))]), json!({"completed": 5})),
    ];
    let names = |(parts, time)| {
        let lines = lines(&document(json!([answer(parts, time)])));
        lines.into_iter().map(|line| line.uuid.unwrap()).collect::<Vec<_>>()
    };
    let states: Vec<Vec<String>> = states.into_iter().map(names).collect();
    assert_eq!(states.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 2, 3, 4, 5]);
    for pair in states.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{pair:?}");
    }
}

#[test]
fn a_call_that_never_ended_is_kept_once_another_answer_follows() {
    let message = |id: &str, role: &str| json!({"info": {"id": id, "role": role}, "parts": []});
    let first = answer(json!([tool("running")]), json!({}));
    let prompt = message("msg_8", "user");
    let called = "tool_called application";
    // The prompt waits for the end of the answer.
    let made = document(json!([first, prompt]));
    assert_eq!(all_kinds(&made), ["application", called]);
    let made = document(json!([first, prompt, message("msg_9", "assistant")]));
    let kinds = all_kinds(&made);
    assert_eq!(kinds[..3], ["application", called, "application"]);
    assert_eq!(kinds.len(), 5);
}

#[test]
fn tokens_of_any_number_are_added() {
    let mut made = answer(json!([]), json!({"completed": 5}));
    made["info"]["tokens"]["output"] = json!(u64::MAX);
    let lines = lines(&document(json!([made])));
    let Body::Application(usage) = &lines.last().unwrap().events[0] else { panic!() };
    let Data::Json(usage) = &usage.data else { panic!() };
    assert!(usage.text().contains(&format!(r#""output":{}"#, u64::MAX)), "{}", usage.text());
}

#[test]
fn an_id_that_is_no_name_is_no_alias() {
    let alias = |id: &str| {
        let parts = json!([{"id": "prt_1", "type": "text", "text": "go"}]);
        let prompt = json!({"info": {"id": id, "role": "user"}, "parts": parts});
        lines(&document(json!([prompt])))[1].alias.clone()
    };
    assert_eq!(alias("msg_1").as_deref(), Some("msg_1"));
    for id in ["", "a\nb", &"m".repeat(201)] {
        assert_eq!(alias(id), None, "{id:?}");
    }
}

#[test]
fn what_is_no_export_is_refused_and_a_message_without_an_id_named() {
    for text in ["[]", "{}", r#"{"info":{}}"#, r#"{"info":{"id":"x"},"messages":{}}"#] {
        assert!(read(text).is_err(), "{text}");
    }
    let bad =
        document(json!([7, {"info": {"role": "user"}}, {"info": {"id": "m", "role": "user"}}]));
    let read = read(&bad.to_string()).unwrap();
    assert_eq!(read.bad.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(read.lines.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_message_is_read_or_refused_and_kept(
        parts in prop::collection::vec(any_json(&NAMES), 0..4),
        info in any_json(&NAMES),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let _ = read(&String::from_utf8_lossy(&noise));
        let whole = json!({"info": info, "parts": parts});
        let other = answer(parts.into(), json!({}));
        let Ok(read) = read(&document(json!([whole, other])).to_string()) else { return Ok(()) };
        for line in &read.lines {
            let kept = (SESSIONS.written)(&line.events).expect("the line is kept");
            prop_assert_eq!(compact(kept.text()), kept.text());
            for body in &line.events {
                let (kind, payload) = body.encode();
                prop_assert_eq!(&Body::decode(kind, &payload).unwrap(), body);
            }
        }
    }
}
