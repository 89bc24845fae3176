//! Importing folders of JSON checkpoint files.

mod killed;
mod projects;
mod several;

use std::fs;
use std::path::{Path, PathBuf};

use milepost::events::{MarkCause, MarkStatus};
use milepost::{Append, Body, Engine, Mark, Options};
use serde_json::{Value, json};

use crate::common::{Place, number, text};

/// A checkpoint file's content.
fn checkpoint(execution: &str, step: u64) -> Value {
    json!({
        "id": format!("ckpt-{execution}-{step}"),
        "execution_id": execution,
        "step_name": format!("step_{step}"),
        "step_index": step,
        "timestamp": format!("2024-11-16T10:30:{step:02}.123456"),
        "state": {"phase": step, "left": null, "list": [{"none": null}]},
        "context": {"user": {"name": "ana", "mail": null}, "step": step},
        "variables": {"rows": step, "none": null, "deep": {"a": [null, {"b": null}]}},
        "status": "success",
        "error": null,
        "metadata": {"origin": "test", "step": step},
    })
}

/// Saves a checkpoint under its id, as the engine that made it does.
fn save(dir: &Path, checkpoint: &Value) -> PathBuf {
    let path = dir.join(format!("{}.json", text(checkpoint, "id")));
    fs::create_dir_all(dir).unwrap();
    fs::write(&path, serde_json::to_string_pretty(checkpoint).unwrap()).unwrap();
    path
}

/// A place with the steps 0 to `count` of `exec-001` in the folder `old`.
fn place(count: u64) -> Place {
    let place = Place::new();
    for step in 0..count {
        save(&place.path("old"), &checkpoint("exec-001", step));
    }
    place
}

/// The counts of one task of an import's document: events, checkpoints, repeated.
fn counts(task: &Value) -> [u64; 3] {
    ["events", "checkpoints", "repeated"].map(|name| number(task, name))
}

/// The state at a checkpoint is that of its file.
#[track_caller]
fn assert_state(place: &Place, file: &Value) {
    let (task, id) = (text(file, "execution_id"), text(file, "id"));
    let state = place.json(&format!("state {task}@{id}"));
    assert_eq!(state["variables"], file["variables"], "{id}");
    assert_eq!(state["context"], file["context"], "{id}");
    let found = state["artifacts"].get("state").unwrap_or(&Value::Null);
    assert_eq!(*found, file["state"], "{id}");
    assert_eq!(state["step"]["number"], file["step_index"], "{id}");
    assert_eq!(state["step"]["name"], file["step_name"], "{id}");
    assert_eq!(state["message_count"], 0);
}

#[test]
fn every_field_of_a_file_arrives_where_it_should() {
    let place = place(2);
    let said = place.json("import old --user ana");
    assert_eq!(said["skipped"], json!([]));
    assert_eq!(counts(&said["tasks"][0]), [10, 2, 0]);
    assert_eq!(said["tasks"][0]["id"], "exec-001");
    assert_eq!(said["tasks"][0]["head"], 13);
    let file = checkpoint("exec-001", 1);
    assert_state(&place, &file);
    assert_eq!(place.items("tasks")[0]["user"], "ana");
    let events = place.lines("log exec-001");
    let kinds: Vec<&str> = events[1..7].iter().map(|e| text(e, "kind")).collect();
    assert_eq!(
        kinds,
        [
            "step_started",
            "variables_patched",
            "context_changed",
            "artifacts_edited",
            "step_finished",
            "checkpoint_marked"
        ]
    );
    for event in &events[7..13] {
        assert_eq!(event["time"], "2024-11-16T10:30:01.123456Z");
        assert_eq!(event["actor"], "import");
    }
    assert_eq!(events[7]["key"], "import:ckpt-exec-001-1");
    let mark = &place.items("checkpoints exec-001")[0];
    assert_eq!(mark["cause"], "imported");
    assert_eq!(mark["status"], "success");
    assert_eq!(mark["label"], "step_1");
    assert_eq!(mark["aliases"], json!(["ckpt-exec-001-1"]));
    assert_eq!(mark["metadata"], file["metadata"]);
    assert_eq!(mark["time"], "2024-11-16T10:30:01.123456Z");
    assert_eq!(mark["at"], 12);
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn a_table_says_what_was_imported() {
    let out = place(3).say("import old").ok();
    let lines: Vec<Vec<&str>> = out.lines().map(|l| l.split_whitespace().collect()).collect();
    let titles = ["TASK", "FORMAT", "LINEAGES", "EVENTS", "CHECKPOINTS", "REPEATED", "HEAD"];
    assert_eq!(lines, [titles, ["exec-001", "checkpoints", "1", "15", "3", "0", "@19"]]);
}

#[test]
fn the_state_at_each_mark_is_that_of_its_file() {
    let place = Place::new();
    let odd = [
        (json!({"a": null}), json!({"x": {"y": null}}), json!({})),
        // A field goes away, another becomes null, one changes its type.
        (json!({}), json!({"x": null}), json!({"deep": [[null]]})),
        (json!({"a": {"b": null}}), json!({"x": [1]}), Value::Null),
        // Not what a program saves, but JSON all the same.
        (json!(null), json!([null, 1]), json!("text")),
        (json!({"~/": {"": null}}), json!({"1": 1.5}), json!([])),
    ];
    let mut files = Vec::new();
    for (step, (variables, context, state)) in (0..).zip(odd) {
        let mut file = checkpoint("odd", step);
        file["variables"] = variables;
        file["context"] = context;
        file["state"] = state;
        save(&place.path("old"), &file);
        files.push(file);
    }
    place.say("import old").ok();
    for file in &files {
        assert_state(&place, file);
        assert_eq!(
            place.json(&format!("state odd@{}", text(file, "id")))["last_error"],
            Value::Null
        );
    }
}

#[test]
fn numbers_are_kept_word_for_word() {
    let place = Place::new();
    let mut file = checkpoint("exact", 0).to_string();
    file = file.replace("\"rows\":0", "\"rows\":[1.50,1e400,123456789012345678901]");
    place.write("ckpt-exact-0.json", &file);
    place.say("import .").ok();
    let log = place.say("log exact --json").ok();
    assert!(log.contains("[1.50,1e400,123456789012345678901]"), "{log}");
}

#[test]
fn what_did_not_change_needs_no_event() {
    let place = Place::new();
    for step in 0..2 {
        let mut file = checkpoint("calm", step);
        for name in ["state", "context", "variables"] {
            file[name] = json!({"same": null});
        }
        save(&place.path("old"), &file);
    }
    assert_eq!(counts(&place.json("import old")["tasks"][0]), [7, 2, 0]);
    let mut file = checkpoint("calm", 1);
    file["state"] = json!({"same": null});
    file["context"] = file["state"].clone();
    file["variables"] = file["state"].clone();
    assert_state(&place, &file);
}

#[test]
fn a_second_import_changes_nothing_and_a_new_file_is_added() {
    let place = place(3);
    place.say("import old").ok();
    let before = (place.lines("log exec-001"), place.json("anchor"));
    let said = place.json("import old");
    assert_eq!(counts(&said["tasks"][0]), [0, 0, 3]);
    assert_eq!(said["tasks"][0]["head"], 19);
    let after = (place.lines("log exec-001"), place.json("anchor"));
    assert_eq!(before.0, after.0);
    assert_eq!(before.1["logs"], after.1["logs"]);
    save(&place.path("old"), &checkpoint("exec-001", 3));
    save(&place.path("old"), &checkpoint("exec-002", 0));
    let said = place.json("import old");
    assert_eq!(counts(&said["tasks"][0]), [5, 1, 3]);
    assert_eq!(counts(&said["tasks"][1]), [5, 1, 0]);
    assert_state(&place, &checkpoint("exec-001", 3));
    assert_state(&place, &checkpoint("exec-001", 0));
}

#[test]
fn what_a_cleanup_let_go_of_does_not_come_in_again() {
    for cleanup in ["cleanup --keep 1 --yes", "cleanup --keep 1 --marks-only --yes"] {
        let place = place(4);
        place.say("import old").ok();
        place.say(cleanup).ok();
        let before = place.lines("log exec-001");
        let said = place.json("import old");
        assert_eq!(counts(&said["tasks"][0]), [0, 0, 4], "{cleanup}");
        assert_eq!(place.ids("checkpoints exec-001").len(), 1, "{cleanup}");
        place.say("compact").ok();
        assert_eq!(counts(&place.json("import old")["tasks"][0]), [0, 0, 4]);
        assert_eq!(place.lines("log exec-001"), before);
        save(&place.path("old"), &checkpoint("exec-001", 4));
        assert_eq!(counts(&place.json("import old")["tasks"][0]), [5, 1, 4]);
        assert_state(&place, &checkpoint("exec-001", 4));
        assert_eq!(place.json("verify --states")["ok"], true);
    }
}

#[test]
fn going_back_does_not_bring_checkpoints_in_again() {
    let place = place(3);
    place.say("import old").ok();
    place.say("restore exec-001@ckpt-exec-001-0").ok();
    let before = place.lines("log exec-001");
    assert_eq!(
        counts(&place.json("import old")["tasks"][0]),
        [0, 0, 3],
        "they are on another lineage"
    );
    assert_eq!(place.lines("log exec-001"), before);
    // New entries continue at the task's head, from its state.
    save(&place.path("old"), &checkpoint("exec-001", 3));
    place.say("import old").ok();
    assert_state(&place, &checkpoint("exec-001", 3));
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn damaged_files_are_reported_and_the_rest_is_imported() {
    let place = place(2);
    let old = place.path("old");
    let whole = serde_json::to_vec(&checkpoint("exec-001", 7)).unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(old.join(name), bytes).unwrap();
    let with = |name: &str, field: &str, value: Value| {
        let mut file = checkpoint("exec-001", 7);
        match value {
            Value::Null => drop(file.as_object_mut().unwrap().remove(field)),
            value => file[field] = value,
        }
        put(name, file.to_string().as_bytes());
    };
    put("ckpt-bad-cut.json", &whole[..whole.len() / 2]);
    put("ckpt-bad-empty.json", b"");
    put("ckpt-bad-text.json", b"oops");
    put("ckpt-bad-list.json", b"[1]");
    put("ckpt-bad-more.json", b"{}{}");
    put("ckpt-bad-utf8.json", b"{\"id\":\"\xff\"}");
    let shape = checkpoint("exec-001", 7).to_string();
    let deep = |levels: &str| shape.replace("\"rows\":7", &format!("\"rows\":{levels}"));
    let levels = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
    put("ckpt-bad-deep.json", deep(&levels(5000)).as_bytes());
    put("ckpt-bad-deepish.json", deep(&levels(99)).as_bytes());
    with("ckpt-bad-nostate.json", "state", Value::Null);
    with("ckpt-bad-noid.json", "id", Value::Null);
    with("ckpt-bad-step.json", "step_index", json!(-1));
    with("ckpt-bad-time.json", "timestamp", json!("soon"));
    with("ckpt-bad-task.json", "execution_id", json!("x".repeat(201)));
    with("ckpt-bad-control.json", "execution_id", json!("a\nb"));
    with("ckpt-bad-alias.json", "id", json!(""));
    let metadata = json!({"much": "x".repeat(70_000)});
    with("ckpt-bad-metadata.json", "metadata", metadata);
    let large = fs::File::create(old.join("ckpt-bad-large.json")).unwrap();
    large.set_len((64 << 20) + 1).unwrap();
    fs::create_dir(old.join("ckpt-bad-dir.json")).unwrap();
    // None of these is looked at.
    put("ckpt-exec-001-0.json.lock", b"");
    put("notes.json", b"oops");
    put("ckpt-old.txt", b"oops");
    let ran = place.say("import old --json");
    assert_eq!(ran.code, 1);
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    let expected = [
        ("alias", "`id`"),
        ("control", "control character"),
        ("cut", "cut off"),
        ("deep", "deeper than 100 levels"),
        ("deepish", "`variables`: it nests deeper than 98 levels"),
        ("dir", "not a regular file"),
        ("empty", "empty"),
        ("large", "over 64 MiB"),
        ("list", "not a JSON object"),
        ("metadata", "`metadata`"),
        ("more", "missing field"),
        ("noid", "missing field `id`"),
        ("nostate", "missing field `state`"),
        ("step", "invalid value"),
        ("task", "`execution_id`"),
        ("text", "not a JSON object"),
        ("time", "\"soon\""),
        ("utf8", "invalid UTF-8 at byte 7"),
    ];
    let skipped = said["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), expected.len(), "{skipped:#?}");
    for ((name, why), found) in expected.iter().zip(skipped) {
        let path = format!("old/ckpt-bad-{name}.json");
        assert_eq!(found["path"], path);
        assert!(text(found, "reason").contains(why), "{found}");
        assert!(ran.err.contains(&format!("{path}: ")), "{}", ran.err);
    }
    assert!(ran.err.contains("\"message\":\"18 files could not be imported\""));
    assert!(ran.err.contains("\"hint\":"));
    assert_eq!(place.ids("tasks"), ["exec-001"]);
    assert_eq!(place.ids("checkpoints exec-001").len(), 2);
    assert_state(&place, &checkpoint("exec-001", 1));
    // Mended, a file goes in.
    save(&old, &checkpoint("exec-001", 7));
    fs::remove_file(old.join("ckpt-bad-cut.json")).unwrap();
    let ran = place.say("import old");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("error: 17 files"), "{}", ran.err);
    assert_state(&place, &checkpoint("exec-001", 7));
}

#[cfg(unix)]
#[test]
fn pipes_and_links_are_not_waited_for() {
    let place = place(1);
    let link = place.path("old/ckpt-link.json");
    std::os::unix::fs::symlink("/dev/zero", link).unwrap();
    let pipe = place.path("old/ckpt-pipe.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let ran = place.say("import old");
    assert_eq!(ran.code, 1);
    assert_eq!(ran.err.matches("not a regular file").count(), 2);
    assert_eq!(place.ids("checkpoints exec-001").len(), 1);
}

#[test]
fn checkpoints_go_by_step_and_not_by_name() {
    let place = Place::new();
    for step in [10, 9, 2] {
        save(&place.path("old"), &checkpoint("x", step));
    }
    // The same step again, later: its name sorts before the other one's.
    let mut again = checkpoint("x", 9);
    again["id"] = json!("ckpt-x-09-again");
    again["timestamp"] = json!("2024-11-16T10:30:30+00:00");
    save(&place.path("old"), &again);
    // A step of a later number goes last, whenever it was saved.
    let mut late = checkpoint("x", 11);
    late["timestamp"] = json!("2024-11-16T08:00:00");
    save(&place.path("old"), &late);
    place.say("import old").ok();
    let marks = place.items("checkpoints x");
    let ids: Vec<&str> = marks
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .map(|mark| mark["aliases"][0].as_str().unwrap())
        .collect();
    let order = ["ckpt-x-2", "ckpt-x-9", "ckpt-x-09-again", "ckpt-x-10", "ckpt-x-11"];
    assert_eq!(ids, order);
}

#[test]
fn a_project_its_persistence_and_the_folder_itself_can_be_named() {
    let place = Place::new();
    let dir = place.path("project/persistence/checkpoint");
    save(&dir, &checkpoint("exec-001", 0));
    for (folder, repeated) in
        [("project", 0), ("project/persistence", 1), ("project/persistence/checkpoint", 1)]
    {
        let said = place.json(&format!("import {folder}"));
        assert_eq!(counts(&said["tasks"][0])[2], repeated, "{folder}");
    }
    assert_eq!(place.lines("log exec-001").len(), 7);
}

#[test]
fn where_there_is_nothing_to_import_nothing_is_made() {
    let place = Place::new();
    place.write("file.json", "{}");
    fs::create_dir(place.path("empty")).unwrap();
    place.say("import nope").failed(1, "nope: ");
    place.say("import file.json").failed(1, "not a folder");
    place.say("import missing.jsonl").failed(1, "hint: check the name");
    place.say("import empty").failed(1, "no ckpt-*.json");
    place.write("empty/ckpt-a.json", "oops");
    place.say("import empty").failed(1, "1 file could not be");
    assert!(!place.store().exists());
}

#[test]
fn a_failed_checkpoint_is_a_failure_and_leaves_its_error() {
    let place = place(1);
    let mut failed = checkpoint("exec-001", 1);
    failed["status"] = json!("failed");
    failed["error"] = json!("no such table");
    save(&place.path("old"), &failed);
    let mut silent = checkpoint("exec-001", 2);
    silent["status"] = json!("aborted");
    save(&place.path("old"), &silent);
    place.say("import old").ok();
    let failures = place.items("checkpoints exec-001 --status failure");
    assert_eq!(failures.as_array().unwrap().len(), 2);
    assert_state(&place, &failed);
    let state = place.json("state exec-001@ckpt-exec-001-1");
    assert_eq!(state["step"]["status"], "failed");
    assert_eq!(state["last_error"]["message"], "no such table");
    let state = place.json("state exec-001@ckpt-exec-001-2");
    assert_eq!(state["last_error"]["message"], "aborted");
}

#[test]
fn a_name_that_can_be_no_label_is_the_steps_name_only() {
    let place = Place::new();
    for (step, name) in [(0, "42"), (1, ""), (2, "a\tb"), (3, "fine")] {
        let mut file = checkpoint("names", step);
        file["step_name"] = json!(name);
        file["metadata"] = json!(null);
        save(&place.path("old"), &file);
    }
    place.say("import old").ok();
    let marks = place.items("checkpoints names");
    let labels: Vec<&Value> = (0..4).map(|at| &marks[at]["label"]).collect();
    assert_eq!(labels, [&json!("fine"), &json!(null), &json!(null), &json!(null)]);
    assert_eq!(marks[0]["metadata"], Value::Null);
    assert_eq!(place.lines("log names")[1]["body"]["name"], "42");
}

#[test]
fn a_task_that_something_else_began_is_left_alone() {
    let place = place(1);
    place.write("exec-001.jsonl", "{\"kind\":\"message\",\"role\":\"user\"}\n");
    place.say("record exec-001.jsonl").ok();
    save(&place.path("old"), &checkpoint("exec-002", 0));
    let before = place.lines("log exec-001");
    let ran = place.say("import old");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("`exec-001` is there already"), "{}", ran.err);
    assert_eq!(place.lines("log exec-001"), before);
    assert_state(&place, &checkpoint("exec-002", 0));
}

#[test]
fn what_has_no_place_of_its_own_is_kept_beside_the_step() {
    let place = place(1);
    let mut file = checkpoint("exec-001", 1);
    file["parent_id"] = json!("ckpt-exec-001-0");
    file["score"] = json!({"deep": [1, null]});
    file["metadata"] = json!(["no", "object"]);
    file["status"] = json!("aborted");
    file["error"] = json!("out of memory");
    save(&place.path("old"), &file);
    place.say("import old").ok();
    assert_state(&place, &file);
    let kept = place.lines("log exec-001 --kind application");
    assert_eq!(kept.len(), 1, "of the first nothing is left over");
    assert_eq!(kept[0]["body"]["name"], "checkpoint_file");
    let data = json!({
        "metadata": ["no", "object"], "parent_id": "ckpt-exec-001-0", "score": {"deep": [1, null]},
        "status": "aborted",
    });
    assert_eq!(kept[0]["body"]["data"], data);
}

#[test]
fn a_file_that_was_changed_since_it_was_imported_is_named() {
    let place = place(3);
    place.say("import old").ok();
    let before = place.lines("log exec-001");
    let mut changed = checkpoint("exec-001", 1);
    changed["variables"] = json!({"rows": "others"});
    save(&place.path("old"), &changed);
    // On whatever lineage it is.
    for _ in 0..2 {
        let ran = place.say("import old --json");
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.err.contains("ckpt-exec-001-1.json: it was changed since"), "{}", ran.err);
        let said: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(counts(&said["tasks"][0]), [0, 0, 2]);
        assert_eq!(place.lines("log exec-001/0"), before);
        place.say("restore exec-001@ckpt-exec-001-0").ok();
    }
}
