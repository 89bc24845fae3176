//! Sessions of Claude Code: each line once, in the lineage that it belongs to.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod common;

use std::fmt::Write as _;

use common::Place;
use proptest::prelude::*;
use serde_json::{Value, json};

fn uuid(n: u64) -> String {
    format!("00000000-0000-4000-8000-{n:012x}")
}

/// A line with a number as its id.
fn line(n: u64, parent: Option<u64>, more: Value) -> String {
    let mut line = json!({
        "parentUuid": parent.map(uuid),
        "isSidechain": false,
        "userType": "external",
        "cwd": "/work",
        "sessionId": "s",
        "version": "2.0.1",
        "gitBranch": "main",
        "uuid": uuid(n),
        "timestamp": format!("2026-01-02T03:04:{:02}.000Z", n % 60),
    });
    let fields = line.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    format!("{line}\n")
}

fn prompt(n: u64, parent: Option<u64>, text: &str) -> String {
    let message = json!({"role": "user", "content": text});
    line(n, parent, json!({"type": "user", "message": message}))
}

fn answer(n: u64, parent: u64, text: &str) -> String {
    let blocks = json!([{"type": "text", "text": text}]);
    let message = json!({"role": "assistant", "id": "m", "model": "c", "content": blocks});
    line(
        n,
        Some(parent),
        json!({"type": "assistant", "message": message}),
    )
}

fn record(place: &Place, session: &str) -> String {
    place.write("session.jsonl", session);
    place.say("record session.jsonl").ok()
}

/// What was said up to an address, oldest first.
fn said(place: &Place, address: &str) -> Vec<String> {
    let state = place.json(&format!("state {address}"));
    let messages = state["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["kind"] == "message")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

fn kinds(place: &Place, address: &str) -> Vec<String> {
    let events = place.lines(&format!("log {address}"));
    let kind = |event: Value| event["kind"].as_str().unwrap().to_owned();
    events.into_iter().map(kind).collect()
}

#[test]
fn a_session_becomes_a_task_with_a_step_and_a_checkpoint_for_each_prompt() {
    let place = Place::new();
    let call = json!([
        {"type": "text", "text": "I look"},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file": "a"}},
    ]);
    let back = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "text of a"}]);
    let session = [
        "{\"type\":\"summary\",\"summary\":\"a talk\",\"leafUuid\":\"x\"}\n".to_owned(),
        prompt(1, None, "look at a"),
        line(2, Some(1), json!({"type": "assistant", "message": {"role": "assistant", "content": call}})),
        line(
            3,
            Some(2),
            json!({"type": "user", "toolUseResult": {"n": 1}, "message": {"role": "user", "content": back}}),
        ),
        answer(4, 3, "it is short"),
        prompt(5, Some(4), "日本語 please"),
        answer(6, 5, "はい"),
    ]
    .concat();
    let out = record(&place, &session);
    assert!(out.contains("claude-code"), "{out}");
    assert_eq!(
        kinds(&place, "session"),
        [
            "lineage_opened",
            "application",
            "step_started",
            "context_changed",
            "message",
            "message",
            "tool_called",
            "tool_returned",
            "application",
            "message",
            "step_finished",
            "checkpoint_marked",
            "step_started",
            "message",
            "message",
            "checkpoint_marked",
        ]
    );
    assert_eq!(
        said(&place, "session"),
        [
            "look at a",
            "I look",
            "it is short",
            "日本語 please",
            "はい"
        ]
    );
    // Before the second prompt, by the id of its line.
    assert_eq!(said(&place, &format!("session@{}", uuid(5))).len(), 3);
    let checkpoints = place.json("checkpoints session");
    assert_eq!(checkpoints[1]["metadata"]["before"], "日本語 please");
    let event = place.json("show session@7");
    assert_eq!(event["time"], "2026-01-02T03:04:03.000000Z");
    assert_eq!(place.json("state session")["context"]["cwd"], "/work");
    // Nothing of a line is lost.
    assert!(
        place
            .say("log session --json")
            .ok()
            .contains("toolUseResult")
    );
    assert!(place.say("verify").ok().contains("no fault"));
}

#[test]
fn a_line_that_follows_an_earlier_one_parts_from_there_and_the_task_goes_on_with_it() {
    let place = Place::new();
    let session = [
        prompt(1, None, "one"),
        answer(2, 1, "first"),
        prompt(3, Some(2), "two"),
        answer(4, 3, "second"),
        // Somebody went back to before "two".
        prompt(5, Some(2), "another two"),
        answer(6, 5, "other"),
    ]
    .concat();
    record(&place, &session);
    assert_eq!(
        said(&place, "session"),
        ["one", "first", "another two", "other"]
    );
    assert_eq!(said(&place, "session/0"), ["one", "first", "two", "second"]);
    let lineages = place.json("lineages session");
    assert_eq!(lineages.as_array().unwrap().len(), 2);
    assert_eq!(lineages[1]["active"], true);
}

#[test]
fn an_agent_beside_the_conversation_has_a_lineage_beside_it() {
    let place = Place::new();
    let side = |n: u64, parent: Option<u64>, role: &str, text: &str| {
        let message = json!({"role": role, "content": text});
        line(
            n,
            parent,
            json!({"isSidechain": true, "type": role, "message": message}),
        )
    };
    let session = [
        prompt(1, None, "do it"),
        answer(2, 1, "I have it done"),
        side(10, None, "user", "help"),
        side(11, Some(10), "assistant", "helping"),
        answer(3, 2, "still at it"),
        side(12, Some(11), "assistant", "helped"),
        answer(4, 3, "done"),
    ]
    .concat();
    record(&place, &session);
    assert_eq!(
        said(&place, "session"),
        ["do it", "I have it done", "still at it", "done"]
    );
    assert_eq!(
        said(&place, "session/1"),
        ["do it", "I have it done", "help", "helping", "helped"]
    );
}

#[test]
fn a_session_that_is_recorded_again_or_has_grown_leaves_each_line_once() {
    let place = Place::new();
    let begun = [
        prompt(1, None, "one"),
        answer(2, 1, "first"),
        prompt(3, Some(1), "not so"),
    ]
    .concat();
    record(&place, &begun);
    let before = place.say("log session --graph").ok();
    let again = record(&place, &begun);
    assert!(again.lines().nth(1).unwrap().contains(" 0 "), "{again}");
    assert_eq!(place.say("log session --graph").ok(), before);
    let grown = [begun, answer(4, 3, "then"), prompt(5, Some(4), "more")].concat();
    record(&place, &grown);
    assert_eq!(said(&place, "session"), ["one", "not so", "then", "more"]);
    assert_eq!(said(&place, "session/0"), ["one", "first"]);
    assert_eq!(place.json("lineages session").as_array().unwrap().len(), 2);
}

#[test]
fn odd_lines_are_told_or_kept_and_the_others_are_recorded() {
    let place = Place::new();
    let session = [
        prompt(1, None, "one"),
        prompt(1, None, "the same once more"),
        "not json\r\n".to_owned(),
        "{\"type\":\n".to_owned(),
        answer(2, 99, "after one that is not there"),
        line(
            3,
            Some(2),
            json!({"type": "user", "message": {"role": 3, "content": {"a": 1}}}),
        ),
        line(4, Some(3), json!({"type": "assistant", "message": "none"})),
        line(5, Some(5), json!({"type": "new kind", "uuid": "no uuid"})),
        prompt(6, Some(7), "a circle"),
        prompt(7, Some(6), "a circle, closed"),
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_use\"},3]}}\n".to_owned(),
        format!("{}\n", "[".repeat(100_000)),
    ]
    .concat();
    place.write("session.jsonl", &session);
    let ran = place.say("record session.jsonl");
    assert_eq!(ran.code, 1, "{ran:?}");
    for bad in [":3: ", ":4: ", ":12: "] {
        assert!(ran.err.contains(bad), "{ran:?}");
    }
    assert!(
        ran.err.contains("3 lines could not be recorded"),
        "{}",
        ran.err
    );
    let log = place.say("log session --json").ok();
    for kept in [
        "after one that is not there",
        "new kind",
        "\"none\"",
        "a circle, closed",
    ] {
        assert!(log.contains(kept), "{kept}: {log}");
    }
    assert!(!log.contains("the same once more"));
    assert!(place.say("verify --states").ok().contains("no fault"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Each line names any earlier one: for every line that nobody follows some lineage says just what leads to it.
    #[test]
    fn every_end_of_a_tree_of_lines_is_some_lineage(parents in prop::collection::vec(any::<prop::sample::Index>(), 1..25)) {
        let place = Place::new();
        let mut session = prompt(0, None, "0");
        let mut paths = vec![vec!["0".to_owned()]];
        let mut is_followed = vec![false];
        for (n, parent) in (1_u64..).zip(&parents) {
            let parent = parent.index(n as usize);
            let text = n.to_string();
            let _ = write!(session, "{}", match n % 2 {
                0 => prompt(n, Some(parent as u64), &text),
                _ => answer(n, parent as u64, &text),
            });
            let mut path = paths[parent].clone();
            path.push(text);
            paths.push(path);
            is_followed[parent] = true;
            is_followed.push(false);
        }
        record(&place, &session);
        let lineages = place.json("lineages session");
        let lineages = lineages.as_array().unwrap();
        let ends: Vec<Vec<String>> = lineages
            .iter()
            .map(|lineage| said(&place, &format!("session/{}", lineage["id"])))
            .collect();
        for (path, _) in paths.iter().zip(&is_followed).filter(|(_, followed)| !**followed) {
            prop_assert!(ends.contains(path), "{path:?} is not in {ends:?}");
        }
        prop_assert_eq!(ends.len(), is_followed.iter().filter(|followed| !**followed).count());
    }
}
