//! Checkpoints as a folder of JSON files, and back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::Place;

/// The names and contents of a folder.
fn content(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    entries.map(|it| (it.file_name().into_string().unwrap(), text(&it.path()))).collect()
}

fn save(folder: &Path, name: &str, file: &Value) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(name), serde_json::to_string_pretty(file).unwrap()).unwrap();
}

/// A file as the earlier engine saves it.
fn checkpoint(execution: &str, step: u64) -> Value {
    json!({
        "id": format!("ckpt-{execution}-{step}"),
        "execution_id": execution,
        "step_name": format!("step_{step}"),
        "step_index": step,
        "timestamp": format!("2024-11-16T10:30:{step:02}.123456"),
        "state": {"phase": step, "left": null},
        "context": {"user": {"name": "ana", "mail": null}},
        "variables": {"rows": step, "none": null},
        "status": "success",
        "error": null,
        "metadata": {},
    })
}

/// A folder with what such files can have: failures, warnings, other fields and odd values.
fn saved(folder: &Path) {
    for step in [0, 1, 2, 10] {
        save(folder, &format!("ckpt-exec-001-{step}.json"), &checkpoint("exec-001", step));
    }
    let odd = [
        json!({"status": "failed", "error": "the tool took too long", "metadata": {"a": [1.5]}}),
        json!({"status": "failed", "error": null, "state": null, "variables": [1], "context": "x"}),
        json!({"status": "success", "error": "slow", "metadata": ["no object"]}),
        json!({"status": "success", "tags": ["a", {"b": null}], "metadata": null}),
        json!({"step_name": "12", "timestamp": "2024-11-16T10:30:45", "state": "text"}),
        json!({"step_name": "", "id": "no name of a file/ä",
            "timestamp": "2024-11-16T12:30:45+02:00"}),
    ];
    for (step, fields) in (20..).zip(odd) {
        let mut file = checkpoint("other execution", step);
        file.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        save(folder, &format!("ckpt-{step}.json"), &file);
    }
}

/// The events and checkpoints of a store, without what differs in each store.
fn history(place: &Place) -> Value {
    let mut all = Vec::new();
    for task in ["exec-001", "other execution"] {
        let events = place.run(["log", task, "--reverse", "--json"]).ok();
        for line in events.lines().skip(1) {
            let mut event: Value = serde_json::from_str(line).unwrap();
            let fields = event.as_object_mut().unwrap();
            fields.remove("correlation");
            let body = fields["body"].as_object_mut().unwrap();
            // The parent is an id, which depends on the origin of the task.
            body.remove("parent");
            all.push(event);
        }
    }
    all.into()
}

#[test]
fn seed_000_what_was_imported_is_exported_and_imported_as_the_same_history() {
    let (one, two) = (Place::new(), Place::new());
    saved(&one.path("old"));
    one.say("import old").ok();
    let out = one.say("export --format checkpoints new").ok();
    assert_eq!(out, "exported 2 tasks: 10 checkpoints\n");
    let files = content(&one.path("new"));
    assert_eq!(files.len(), 10);
    let text = &files["ckpt-exec-001-1.json"];
    let expected = r#"{
  "id": "ckpt-exec-001-1",
  "execution_id": "exec-001",
  "step_name": "step_1",
  "step_index": 1,
  "timestamp": "2024-11-16T10:30:01.123456",
  "state": {"left":null,"phase":1},
  "context": {"user":{"mail":null,"name":"ana"}},
  "variables": {"none":null,"rows":1},
  "status": "success",
  "error": null,
  "metadata": {}
}
"#;
    assert_eq!(text, expected);
    let saved = content(&one.path("old"));
    for (name, text) in files.iter().filter(|(name, _)| saved.contains_key(*name)) {
        let (before, after): (Value, Value) =
            (serde_json::from_str(&saved[name]).unwrap(), serde_json::from_str(text).unwrap());
        assert_eq!(before, after, "{name}");
    }
    for (name, text) in &files {
        two.write(name, text);
    }
    fs::create_dir(two.path("in")).unwrap();
    for name in files.keys() {
        fs::rename(two.path(name), two.path("in").join(name)).unwrap();
    }
    two.say("import in").ok();
    assert_eq!(history(&one), history(&two));
    two.say("export --format checkpoints again").ok();
    assert_eq!(content(&two.path("again")), files);
    one.say("export --format checkpoints same").ok();
    assert_eq!(content(&one.path("same")), files);
}

#[test]
fn seed_000_a_file_that_is_there_is_not_replaced_and_a_failed_export_leaves_nothing() {
    let place = Place::new();
    saved(&place.path("old"));
    let before = content(&place.path("old"));
    place.say("import old").ok();
    place.say("export exec-001 old --format checkpoints").failed(1, "already");
    assert_eq!(content(&place.path("old")), before);
    // Other files of the folder stay.
    fs::create_dir(place.path("mixed")).unwrap();
    place.write("mixed/notes.txt", "mine");
    let out = place.say("export exec-001 mixed --format checkpoints --json").ok();
    let said: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&said["tasks"], &said["checkpoints"]), (&json!(1), &json!(4)));
    let mixed = content(&place.path("mixed"));
    assert_eq!((mixed.len(), &*mixed["notes.txt"]), (5, "mine"));
    place.say("export exec-001 mixed --format checkpoints").failed(1, "already");
    assert_eq!(content(&place.path("mixed")), mixed);
    place.write("file", "x");
    place.say("export exec-001 file --format checkpoints").failed(1, "file");
    place.say("export nope new --format checkpoints").failed(1, "nope");
    place.say("export --format checkpoints").failed(2, "folder");
    place.say("export exec-001 new").failed(2, "new");
    place.say("export exec-001 new --format checkpoints --redact").failed(2, "--redact");
    assert!(!place.path("new").exists());
}

#[test]
fn seed_000_recorded_checkpoints_are_files_whose_states_an_import_brings_back() {
    let (one, two) = (Place::recorded(), Place::new());
    one.say("mark run@4 early --alias ckpt-run-1 --metadata {\"score\":1}").ok();
    // Behind this point the checkpoints are of an abandoned lineage.
    one.say("restore run@early").ok();
    one.say("mark run@3 first --status failure").ok();
    let exported = one.say("export run new --format checkpoints");
    assert_eq!(exported.code, 0, "{exported:?}");
    assert!(exported.err.contains("left out"), "{exported:?}");
    assert!(exported.err.contains("`--all-lineages` takes them too"), "{exported:?}");
    let files = content(&one.path("new"));
    one.say("export run --all-lineages").failed(2, "is for --format checkpoints");
    let said = one.json("export run all --format checkpoints --all-lineages");
    let all = content(&one.path("all"));
    assert_eq!(
        (&said["elsewhere"], all.len()),
        (&json!(0), one.items("checkpoints run").as_array().unwrap().len())
    );
    for (name, text) in &files {
        assert_eq!(all.get(name), Some(text), "{name}");
    }
    assert!(files.len() < all.len());
    for (name, text) in all.iter().filter(|(name, _)| !files.contains_key(*name)) {
        let file: Value = serde_json::from_str(text).unwrap();
        assert_eq!(file["lineage"], 0, "{name}");
    }
    let early: Value = serde_json::from_str(&files["ckpt-run-1.json"]).unwrap();
    assert_eq!((&early["step_name"], &early["metadata"]), (&json!("early"), &json!({"score": 1})));
    let failed = files.values().find(|text| text.contains("\"first\"")).unwrap();
    let failed: Value = serde_json::from_str(failed).unwrap();
    assert_eq!((&failed["status"], &failed["metadata"]), (&json!("failed"), &json!({})));
    let at = one.json("state run@early");
    assert_eq!((&early["variables"], &early["context"]), (&at["variables"], &at["context"]));
    fs::rename(one.path("new"), two.path("in")).unwrap();
    two.say("import in").ok();
    let state = two.json("state run@early");
    for field in ["variables", "context"] {
        assert_eq!(state[field], at[field]);
    }
    assert_eq!(two.items("checkpoints run").as_array().unwrap().len(), files.len());
    // A task without a checkpoint has no file.
    let none = Place::new();
    none.write("a.jsonl", "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"x\"}\n");
    none.say("record a.jsonl").ok();
    none.say("cleanup --task a --keep 0 --marks-only --yes").ok();
    none.say("export --format checkpoints new").failed(1, "no checkpoint");
    assert!(!none.path("new").exists());
}
