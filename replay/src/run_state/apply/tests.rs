//! Tests of the built-in fold, one behaviour each.

use milepost_codec::*;
use serde_json::{Value, json};

use super::*;
use crate::chunks::MemoryChunks;
use crate::reducer::fold;
use crate::run_state::MessageRange;

fn event(offset: Offset, body: Body) -> Event {
    let header = Header { kind: body.kind(), ..Header::default() };
    Event { lineage: LineageId(0), offset, header, body: Some(body) }
}

fn erased(offset: Offset, line: Value) -> Event {
    Event { body: None, ..event(offset, Body::from_json(&line.to_string()).unwrap()) }
}

/// Folds JSON lines, at offsets from 0.
fn after(lines: &[Value]) -> RunState {
    let events = lines
        .iter()
        .zip(0..)
        .map(|(line, offset)| Body::from_json(&line.to_string()).map(|body| event(offset, body)));
    fold(&RunReducer, RunReducer.initial(), events, &MemoryChunks::default()).unwrap()
}

fn control(from: &str, to: &str) -> Value {
    json!({"kind": "control_changed", "from": from, "to": to})
}

#[test]
fn a_root_sets_what_its_initial_object_says() {
    let root = "11".repeat(32);
    let state = after(&[json!({"kind": "lineage_opened", "lineage_type": "root", "initial": {
        "prompt": "p", "rules": ["r"], "artifacts": {"a": 1, "gone": null}, "variables": {"v": 1},
        "context": {"c": 1}, "phase": "draft", "iteration": 3, "workspace": root, "mine": true,
    }})]);
    assert_eq!(state.prompt.as_deref(), Some("p"));
    assert_eq!(state.rules, Some(Json::new(r#"["r"]"#).unwrap()));
    assert_eq!(state.artifacts.keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(
        (state.variables.text(), state.context.text()),
        (r#"{"v":1}"#.into(), r#"{"c":1}"#.into())
    );
    assert_eq!((state.phase.as_deref(), state.iteration), (Some("draft"), 3));
    assert_eq!(state.workspace, Some(Hash([0x11; 32])));
    assert_eq!(state.last_error, None);
}

#[test]
fn a_field_of_the_wrong_type_is_an_error_and_the_others_are_taken() {
    let state = after(&[json!({"kind": "lineage_opened", "lineage_type": "root",
        "initial": {"prompt": "p", "iteration": "three", "context": [1]}})]);
    assert_eq!((state.prompt.as_deref(), state.iteration), (Some("p"), 0));
    assert_eq!(state.context.text(), "[1]");
    let error = state.last_error.unwrap();
    assert!(error.message.contains("iteration"), "{}", error.message);
    let other = after(&[json!({"kind": "lineage_opened", "lineage_type": "root", "initial": [1]})]);
    assert_eq!(other, RunState::default());
}

#[test]
fn a_fork_a_mark_a_restore_and_what_is_unknown_change_nothing() {
    let zero = "00".repeat(32);
    let state = after(&[
        json!({"kind": "lineage_opened", "lineage_type": "branch", "initial": {"prompt": "p"},
            "parent": {"lineage": 0, "offset": 1, "hash": zero}}),
        json!({"kind": "restored", "from": 0, "head": 2, "lineage": 0, "offset": 1,
            "scope": "all"}),
        json!({"kind": "checkpoint_marked", "label": "l"}),
        json!({"kind": "checkpoint_unmarked", "checkpoint": zero, "mark": 1}),
        json!({"kind": "tea_break"}),
    ]);
    assert_eq!(state, RunState::default());
    let mut state = RunState::default();
    let unknown = event(0, Body::Unknown { kind: 9999, payload: vec![1] });
    RunReducer.apply(&mut state, &unknown, &MemoryChunks::default()).unwrap();
    assert_eq!(state, RunState::default());
}

#[test]
fn an_illegal_change_of_control_changes_nothing_but_the_last_error() {
    let state = after(&[control("idle", "running"), control("running", "idle")]);
    assert_eq!((state.control, state.last_error), (RunControl::Idle, None));
    for (lines, expected) in [
        (vec![control("idle", "paused")], "paused"),
        (vec![control("running", "stopped")], "running"),
    ] {
        let state = after(&lines);
        assert_eq!(state.control, RunControl::Idle);
        let error = state.last_error.clone().unwrap();
        assert_eq!(error.offset, 0);
        assert!(error.message.contains(expected), "{}", error.message);
        assert_eq!(RunState { last_error: None, ..state }, RunState::default());
    }
}

#[test]
fn a_patch_that_does_not_apply_leaves_later_states_reachable() {
    let state = after(&[
        json!({"kind": "variables_patched", "patch": {"a": 1}}),
        json!({"kind": "variables_patched", "form": "patch",
            "patch": [{"op": "add", "path": "/b", "value": 1}, {"op": "remove", "path": "/c"}]}),
        json!({"kind": "context_changed", "form": "patch", "patch": {}}),
        json!({"kind": "variables_patched", "form": "patch",
            "patch": [{"op": "replace", "path": "/a", "value": 2}]}),
    ]);
    assert_eq!(state.variables.text(), r#"{"a":2}"#);
    let error = state.last_error.unwrap();
    assert_eq!(error.offset, 2);
    assert!(error.message.starts_with("context"), "{}", error.message);
}

#[test]
fn phases_and_steps_follow_their_events() {
    let state = after(&[
        json!({"kind": "phase_changed", "phase": "a", "iteration": 1}),
        json!({"kind": "phase_changed", "phase": "b", "iteration": 2}),
        json!({"kind": "step_started", "step": 1, "name": "n"}),
        json!({"kind": "step_finished", "step": 1, "metrics": {"loss": "NaN"}}),
        json!({"kind": "step_started", "step": 2, "name": "m", "iteration": 5}),
    ]);
    assert_eq!((state.phase.as_deref(), state.previous_phase.as_deref()), (Some("b"), Some("a")));
    assert_eq!(state.iteration, 5);
    let step = state.step.clone().unwrap();
    assert_eq!((step.number, step.status), (2, StepStatus::Running));
    assert!(state.metrics["loss"].0.is_nan());
    assert_eq!(RunState::decode(&state.encode()).unwrap(), state);
    let state = after(&[json!({"kind": "step_failed", "step": 7, "error": "no"})]);
    let step = state.step.unwrap();
    assert_eq!((step.number, step.status), (7, StepStatus::Failed));
    assert_eq!(state.last_error.unwrap().message, "no");
}

#[test]
fn calls_are_open_until_they_are_answered() {
    let call = |id: &str| json!({"kind": "tool_called", "call": id, "tool": "t", "arguments": {}});
    let answer = |id: &str| json!({"kind": "tool_returned", "call": id});
    let state = after(&[call("1"), call("2"), answer("1"), answer("1"), answer("x"), call("2")]);
    assert_eq!(state.open_calls.keys().collect::<Vec<_>>(), ["2"]);
    assert_eq!(state.open_calls["2"].offset, 5);
    assert_eq!((state.finished_calls, state.abandoned_calls, state.messages.len()), (1, 1, 6));
}

#[test]
fn calls_that_nobody_answers_do_not_pile_up() {
    let chunks = MemoryChunks::default();
    let mut state = RunState::default();
    let arguments = Json::string(&"x".repeat(ARGUMENTS_MAX));
    for offset in 0..5_000 {
        let (call, tool) = (format!("{offset}"), "t".into());
        let body = ToolCalled { call, tool, arguments: arguments.clone() };
        RunReducer.apply(&mut state, &event(offset, body.into()), &chunks).unwrap();
    }
    let long = ToolCalled { call: "c".repeat(2_000), tool: "t".into(), arguments: Json::null() };
    RunReducer.apply(&mut state, &event(5_000, long.into()), &chunks).unwrap();
    assert!(state.open_calls.len() <= OPEN_CALLS_MAX);
    assert_eq!(state.open_calls.len() as u64 + state.abandoned_calls, 5_001);
    assert!(state.open_calls["4999"].arguments.is_none());
    assert_eq!(state.messages.len(), 5_001);
}

#[test]
fn an_erased_body_leaves_what_its_kind_allows() {
    let chunks = MemoryChunks::default();
    let mut state = RunState::default();
    for event in [
        erased(0, json!({"kind": "message", "role": "user"})),
        erased(1, json!({"kind": "prompt_changed", "prompt": "p"})),
        erased(2, json!({"kind": "guidance_given", "text": "t"})),
        erased(3, json!({"kind": "tool_returned", "call": "c"})),
    ] {
        RunReducer.apply(&mut state, &event, &chunks).unwrap();
    }
    assert_eq!((state.messages.len(), state.guidance.len(), state.prompt.clone()), (2, 0, None));
    let rendered = state.to_json(&chunks, MessageRange::All).unwrap();
    assert_eq!(rendered["messages"][0], json!({"kind": "message", "erased": true, "offset": 0}));
    assert_eq!(rendered["messages"][1]["kind"], "tool_returned");
}

#[test]
fn json_shows_the_messages_that_were_asked_for() {
    let chunks = MemoryChunks::default();
    let mut state = RunState::default();
    for offset in 0..5 {
        let body = Message::text("user", &format!("m{offset}")).into();
        RunReducer.apply(&mut state, &event(offset, body), &chunks).unwrap();
    }
    let rendered = |range| {
        let rendered = state.to_json(&chunks, range).unwrap();
        assert_eq!(rendered["message_count"], 5);
        let messages = rendered["messages"].as_array().unwrap();
        messages.iter().map(|m| m["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(rendered(MessageRange::None), [""; 0]);
    assert_eq!(rendered(MessageRange::Last(2)), ["m3", "m4"]);
    assert_eq!(rendered(MessageRange::Last(9)).len(), 5);
    assert_eq!(rendered(MessageRange::All).len(), 5);
}

#[test]
fn a_message_that_nests_as_deep_as_may_be_is_shown() {
    let deep = format!("{}1e400{}", "[".repeat(100), "]".repeat(100));
    let content = Some(Json::new(deep).unwrap());
    let message = Message { role: "user".into(), content, name: None, extra: None };
    let chunks = MemoryChunks::default();
    let mut state = RunState::default();
    RunReducer.apply(&mut state, &event(0, message.into()), &chunks).unwrap();
    let rendered = state.to_json(&chunks, MessageRange::All).unwrap();
    let mut content = &rendered["messages"][0]["content"];
    while let Value::Array(items) = content {
        content = &items[0];
    }
    assert_eq!(content, "1e400");
}

#[test]
fn a_long_error_is_cut_between_characters() {
    let state =
        after(&[json!({"kind": "step_failed", "step": 1, "error": "é".repeat(9_000) + "x"})]);
    assert_eq!(state.last_error.unwrap().message.len(), ERROR_MAX);
    let odd = format!("x{}", "é".repeat(9_000));
    let state = after(&[json!({"kind": "step_failed", "step": 1, "error": odd})]);
    assert_eq!(state.last_error.unwrap().message.len(), ERROR_MAX - 1);
}

#[test]
fn the_stored_form_is_pinned() {
    let state = after(&[
        control("idle", "running"),
        json!({"kind": "context_changed", "patch": {"b": 1.0, "a": null, "c": 2}}),
        json!({"kind": "message", "role": "user", "content": "hi"}),
    ]);
    let hex: String = state.encode().iter().map(|b| format!("{b:02x}")).collect();
    let parts = [
        "01",                               // running
        "00000000000000", // no phase, phase before, iteration, step, prompt, rules, artifacts
        "03000000",       // guidance: no levels, no items, no tail
        "027b7d",         // variables: {}
        "0f7b2262223a312e302c2263223a327d", // context: {"b":1.0,"c":2}
        "14000111",       // messages: 20 bytes, no levels, 1 item, a tail of 17 bytes
        "1002010d0475736572010422686922", // 16 bytes: offset 2, whole, kind 13, user, "hi"
        "0000",           // no name, nothing extra
        "000000000000",   // no calls open, finished, abandoned; no workspace, metrics, error
    ];
    assert_eq!(hex, parts.concat());
}

#[test]
fn a_damaged_state_is_an_error_and_no_panic() {
    let state = after(&[
        json!({"kind": "lineage_opened", "lineage_type": "root",
            "initial": {"prompt": "p", "artifacts": {"a": 1, "b": 2}, "rules": {}}}),
        json!({"kind": "step_finished", "step": 1, "metrics": {"x": 1.5}}),
        json!({"kind": "tool_called", "call": "c", "tool": "t", "arguments": [1]}),
        json!({"kind": "step_failed", "step": 2, "error": "e"}),
    ]);
    let good = state.encode();
    for len in 0..good.len() {
        assert_eq!(RunState::decode(&good[..len]).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            if let Ok(other) = RunState::decode(&bad) {
                assert_ne!(other, state, "byte {at} bit {bit}");
            }
        }
    }
}

#[test]
fn the_iteration_that_an_event_sets_is_the_one_of_the_state_after_it() {
    let opened = |initial: Value| {
        json!({"kind": "lineage_opened", "lineage_type": "root",
            "initial": initial})
    };
    for first in [
        json!({"iteration": 7}),
        json!({"iteration": "seven"}),
        json!({"iteration": null}),
        json!({"iteration": 7.5}),
        json!({"iteration": -1, "phase": 3}),
        json!([{"iteration": 7}]),
        json!({}),
        serde_json::from_str(r#"{"variables": {"score": 1e400}, "iteration": 7}"#)
            .unwrap_or_default(),
    ] {
        let mut lines = vec![opened(first)];
        lines.push(json!({"kind": "step_started", "step": 1}));
        lines.push(json!({"kind": "step_started", "step": 2, "iteration": 9}));
        lines.push(json!({"kind": "step_finished", "step": 2}));
        lines.push(json!({"kind": "phase_changed", "phase": "draft", "iteration": 4}));
        lines.push(json!({"kind": "application", "name": "x", "data": {"iteration": 5}}));
        let mut iteration = 0;
        for to in 1..=lines.len() {
            let body = Body::from_json(&lines[to - 1].to_string()).unwrap();
            iteration = RunReducer::iteration_set_by(&body).unwrap_or(iteration);
            assert_eq!(iteration, after(&lines[..to]).iteration, "{:?}", lines[to - 1]);
        }
    }
}
