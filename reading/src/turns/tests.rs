use milepost_codec::{
    Application, Float, Header, Json, LineageId, MarkCause, PatchForm, PromptChanged, StepFailed,
    StepFinished, StepStarted, ToolCalled, ToolReturned, VariablesPatched,
};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn started(step: u64) -> Body {
    StepStarted { step, name: Some(format!("s{step}")), ..StepStarted::default() }.into()
}

fn finished(step: u64) -> Body {
    StepFinished { step, ..StepFinished::default() }.into()
}

fn says(role: &str, text: &str) -> Body {
    Message::text(role, text).into()
}

fn calls(call: &str, command: &str) -> Body {
    let arguments = Json::from_value(&json!({ "command": command })).unwrap();
    ToolCalled { call: call.into(), tool: "bash".into(), arguments }.into()
}

fn returns(call: &str, ok: bool, output: &str) -> Body {
    let output = Some(Json::string(output));
    ToolReturned { call: call.into(), tool: None, ok, output }.into()
}

fn mark(label: &str) -> Body {
    let label = Some(label.to_owned());
    CheckpointMarked { label, cause: MarkCause::Step, ..CheckpointMarked::default() }.into()
}

/// Returns the turns of events that are one millisecond apart.
fn turns(bodies: impl IntoIterator<Item = Body>) -> Vec<Turn> {
    let mut turns = Turns::default();
    let mut all = Vec::new();
    for (offset, body) in (0..).zip(bodies) {
        let header = Header { time_us: offset * 1000, ..Header::default() };
        let event = Event { lineage: LineageId(0), offset, header, body: Some(body) };
        all.extend(turns.add(&event));
    }
    all.extend(turns.end());
    all
}

#[test]
fn a_step_shows_what_it_did_once_and_its_metrics_count() {
    let once = Application::new("milepost.once", &json!({"n": 1})).unwrap();
    let measured = |loss: f64| {
        let metrics = [("loss".to_owned(), Float(loss))].into();
        Body::from(StepFinished { step: 1, metrics, ..StepFinished::default() })
    };
    let all = |loss| turns([started(1), once.clone().into(), measured(loss)]).remove(0);
    assert_eq!(all(0.5).heard.as_deref(), Some("{\"n\":1}"));
    assert_eq!(all(0.5).metrics_digest, all(0.5).metrics_digest);
    assert_ne!(all(0.5).metrics_digest, all(0.25).metrics_digest);
}

#[test]
fn entries_of_pydantic_ai_are_messages_calls_and_results() {
    let entry = |parts: serde_json::Value, usage: serde_json::Value| {
        let message = json!({"kind": "response", "parts": parts, "usage": usage});
        let data = json!({"id": "e", "kind": "message", "message": message});
        Body::from(Application::new("pydantic.entry", &data).unwrap())
    };
    let all = turns([
        entry(
            json!([{"part_kind": "user-prompt", "content": ["Where to?", {"kind": "image"}]}]),
            json!(null),
        ),
        entry(
            json!([
                {"part_kind": "thinking", "content": "hm"},
                {"part_kind": "text", "content": "I look."},
                {
                    "part_kind": "tool-call", "tool_name": "trains", "tool_call_id": "c",
                    "args": "{\"to\": \"Rome\"}",
                },
            ]),
            json!({"input_tokens": 5, "output_tokens": 7}),
        ),
        entry(
            json!([{"part_kind": "tool-return", "tool_call_id": "c", "content": "none"}]),
            json!(null),
        ),
        entry(
            json!([{"part_kind": "text", "content": "By ship."}]),
            json!({"input_tokens": 9, "output_tokens": 2}),
        ),
    ]);
    assert_eq!(all.len(), 3);
    assert_eq!(all[0].heard.as_deref(), Some("Where to?"));
    assert_eq!(all[1].said.as_deref(), Some("I look."));
    let call = &all[1].calls[0];
    assert_eq!(
        (&*call.tool, call.ok, call.result.as_deref()),
        ("trains", Some(true), Some("none"))
    );
    let usage = all[1].usage.as_ref().unwrap();
    assert_eq!((usage.input, usage.output), (Some(5), Some(7)));
    assert_eq!(all[2].said.as_deref(), Some("By ship."));
}

#[test]
fn a_step_of_an_optimizer_is_one_turn_with_its_calls_and_its_mark() {
    let all = turns([
        says("system", "you are an agent"),
        says("user", "fix it"),
        started(1),
        says("assistant", "I look"),
        calls("a", "ls"),
        returns("a", true, "x\ny"),
        calls("b", "make"),
        returns("b", false, "\n---\nE999 unexpected indent\nmore"),
        finished(1),
        mark("one"),
        says("user", "between"),
        started(2),
    ]);
    assert_eq!(all.len(), 2);
    let one = &all[0];
    assert_eq!((one.step, one.name.as_deref(), one.turn), (Some(1), Some("s1"), 0));
    assert_eq!((one.first, one.next, one.time_us, one.took_us), (2, 10, 2000, Some(6000)));
    assert_eq!(one.said.as_deref(), Some("I look"));
    let told: Vec<_> = one.calls.iter().map(|c| (&*c.arguments, c.ok, c.took_us)).collect();
    assert_eq!(told, [("ls", Some(true), Some(1000)), ("make", Some(false), Some(1000))]);
    assert_eq!(one.calls[0].result.as_deref(), Some("x y"));
    assert_eq!(one.failed.as_deref(), Some("E999 unexpected indent"));
    assert_eq!(one.mark.as_ref().unwrap().label.as_deref(), Some("one"));
    assert_eq!((all[1].step, all[1].first, all[1].next), (Some(2), 11, 12));
}

#[test]
fn the_ends_of_steps_that_did_not_begin_are_turns_with_their_metrics_and_marks() {
    let trial = |step: u64, value: f64| -> Body {
        let metrics = [("value".to_owned(), Float(value))].into();
        StepFinished { step, result: None, metrics }.into()
    };
    let failed = StepFailed { step: 3, error: "no".into() };
    let turns = turns([
        says("user", "begin"),
        trial(1, 0.5),
        mark("trial-1"),
        trial(2, 0.25),
        failed.into(),
        mark("trial-3"),
    ]);
    let seen: Vec<_> = turns
        .iter()
        .map(|turn| {
            let label = turn.mark.as_ref().and_then(|mark| mark.label.as_deref());
            let value = turn.metrics.first().map(|(_, value)| *value);
            (turn.step, value, turn.failed.as_deref(), label, turn.first..turn.next)
        })
        .collect();
    assert_eq!(
        seen,
        [
            (Some(1), Some(0.5), None, Some("trial-1"), 1..3),
            (Some(2), Some(0.25), None, None, 3..4),
            (Some(3), None, Some("no"), Some("trial-3"), 4..6),
        ]
    );
}

#[test]
fn the_mark_of_a_turn_is_its_own_and_not_that_before_the_next_call() {
    let before = |label: &str| -> Body {
        let label = Some(label.to_owned());
        let cause = MarkCause::BeforeTool;
        CheckpointMarked { label, cause, ..CheckpointMarked::default() }.into()
    };
    let run = |n: u32| {
        let call = format!("c{n}");
        let (first, last) = (before(&format!("before-s{n}")), mark(&format!("after-s{n}")));
        [first, calls(&call, "make"), returns(&call, true, "x"), last]
    };
    let all = turns(run(6).into_iter().chain(run(7)));
    let labels: Vec<_> =
        all.iter().map(|turn| turn.mark.as_ref().unwrap().label.clone().unwrap()).collect();
    assert_eq!(labels, ["after-s6", "after-s7"]);
}

#[test]
fn the_time_of_a_turn_ends_with_its_own_last_event() {
    let all = turns([
        says("assistant", "I look"),
        calls("a", "ls"),
        returns("a", true, "x"),
        PromptChanged { prompt: "p".into() }.into(),
        mark("later"),
        returns("of another turn", true, "y"),
        says("user", "after lunch"),
        says("assistant", "done"),
    ]);
    assert_eq!((all[0].next, all[0].took_us), (7, Some(2000)));
    // One event, or several with the stamps of an import without times, tell no time.
    assert_eq!(all[1].took_us, None);
    let mut of_import = Turns::default();
    for (offset, body) in (0..).zip([started(1), calls("a", "ls"), returns("a", true, "x")]) {
        let header = Header { time_us: 7, ..Header::default() };
        let event = Event { lineage: LineageId(0), offset, header, body: Some(body) };
        assert_eq!(of_import.add(&event), None);
    }
    let one = of_import.end().unwrap();
    assert_eq!((one.next, one.took_us, one.calls[0].took_us), (3, None, None));
}

#[test]
fn a_step_of_a_coding_agent_has_a_turn_for_each_answer() {
    let all = turns([
        started(1),
        says("user", "please"),
        says("assistant", "first"),
        calls("a", "ls"),
        returns("a", true, "x"),
        says("assistant", "second"),
        says("user", "thanks"),
        finished(1),
    ]);
    let told: Vec<_> = all.iter().map(|turn| (turn.turn, turn.said.as_deref().unwrap())).collect();
    assert_eq!(told, [(0, "first"), (1, "second")]);
    assert_eq!(
        (all[0].heard.as_deref(), all[1].heard.as_deref()),
        (Some("please"), Some("thanks"))
    );
    assert_eq!((all[0].next, all[1].first, all[1].next), (5, 5, 8));
}

#[test]
fn without_steps_answers_and_calls_that_none_announced_are_turns() {
    let all = turns([
        says("user", "go"),
        calls("a", "ls"),
        calls("b", "pwd"),
        returns("b", true, "/"),
        says("assistant", "done"),
        PromptChanged { prompt: "p".into() }.into(),
    ]);
    assert_eq!(all.len(), 2);
    assert_eq!((all[0].step, all[0].calls.len(), all[0].calls[0].ok), (None, 2, None));
    assert_eq!((all[1].said.as_deref(), all[1].next), (Some("done"), 6));
}

#[test]
fn calls_one_after_another_without_a_step_are_a_turn_each() {
    let call = |n: &str| [calls(n, n), returns(n, n != "b", n), mark(n)];
    let all = turns(["a", "b", "c"].into_iter().flat_map(call));
    let told: Vec<_> = all.iter().map(|turn| (turn.calls.len(), turn.failed.is_some())).collect();
    assert_eq!(told, [(1, false), (1, true), (1, false)]);
}

#[test]
fn a_failed_step_says_why_and_a_run_that_continues_shows_its_last_turn() {
    let error = "Traceback\n  at".to_owned();
    let failed = StepFailed { step: 1, error };
    let all = turns([started(1), failed.into(), says("user", "again")]);
    assert_eq!(all[0].failed.as_deref(), Some("Traceback"));
    assert_eq!(all[0].next, 2);
    let mut turns = Turns::default();
    let event = |offset, body| {
        let header = Header::default();
        Event { lineage: LineageId(0), offset, header, body: Some(body) }
    };
    assert!(turns.add(&event(0, says("assistant", "a"))).is_none());
    assert_eq!(turns.unfinished().unwrap().said.as_deref(), Some("a"));
    turns.add(&event(1, calls("c", "ls")));
    assert_eq!(turns.unfinished().unwrap().calls.len(), 1);
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        (1..4_u64).prop_map(started),
        (1..4_u64).prop_map(finished),
        Just(says("user", "u")),
        Just(says("assistant", "a")),
        (0..3_u8).prop_map(|n| calls(&n.to_string(), "x")),
        (0..3_u8, any::<bool>()).prop_map(|(n, ok)| returns(&n.to_string(), ok, "y")),
        Just(mark("m")),
    ]
}

proptest! {
    #[test]
    fn turns_are_in_order_and_have_each_answer_and_call_once(
        bodies in proptest::collection::vec(body(), 0..60)
    ) {
        let all = turns(bodies.clone());
        prop_assert!(all.iter().all(|turn| turn.first < turn.next));
        prop_assert!(all.windows(2).all(|two| two[0].next <= two[1].first));
        let count = |is: fn(&Body) -> bool| bodies.iter().filter(|body| is(body)).count();
        let in_turns: usize = all.iter().map(|turn| turn.calls.len()).sum();
        prop_assert_eq!(in_turns, count(|body| matches!(body, Body::ToolCalled(_))));
        let said = all.iter().filter(|turn| turn.said.is_some()).count();
        let answers = count(|body| matches!(body, Body::Message(m) if m.role == ASSISTANT));
        prop_assert_eq!(said, answers);
        for turn in &all {
            prop_assert!(turn.calls.iter().all(|call| (turn.first..turn.next).contains(&call.at)));
        }
    }
}

/// Writes JSON with other spaces, and with the keys of objects in another order.
fn rewritten(value: &serde_json::Value, salt: usize) -> String {
    let space = ["", " ", "\n  ", "\t"][salt % 4];
    match value {
        serde_json::Value::Object(fields) => {
            let mut fields: Vec<String> = (fields.iter())
                .map(|(name, value)| {
                    let name = serde_json::Value::from(name.as_str());
                    format!("{space}{name}{space}:{space}{}", rewritten(value, salt + 1))
                })
                .collect();
            let by = salt % fields.len().max(1);
            fields.rotate_left(by);
            format!("{{{}{space}}}", fields.join(","))
        }
        serde_json::Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| rewritten(item, salt + 1)).collect();
            format!("[{space}{}]", items.join(&format!("{space},")))
        }
        other => other.to_string(),
    }
}

fn values() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        "[a-z \"é]{0,6}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::btree_map("[a-d]{1,2}", inner, 0..4)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

fn digest_of(arguments: String) -> u64 {
    let arguments = Json::new(arguments).unwrap();
    let called = ToolCalled { call: "c".into(), tool: "t".into(), arguments };
    turns([called.into()]).remove(0).calls_digest
}

proptest! {
    #[test]
    fn the_same_call_is_the_same_however_its_json_is_written(
        value in values(), other in values(), salt in 0_usize..64,
    ) {
        let plain = digest_of(value.to_string());
        prop_assert_eq!(digest_of(rewritten(&value, salt)), plain);
        prop_assert_eq!(digest_of(other.to_string()) == plain, other == value);
        if value.is_object() || value.is_array() {
            let in_a_string = serde_json::Value::from(rewritten(&value, salt)).to_string();
            prop_assert_eq!(digest_of(in_a_string), plain);
        }
    }
}

#[test]
fn numbers_of_calls_count_as_they_are_written() {
    let digests: Vec<u64> =
        ["1", "1.0", "1e0", "18446744073709551617", "18446744073709551616", "1e400"]
            .map(|number| digest_of(format!("{{\"a\":{number}}}")))
            .to_vec();
    let unique: std::collections::BTreeSet<_> = digests.iter().collect();
    assert_eq!(unique.len(), digests.len());
    assert_eq!(digest_of(r#"{"a":"é"}"#.into()), digest_of(r#"{"a":"\u00e9"}"#.into()));
    digest_of(format!("{}{}", "[".repeat(100), "]".repeat(100)));
}

/// Returns the event that adds items to a list of variables, and other operations.
fn adds(list: &str, items: &[serde_json::Value], more: &[serde_json::Value]) -> Body {
    let add = |item| json!({"op": "add", "path": format!("{list}/-"), "value": item});
    let operations: Vec<_> = more.iter().cloned().chain(items.iter().map(add)).collect();
    let patch = Json::from_value(&operations).unwrap();
    VariablesPatched { form: PatchForm::Patch, patch }.into()
}

#[test]
fn items_that_a_program_adds_to_its_variables_are_its_messages_and_calls() {
    let call = json!({"name": "look", "args": {"where": "the shed"}, "id": "c1"});
    let asks = json!({"type": "ai", "content": "", "tool_calls": [call],
        "usage_metadata": {"input_tokens": 5, "output_tokens": 2}});
    let says = json!({"type": "ai", "content": "it is there", "tool_calls": []});
    let ran = |node: &str| json!({"op": "remove", "path": format!("/branch:to:{node}")});
    let all = turns([
        started(1),
        adds("/messages", &[json!({"type": "human", "content": "where is it"})], &[]),
        finished(1),
        started(2),
        adds("/messages", &[asks], &[ran("plan")]),
        finished(2),
        started(3),
        adds("/messages", &[says], &[ran("answer")]),
        finished(3),
    ]);
    assert_eq!(all.len(), 3);
    assert_eq!(all[0].heard.as_deref(), Some("where is it"));
    assert_eq!((all[1].name.as_deref(), &*all[1].calls[0].tool), (Some("plan"), "look"));
    assert_eq!(all[1].calls[0].arguments, "the shed");
    assert!(all[1].usage.is_some());
    assert_eq!(all[2].said.as_deref(), Some("it is there"));
    assert_eq!(all[2].name.as_deref(), Some("answer"));

    // The items of a session of OpenAI's SDK, in one event and one turn.
    let items = [
        json!({"role": "user", "content": "list it"}),
        json!({"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{\"p\":1}"}),
        json!({"type": "function_call_output", "call_id": "c", "output": "a b"}),
        json!({"role": "assistant", "content": [{"type": "output_text", "text": "two files"}]}),
        json!({"role": "assistant", "content": "and no more"}),
    ];
    let all = turns([adds("/items", &items, &[])]);
    assert_eq!(all.len(), 1, "{all:?}");
    let turn = &all[0];
    assert_eq!((&*turn.calls[0].tool, turn.calls[0].result.as_deref()), ("ls", Some("a b")));
    assert!(turn.said.as_deref().unwrap().contains("and no more"), "{turn:?}");
    assert_eq!(turn.heard.as_deref(), Some("list it"));

    for other in [json!(3), json!({"type": 7}), json!({"role": "", "content": 1}), json!(null)] {
        turns([adds("/items", &[other.clone(), other], &[])]);
    }
}
