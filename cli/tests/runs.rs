//! `import` of what `record` reads, and message arrays.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::{Place, Ran, fixture, row, text};

fn messages() -> Value {
    json!([
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "what is in a?", "name": "ana"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function",
                "function": {"name": "cat", "arguments": "{\"file\": \"a\"}"}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "x = 1"},
        {"role": "assistant", "content": "x is 1", "refusal": null},
    ])
}

fn ids(said: &Value) -> Vec<&str> {
    said["tasks"].as_array().unwrap().iter().map(|task| text(task, "id")).collect()
}

#[test]
fn import_takes_every_format_and_says_what_it_took_it_for() {
    let place = Place::new();
    for (name, format, tasks) in [
        ("run.jsonl", "jsonl", vec!["run"]),
        ("react.traj", "swe-agent", vec!["react"]),
        ("history_only.traj", "swe-agent", vec!["history_only"]),
        ("airline.json", "tau-bench", vec!["airline-0", "airline-7"]),
    ] {
        fs::copy(fixture(name), place.path(name)).unwrap();
        let said = place.json(&format!("import {name}"));
        assert_eq!(ids(&said), tasks);
        assert_eq!(said["tasks"][0]["format"], format, "{name}");
    }
    place.write("chat.json", messages().to_string());
    let out = place.say("import chat.json").ok();
    assert_eq!(row(&out, "chat")[..2], ["chat", "openai"]);
    place.say("export run -o run.export").ok();
    let elsewhere = place.json("--store elsewhere import run.export");
    assert_eq!(elsewhere["tasks"][0]["format"], "export");
}

#[test]
fn a_message_array_becomes_steps_with_messages_and_tools() {
    let place = Place::new();
    place.write("chat.json", serde_json::to_string_pretty(&messages()).unwrap());
    place.say("import chat.json --as talk --user ana").ok();
    let events = place.lines("log talk");
    let kinds: Vec<&str> = events.iter().map(|event| text(event, "kind")).collect();
    let expected = [
        "lineage_opened",
        "message",
        "message",
        "step_started",
        "tool_called",
        "tool_returned",
        "step_finished",
        "checkpoint_marked",
        "step_started",
        "message",
        "step_finished",
        "checkpoint_marked",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(events[4]["body"]["arguments"], json!({"file": "a"}));
    assert_eq!(events[9]["body"]["refusal"], Value::Null, "nothing is left out");
    assert_eq!(place.items("tasks")[0]["user"], "ana");
    place.say("import chat.json --as talk").failed(4, "the task talk exists already");
}

#[test]
fn a_file_for_fine_tuning_becomes_a_task_a_line() {
    let place = Place::new();
    let line = json!({"messages": messages(), "parallel_tool_calls": false}).to_string();
    place.write("tune.jsonl", format!("{line}\r\n\n{line}\n"));
    let said = place.json("import tune.jsonl");
    assert_eq!(ids(&said), ["tune-1", "tune-2"]);
    let state = place.json("state tune-2");
    assert_eq!(state["message_count"], 5);
    assert_eq!(state["variables"], json!({"parallel_tool_calls": false}));
    place.write("bad.jsonl", format!("{line}\n{{\"messages\": [\n"));
    place.say("import bad.jsonl").failed(1, "bad.jsonl:3:0: not JSON: EOF while parsing a list");
    place.write("none.jsonl", format!("{line}\n{{\"text\": 1}}\n"));
    place
        .say("import none.jsonl")
        .failed(1, "none.jsonl: value 2 has no list of messages under `messages`");
    assert_eq!(place.items("tasks").as_array().unwrap().len(), 2, "all of it or nothing");
}

#[test]
fn arrays_that_are_hostile_are_refused_and_leave_no_task() {
    let place = Place::new();
    let deep =
        format!("[{{\"role\":\"user\",\"content\":{}{}}}]", "[".repeat(200), "]".repeat(200));
    for bad in [
        "[{\"role\":\"user\"",
        "[{\"role\":\"user\"},7]",
        "[{\"role\":{}}]",
        "{\"messages\":{}}",
        "{\"messages\":[]}",
        "[{\"role\":\"user\"}]]",
        &deep,
    ] {
        place.write("bad.json", bad);
        let ran = place.say("import bad.json");
        assert_eq!(ran.code, 1, "{bad:.60}: {ran:?}");
        assert!(ran.err.contains("error: bad.json") && ran.err.contains("hint: "), "{ran:?}");
    }
    assert_eq!(place.items("tasks"), json!([]));
}

#[test]
fn what_is_nothing_known_is_refused_and_a_format_that_is_named_is_believed() {
    let place = Place::new();
    place.write("notes.txt", "hello\n");
    let unknown = "not a folder, not an export, and no run of a program that is known";
    place.say("import notes.txt").failed(1, unknown);
    assert!(!place.store().exists());
    let ran = place.say("import notes.txt --format claude-code");
    assert!(ran.err.contains("notes.txt:1: not a JSON object"), "{ran:?}");
    place.write("chat.txt", "{\"content\":\"hi\",\"role\":\"user\"}\n");
    place.say("import chat.txt --format openai").ok();
    assert_eq!(place.json("state chat")["message_count"], 1);
    let folder = place.path("empty");
    fs::create_dir(folder).unwrap();
    // A file of a program that is not read is named by it, alone as in a folder.
    place.write("empty/out.jsonl", "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n");
    for input in ["empty", "empty/out.jsonl"] {
        place.say(&format!("import {input}")).failed(1, "the rollout-*.jsonl of the thread");
    }
    fs::remove_file(place.path("empty/out.jsonl")).unwrap();
    place.say("import empty").failed(1, "no ckpt-*.json file");
    place.say("import empty --format claude-code").failed(1, "no session in it");
    place.say("import empty --format openai").failed(1, "no run of openai in it");
}

#[test]
fn a_run_comes_through_a_pipe_where_its_format_is_named() {
    let place = Place::new();
    let file = place.write("chat.json", messages().to_string());
    let mut command = place.command(["import", "-", "--format", "openai", "--as", "piped"]);
    command.stdin(fs::File::open(file).unwrap()).stdout(Stdio::piped());
    Ran::of(command.output().unwrap()).ok();
    assert_eq!(place.json("state piped")["message_count"], 5);
}

#[test]
fn a_store_in_use_is_said_to_be() {
    let place = Place::new();
    place.write("chat.json", messages().to_string());
    let engine = milepost::Engine::open(place.store(), milepost::Options::default()).unwrap();
    let ran = place.say("--wait 0s import chat.json");
    assert_eq!(ran.err, place.say("--wait 0s record chat.json").err);
    assert!(ran.code != 0 && ran.err.contains("error: "), "{ran:?}");
    engine.close().unwrap();
    place.say("import chat.json").ok();
}

#[test]
fn nothing_of_a_document_goes_in_where_a_part_of_it_is_refused() {
    let place = Place::new();
    let entry = |id: Value| {
        let said = json!({"role": "user", "content": "hi"});
        json!({"task_id": id, "reward": 1, "traj": [said], "trial": 0})
    };
    place.write("two.json", json!([entry(json!(1)), entry(json!("a\u{0}b"))]).to_string());
    let ran = place.say("import two.json");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("control character"), "{}", ran.err);
    assert_eq!(place.items("tasks"), json!([]));
}

#[test]
fn what_nests_too_deep_is_refused_and_not_dropped() {
    let place = Place::new();
    let deep = format!("{}1{}", "[".repeat(97), "]".repeat(97));
    for content in [
        format!(r#"[{{"role":"user","content":{deep}}}]"#),
        format!(r#"{{"messages":[{{"role":"user","content":"hi"}}],"more":{deep}}}"#),
        format!(
            r#"{{"trajectory":[],"history":[{{"role":"user","content":"hi"}}],"more":{deep}}}"#
        ),
    ] {
        place.write("deep.json", &content);
        place.say("import deep.json").failed(1, "nested deeper than 96 levels");
    }
    assert_eq!(place.items("tasks"), json!([]));
}
