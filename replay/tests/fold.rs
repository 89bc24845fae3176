//! Promise I5 on random runs: a state is a pure function of the events before it, whatever was
//! stored and read again in between; and a diff of two states is a patch between them.

use milepost_codec::{Body, Header, LineageId};
use milepost_replay::{
    Document, Event, MemoryChunks, MessageRange, Reducer, Result, RunReducer, RunState, diff,
    diff_states, fold, to_patch,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn control() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("idle"), Just("running"), Just("paused"), Just("stopped")]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        (0..4_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-c~/]{0,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn patch() -> impl Strategy<Value = Value> {
    let op = prop_oneof![Just("add"), Just("remove"), Just("replace"), Just("copy"), Just("move")];
    let path = || prop::collection::vec("[a-c]|0|-", 0..3);
    let pointer = |steps: Vec<String>| steps.iter().map(|s| format!("/{s}")).collect::<String>();
    (op, path(), path(), json_value()).prop_map(move |(op, path, from, value)| {
        json!([{"op": op, "path": pointer(path), "from": pointer(from), "value": value}])
    })
}

/// Lines of every kind that changes a state, legal or not.
fn line() -> impl Strategy<Value = Value> {
    let message = |text: &str| json!({"kind": "message", "role": "user", "content": text});
    let named = |kind: &'static str| {
        ("[a-e]", json_value()).prop_map(move |(call, value)| match kind {
            "tool_called" => json!({"kind": kind, "call": call, "tool": "t", "arguments": value}),
            _ => json!({"kind": kind, "call": call, "output": value}),
        })
    };
    prop_oneof![
        (control(), control())
            .prop_map(|(from, to)| json!({"kind": "control_changed", "from": from, "to": to})),
        ("\\PC{0,9}").prop_map(move |text| message(&text)),
        (0..30_000_usize).prop_map(move |len| message(&"long ".repeat(len))),
        named("tool_called"),
        named("tool_returned"),
        json_value().prop_map(|patch| json!({"kind": "variables_patched", "patch": patch})),
        json_value().prop_map(|patch| json!({"kind": "context_changed", "patch": patch})),
        patch().prop_map(
            |patch| json!({"kind": "variables_patched", "form": "patch", "patch": patch})
        ),
        ("[a-c]", json_value()).prop_map(
            |(name, value)| json!({"kind": "artifacts_edited", "artifacts": {name: value}})
        ),
        json_value().prop_map(|rules| json!({"kind": "rules_changed", "rules": rules})),
        "[a-c]".prop_map(|phase| json!({"kind": "phase_changed", "phase": phase, "iteration": 2})),
        (0..3_u64).prop_map(|step| json!({"kind": "step_started", "step": step})),
        (0..3_u64, any::<u64>()).prop_map(|(step, bits)| {
            let metric = milepost_codec::Float(f64::from_bits(bits));
            json!({"kind": "step_finished", "step": step, "metrics": {"m": metric}})
        }),
        (0..3_u64).prop_map(|step| json!({"kind": "step_failed", "step": step, "error": "e"})),
        "\\PC{0,9}".prop_map(|text| json!({"kind": "guidance_given", "text": text})),
        json_value().prop_map(
            |initial| json!({"kind": "lineage_opened", "lineage_type": "root", "initial": initial})
        ),
    ]
}

/// Events from offset 0 on, some of them erased.
fn events(most: usize) -> impl Strategy<Value = Vec<Event>> {
    let event = (line(), prop::bool::weighted(0.05));
    prop::collection::vec(event, 0..most).prop_map(|lines| {
        let events = lines.into_iter().zip(0..).map(|((line, erased), offset)| {
            let body = Body::from_json(&line.to_string()).unwrap();
            let header = Header { kind: body.kind(), ..Header::default() };
            let body = (!erased).then_some(body);
            Event { lineage: LineageId(0), offset, header, body }
        });
        events.collect()
    })
}

fn state(events: &[Event], chunks: &MemoryChunks) -> RunState {
    let events = events.iter().cloned().map(Result::Ok);
    fold(&RunReducer, RunReducer.initial(), events, chunks).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn i5_a_state_stored_anywhere_and_continued_is_the_fold_from_zero(
        events in events(60),
        at in 0_usize..60,
    ) {
        let chunks = MemoryChunks::default();
        let whole = state(&events, &chunks);
        // The same bytes, and the same chunks: other chunks were never put here.
        let again = MemoryChunks::default();
        prop_assert_eq!(state(&events, &again).encode(), whole.encode());
        let (before, after) = events.split_at(at.min(events.len()));
        let stored = RunReducer.encode(&state(before, &chunks)).unwrap();
        let read = RunReducer.decode(&stored).unwrap();
        prop_assert_eq!(&read.encode(), &stored);
        let rest = after.iter().cloned().map(Result::Ok);
        let continued = fold(&RunReducer, read, rest, &again).unwrap();
        prop_assert_eq!(continued.encode(), whole.encode());
        prop_assert_eq!(
            continued.to_json(&again, MessageRange::All).unwrap(),
            whole.to_json(&chunks, MessageRange::All).unwrap()
        );
    }

    #[test]
    fn the_diff_of_two_states_is_that_of_their_json(
        common in events(30),
        ours in events(15),
        theirs in events(15),
    ) {
        let chunks = MemoryChunks::default();
        let joined = |tail: &[Event]| [&common[..], tail].concat();
        let (a, b) = (state(&joined(&ours), &chunks), state(&joined(&theirs), &chunks));
        let json = |state: &RunState| state.to_json(&chunks, MessageRange::All).unwrap();
        prop_assert_eq!(diff_states(&a, &b, &chunks).unwrap(), diff(&json(&a), &json(&b)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_diff_as_a_patch_turns_before_into_after(before in json_value(), after in json_value()) {
        let changes = diff(&before, &after);
        prop_assert_eq!(changes.is_empty(), before == after);
        prop_assert_eq!(&changes, &diff(&before, &after));
        let patch = to_patch(&changes);
        let mut theirs = before.clone();
        let operations: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
        json_patch::patch(&mut theirs, &operations).unwrap();
        prop_assert_eq!(&theirs, &after);
        let json = |value: &Value| milepost_codec::Json::from_value(value).unwrap();
        let mut ours = Document::new(&json(&before)).unwrap();
        ours.patch(&json(&patch)).unwrap();
        prop_assert_eq!(ours.to_value(), Document::new(&json(&after)).unwrap().to_value());
    }
}
