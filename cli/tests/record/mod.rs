//! Recording runs of other programs.

mod bad_lines;
mod killed;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::{Place, Ran, fixture, number, real_runs, text};

const HELLO: &str = "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"hello\"}\n";

#[test]
fn each_format_is_told_by_its_content() {
    let place = Place::new();
    for (name, format) in [
        ("run.jsonl", "jsonl"),
        ("react.traj", "swe-agent"),
        ("history_only.traj", "swe-agent"),
        ("airline.json", "tau-bench"),
    ] {
        // A name that does not tell.
        let copy = place.path(&format!("{}.input", name.split('.').next().unwrap()));
        fs::copy(fixture(name), &copy).unwrap();
        let ran = place.run([OsStr::new("record"), copy.as_os_str(), OsStr::new("--json")]);
        let recorded: Value = serde_json::from_str(&ran.ok()).unwrap();
        assert_eq!(recorded["tasks"][0]["format"], format, "{name}");
        assert!(number(&recorded["tasks"][0], "events") > 0);
        text(&recorded["tasks"][0], "id");
    }
}

#[test]
fn json_lines_get_a_checkpoint_behind_each_step_and_at_the_end() {
    let place = Place::new();
    let file = fixture("run.jsonl");
    let out = place.run([OsStr::new("record"), file.as_os_str()]).ok();
    assert!(out.contains("run") && out.contains("jsonl"), "{out}");
    let events = place.lines("log run");
    let marks: Vec<usize> =
        (0..events.len()).filter(|at| events[*at]["kind"] == "checkpoint_marked").collect();
    assert_eq!(marks, [7, 13, 16]);
    assert_eq!(events[13]["body"]["status"], "failure", "a failed step");
    assert_eq!(events[15]["kind"], "application");
    assert_eq!(events[15]["body"]["name"], "tea_break");
    assert_eq!(events[15]["body"]["data"], json!({"kind": "tea_break", "minutes": 15}));
    let state = place.json("state run");
    assert_eq!(state["prompt"], "Be brief.");
    assert_eq!(state["variables"], json!({"found": 2, "best": "a"}));
    // Into a task that exists the lines go on its active lineage. The run was not ended, so the
    // line that begins it is refused: the others are not.
    let again = place.run([OsStr::new("record"), file.as_os_str()]);
    let why = "run.jsonl:1: the change of control is from idle, and the run is running";
    assert_eq!(again.code, 1);
    assert!(again.err.contains(why), "{}", again.err);
    assert_eq!(place.lines("log run").len(), 32);
    assert_eq!(place.json("lineages run").as_array().unwrap().len(), 1);
}

#[test]
fn a_trajectory_becomes_steps_with_messages_and_tool_calls() {
    let place = Place::recorded();
    let kinds = |task: &str| -> Vec<String> {
        let events = place.lines(&format!("log {task}"));
        events.iter().map(|event| text(event, "kind").to_owned()).collect()
    };
    let expected = [
        "lineage_opened",
        "variables_patched",
        "message",
        "message",
        "step_started",
        "message",
        "tool_called",
        "tool_returned",
        "step_finished",
        "checkpoint_marked",
    ];
    assert_eq!(kinds("tools")[..10], expected);
    assert_eq!(kinds("tools")[26..], ["step_finished", "variables_patched", "checkpoint_marked"]);
    assert_eq!(place.items("checkpoints tools").as_array().unwrap().len(), 4);
    let last = place.items("checkpoints tools --limit 9");
    assert_eq!(last[0]["status"], "failure", "it ended with exit_cost");
    assert_eq!(last[1]["status"], "success");
    let state = place.json("state tools");
    assert_eq!(state["variables"]["info"]["submission"], Value::Null, "nulls are kept");
    assert_eq!(
        state["variables"]["replay_config"],
        json!({"tools": {"parse": null}, "a/b~c": [1, 2.5]})
    );
    assert_eq!(state["open_calls"], json!({}));
    let calls = place.lines("log history_only");
    let called: Vec<&Value> =
        calls.iter().filter(|event| event["kind"] == "tool_called").map(|e| &e["body"]).collect();
    assert_eq!(called[0]["arguments"], json!({"path": "a.txt"}));
    assert_eq!(called[1]["arguments"], "b.txt");
}

#[test]
fn trials_fork_exactly_where_they_part_ways() {
    let place = Place::recorded();
    let lineages = place.json("lineages airline-0");
    let results: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(fixture("airline.json")).unwrap()).unwrap();
    let trials: Vec<&Value> = results.iter().filter(|entry| entry["task_id"] == 0).collect();
    for (lineage, trial) in lineages.as_array().unwrap().iter().zip(trials) {
        let id = &lineage["id"];
        let state = place.json(&format!("state airline-0/{id}"));
        assert_eq!(state["variables"]["reward"], trial["reward"]);
        assert_eq!(state["variables"]["trial"], trial["trial"]);
        let said: Vec<&Value> =
            trial["traj"].as_array().unwrap().iter().map(|m| &m["content"]).collect();
        let said: Vec<&Value> = said.into_iter().filter(|content| !content.is_null()).collect();
        assert_eq!(contents(&state), said, "lineage {id}");
        // The events on both sides of the fork differ, or one side ends there.
        if let Some(offset) = lineage["parent"]["offset"].as_u64() {
            let parent = &lineage["parent"]["lineage"];
            let theirs = place.json(&format!("show airline-0/{parent}@{offset}"));
            let ours = place.json(&format!("show airline-0/{id}@{}", offset + 1));
            assert_ne!(theirs["body"], ours["body"], "lineage {id}");
        }
    }
    // Trials that are the same to their end share all but the mark of which one they are.
    let same = place.json("lineages airline-7");
    assert_eq!(same[1]["events"], 3, "opened, variables with the trial's number, and a mark");
    let failed = place.items("checkpoints airline-0 --status failure");
    assert_eq!(failed.as_array().unwrap().len(), 2);
}

/// Returns messages and results of tools, in order.
fn contents(state: &Value) -> Vec<&Value> {
    let messages = state["messages"].as_array().unwrap().iter();
    messages
        .filter_map(|entry| match entry["kind"].as_str() {
            Some("message") => entry.get("content"),
            Some("tool_returned") => entry.get("output"),
            _ => None,
        })
        .collect()
}

#[test]
fn a_piped_line_is_durable_before_the_next_is_read() {
    let place = Place::new();
    let mut command = place.command(["record", "-", "--ack", "--task", "live"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut acks = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    for number in 1..=5_u64 {
        writeln!(stdin, "{{\"kind\":\"step_started\",\"step\":{number}}}").unwrap();
        let ack: Value = serde_json::from_str(&acks.next().unwrap().unwrap()).unwrap();
        assert_eq!(ack["offset"], number);
        said.push(ack);
    }
    // The kill leaves no time for an orderly end.
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.lines("log live").len(), 6);
    for ack in said {
        let shown = place.json(&format!("show live@{}", number(&ack, "offset")));
        assert_eq!(shown["hash"], ack["hash"]);
    }
}

#[test]
fn every_format_can_be_piped_in_and_acknowledged() {
    let place = Place::new();
    for name in ["run.jsonl", "react.traj", "airline.json"] {
        let input = fs::File::open(fixture(name)).unwrap();
        let ran = Ran::of(place.command(["record", "-", "--ack"]).stdin(input).output().unwrap());
        let acks = ran.ok();
        let events: Vec<Value> =
            acks.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(events.len() > 10, "{name}");
        assert!(events.iter().all(|ack| text(ack, "hash").len() == 64), "{name}");
    }
    let tasks = place.ids("tasks");
    assert!(tasks.contains(&"tau-bench-7".to_owned()), "{tasks:?}");
    assert!(tasks.iter().any(|id| id.starts_with("stdin-")), "{tasks:?}");
}

#[test]
fn bad_lines_are_reported_and_the_rest_goes_on() {
    let place = Place::new();
    let mut lines = Vec::new();
    lines.extend(HELLO.as_bytes());
    lines.extend(b"{\"kind\":\"message\",\n");
    lines.extend(b"\n{\"kind\":\"message\",\"role\":\"\xff\"}\n{\"role\":\"user\"}\n");
    lines.extend(b"{\"kind\":\"lineage_opened\",\"lineage_type\":\"root\"}\n");
    lines.extend(HELLO.as_bytes());
    let attached =
        "{\"kind\":\"data_attached\",\"writer\":\"w\",\"index\":0,\"name\":\"\",\"data\":1}\n";
    lines.extend(attached.as_bytes());
    place.write("mixed.jsonl", &lines);
    let ran = place.say("record mixed.jsonl");
    assert_eq!(ran.code, 1);
    for report in [
        "mixed.jsonl:2: ",
        "mixed.jsonl:4: invalid UTF-8 at byte",
        "mixed.jsonl:5: the object has no `kind`",
        "mixed.jsonl:6: lineage_opened",
        "mixed.jsonl:8: data_attached",
        "error: 5 lines could not be recorded",
        "hint: ",
    ] {
        assert!(ran.err.contains(report), "{report}: {}", ran.err);
    }
    assert_eq!(place.lines("log mixed").len(), 4, "opened, two messages, a mark");
    let ran = place.say("record --strict --task strict mixed.jsonl");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("mixed.jsonl:2: ") && !ran.err.contains("mixed.jsonl:4: "));
    assert_eq!(place.lines("log strict").len(), 3, "opened, one message, a mark");
}

#[test]
fn one_bad_file_does_not_keep_the_others_out() {
    let place = Place::new();
    place.write("good.jsonl", HELLO);
    place.write("bad.traj", "oops");
    let ran = place.say("record bad.traj missing.jsonl good.jsonl");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("bad.traj:1:1: not JSON"), "{}", ran.err);
    assert!(ran.err.contains("missing.jsonl: "), "{}", ran.err);
    assert_eq!(place.ids("tasks"), ["good"]);
    assert_eq!(place.say("record --task x bad.traj good.jsonl").code, 1);
}

#[test]
fn a_mark_in_json_lines_becomes_a_checkpoint() {
    let place = Place::new();
    let mark = "{\"kind\":\"checkpoint_marked\",\"label\":\"here\",\"metadata\":{\"a\":1}}\n";
    place.write("marked.jsonl", format!("{HELLO}{mark}{HELLO}"));
    place.say("record marked.jsonl").ok();
    assert_eq!(place.json("show marked@here")["offset"], 2);
    assert_eq!(place.ids("checkpoints marked").len(), 2);
}

fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

#[test]
fn every_real_run_is_recorded_and_reads_back_as_it_was() {
    let Some(data) = real_runs() else { return };
    let place = Place::new();
    let trajectories = files(&data.join("swe-agent"), "traj");
    let results = files(&data.join("tau-bench"), "json");
    let all = trajectories.iter().chain(&results).map(|path| path.as_os_str());
    place.run([OsStr::new("record")].into_iter().chain(all)).ok();
    assert_eq!(place.json("verify")["faults"], json!([]));
    for path in &trajectories {
        let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let state = place.json(&format!("state {stem}"));
        let history = file["history"].as_array().unwrap();
        let said: Vec<&Value> = history.iter().map(|message| &message["content"]).collect();
        let found = contents(&state);
        assert!(found.len() >= said.len(), "{stem}");
        let mut left = found.into_iter();
        for content in said {
            assert!(left.any(|found| found == content), "{stem} lacks {content}");
        }
        let steps = file["trajectory"].as_array().map_or(0, Vec::len);
        let marks = place.ids(&format!("checkpoints {stem}")).len();
        assert!(steps == 0 || marks == steps, "{stem}: {marks} checkpoints, {steps} steps");
    }
    for path in &results {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let entries: Vec<Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let tasks = place.items("tasks");
        let lineages: u64 = tasks
            .as_array()
            .unwrap()
            .iter()
            .filter(|task| text(task, "id").starts_with(stem))
            .map(|task| task["lineages"].as_array().unwrap().len() as u64)
            .sum();
        assert_eq!(lineages, entries.len() as u64);
    }
}
