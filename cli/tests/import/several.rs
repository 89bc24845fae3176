//! Several inputs of one import, and folders with runs of several kinds.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Place, fixture, real_runs, text};
use crate::import::{checkpoint, save};

const HELLO: &str = "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"hello\"}\n";

/// Copies a fixture into a folder.
fn put(place: &Place, name: &str, to: &str) {
    let to = place.path(to);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(fixture(name), to).unwrap();
}

/// Runs an import with `--json`: its exit code, its document and standard error.
fn import(place: &Place, line: &str) -> (i32, Value, String) {
    let ran = place.say(&format!("import {line} --json"));
    (ran.code, serde_json::from_str(&ran.out).unwrap(), ran.err)
}

fn ids(said: &Value) -> Vec<&str> {
    said["tasks"].as_array().unwrap().iter().map(|task| text(task, "id")).collect()
}

#[test]
fn each_input_is_detected_and_the_failure_of_one_keeps_no_other_out() {
    let from = Place::new();
    from.write("shared.jsonl", HELLO);
    from.say("record shared.jsonl").ok();
    let place = Place::new();
    place.write("shared.export", from.say("export").ok());
    put(&place, "react.traj", "react.traj");
    save(&place.path("old"), &checkpoint("exec-001", 0));
    place.write("bad.traj", "oops");
    let line = "shared.export missing.jsonl react.traj bad.traj old";
    let (code, said, err) = import(&place, line);
    assert_eq!(code, 1);
    assert_eq!(ids(&said), ["shared", "react", "exec-001"]);
    let formats: Vec<&str> =
        said["tasks"].as_array().unwrap().iter().map(|task| text(task, "format")).collect();
    assert_eq!(formats, ["export", "swe-agent", "checkpoints"]);
    let failed = said["failed"].as_array().unwrap();
    let inputs: Vec<&str> = failed.iter().map(|failed| text(failed, "input")).collect();
    assert_eq!(inputs, ["missing.jsonl", "bad.traj"]);
    assert!(
        err.contains("\"message\":\"missing.jsonl: ")
            && err.contains("\"message\":\"bad.traj:1:1: "),
        "{err}"
    );
    assert_eq!(place.ids("tasks").len(), 3);
    // An export is imported completely or not at all, also among other inputs.
    let other = Place::new();
    let cut = from.say("export").ok();
    other.write("cut.export", &cut[..cut.len() - 20]);
    other.write("more.jsonl", HELLO);
    let (code, said, err) = import(&other, "cut.export more.jsonl");
    assert_eq!((code, ids(&said)), (3, vec!["more"]), "{err}");
    assert_eq!(other.ids("tasks"), ["more"]);
    // The table has the same rows.
    place.write("more.jsonl", HELLO);
    let out = place.say("import more.jsonl old").ok();
    let heads: Vec<&str> = out.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(heads, ["TASK", "FORMAT", "LINEAGES", "EVENTS", "CHECKPOINTS", "REPEATED", "HEAD"]);
    assert!(out.contains("more") && out.contains("exec-001"), "{out}");
}

#[test]
fn strict_ends_at_the_first_input_that_fails() {
    let place = Place::new();
    place.write("one.jsonl", HELLO);
    place.write("two.jsonl", HELLO);
    let (code, said, _) = import(&place, "--strict one.jsonl missing.jsonl two.jsonl");
    assert_eq!((code, ids(&said)), (1, vec!["one"]));
    place.say("import --as x one.jsonl two.jsonl").failed(1, "there are 2 inputs");
}

#[test]
fn a_folder_is_searched_for_runs_and_the_rest_is_counted() {
    let place = Place::new();
    put(&place, "react.traj", "runs/b/react.traj");
    put(&place, "airline.json", "runs/airline.json");
    put(&place, "langgraph/checkpoints.sqlite", "runs/a/graph.db");
    fs::write(place.path("runs/log.jsonl"), HELLO).unwrap();
    save(&place.path("runs/project/persistence/checkpoint"), &checkpoint("exec-001", 0));
    // None of these is a run.
    fs::write(place.path("runs/numbers.json"), "[1, 2]").unwrap();
    fs::write(place.path("runs/config.json"), "{\"a\": 1}").unwrap();
    fs::write(place.path("runs/notes.txt"), "notes").unwrap();
    fs::write(place.path("runs/empty.jsonl"), "").unwrap();
    let other = rusqlite::Connection::open(place.path("runs/other.db")).unwrap();
    other.execute("CREATE TABLE t (a)", []).unwrap();
    drop(other);
    // Nor is what is hidden.
    put(&place, "react.traj", "runs/.cache/hidden.traj");
    put(&place, "react.traj", "runs/1/2/3/4/deep.traj");
    let (code, said, err) = import(&place, "runs");
    assert_eq!(code, 0, "{err}");
    let note: Value = serde_json::from_str(&err).unwrap();
    assert_eq!(note["note"], "runs: 5 other files in it without a run or an export");
    let tasks = said["tasks"].as_array().unwrap();
    let mut inputs: Vec<&str> = tasks.iter().map(|task| text(task, "input")).collect();
    inputs.dedup();
    assert_eq!(
        inputs,
        [
            "runs",
            "runs/1/2/3/4/deep.traj",
            "runs/a/graph.db",
            "runs/airline.json",
            "runs/b/react.traj",
            "runs/log.jsonl"
        ]
    );
    assert_eq!(said["failed"], json!([]));
    // All of one format.
    let other = Place::new();
    let runs = place.path("runs");
    let only = other.run(["import", "--format", "swe-agent", "--json", runs.to_str().unwrap()]);
    let said: Value = serde_json::from_str(&only.out).unwrap();
    assert_eq!(ids(&said), ["deep", "react"]);
}

#[test]
fn a_folder_of_recorded_runs_is_imported_as_it_is() {
    let Some(data) = real_runs() else { return };
    let place = Place::new();
    let ran = place.run(["import", data.to_str().unwrap(), "--json"]);
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(said["tasks"].as_array().unwrap().len() > 20);
}

#[test]
fn runs_of_the_same_file_name_are_tasks_of_their_own() {
    let place = Place::new();
    for folder in ["r/x", "r/y"] {
        fs::create_dir_all(place.path(folder)).unwrap();
        place.write(&format!("{folder}/events.jsonl"), HELLO);
    }
    let (code, said, _) = import(&place, "r");
    assert_eq!((code, ids(&said)), (0, vec!["x-events", "y-events"]));
}
