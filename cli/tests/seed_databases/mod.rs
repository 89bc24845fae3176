//! Importing the checkpoints of an iteration engine: its database, and its pause states.

mod hostile;
mod lineages;
mod pauses;
mod tables;

use std::fs;

use serde_json::{Value, json};

use crate::common::{Place, number, text};
use tables::{Row, database, put};

/// The ids, time and states of four layers of a run.
const LAYERS: [&str; 4] = ["layer_1", "layer_2", "layer_3", "layer_4"];

/// A place with the run `task-1`: a checkpoint after each layer, paused after the third.
fn run() -> Place {
    let place = Place::new();
    let connection = database(&place);
    for (at, layer) in (0..).zip(LAYERS) {
        let control = if layer == "layer_3" { "paused" } else { "running" };
        put(
            &connection,
            &Row {
                id: &format!("ckpt-{layer}"),
                iteration: 1 + i64::from(at / 2),
                state: &json!(layer).to_string(),
                control,
                prompt: if at < 2 { "first" } else { "second" },
                artifacts: Some(json!({"patterns": [at], "candidate_prompts": ["p"]})),
                guidance: (at > 1).then(|| json!({"id": "g1", "content": "be brief"})),
                created_at: 1_768_700_000_000 + i64::from(at) * 1000,
                ..Row::default()
            },
        );
    }
    place
}

#[test]
fn seed_001_a_row_of_the_checkpoints_table_is_a_checkpoint_with_its_whole_state() {
    let place = run();
    let said = place.json("import checkpoints.sqlite --user ana");
    let task = &said["tasks"][0];
    assert_eq!((text(task, "id"), text(task, "format")), ("task-1", "checkpoint-table"));
    assert_eq!((number(task, "checkpoints"), &task["lineages"]), (4, &json!(1)));
    for (at, layer) in (0_u64..).zip(LAYERS) {
        let state = place.json(&format!("state task-1@ckpt-{layer}"));
        assert_eq!(state["phase"], layer);
        assert_eq!(state["iteration"], 1 + at / 2);
        assert_eq!(state["prompt"], if at < 2 { "first" } else { "second" });
        assert_eq!(state["control"], if layer == "layer_3" { "paused" } else { "running" });
        assert_eq!(state["artifacts"], json!({"patterns": [at], "candidate_prompts": ["p"]}));
        assert_eq!(state["rules"], json!({"rules": [{"id": "r1"}]}));
        assert_eq!(state["variables"].get("user_guidance").is_some(), at > 1, "{layer}");
    }
    let mark = &place.items("checkpoints task-1")[0];
    assert_eq!(mark["aliases"], json!(["ckpt-layer_4"]));
    assert_eq!(
        (text(mark, "cause"), text(mark, "time")),
        ("imported", "2026-01-18T01:33:23.000000Z")
    );
    let metadata = json!({"checksum": "c".repeat(64), "branch_id": "task-1",
        "lineage_type": "automatic", "run_control_state": "running"});
    assert_eq!(mark["metadata"], metadata);
    assert_eq!(place.items("tasks")[0]["user"], "ana");
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn seed_001_only_what_changed_between_two_rows_is_an_event() {
    let place = run();
    place.say("import checkpoints.sqlite").ok();
    let events = place.lines("log task-1");
    let kinds: Vec<Vec<&str>> = events[1..]
        .split(|event| event["kind"] == "checkpoint_marked")
        .map(|events| events.iter().map(|event| text(event, "kind")).collect())
        .collect();
    let first = ["phase_changed", "prompt_changed", "rules_changed", "artifacts_edited"];
    assert_eq!(kinds[0], [first.as_slice(), &["control_changed"]].concat());
    assert_eq!(kinds[1], ["phase_changed", "artifacts_edited"]);
    let first = ["phase_changed", "prompt_changed", "variables_patched", "artifacts_edited"];
    assert_eq!(kinds[2], [first.as_slice(), &["guidance_given", "control_changed"]].concat());
    assert_eq!(kinds[3], ["phase_changed", "artifacts_edited", "control_changed"]);
    let edited = place.lines("log task-1 --kind artifacts_edited");
    assert_eq!(edited[1]["body"]["artifacts"], json!({"patterns": [1]}));
    let guidance = &place.lines("log task-1 --kind guidance_given")[0];
    assert_eq!(guidance["body"]["text"], "be brief");
    assert_eq!(events[1]["key"], "checkpoints:ckpt-layer_1");
    assert_eq!(events[1]["actor"], "import");
    assert_eq!(events[1]["time"], "2026-01-18T01:33:20.000000Z");
}

#[test]
fn seed_001_a_table_imported_again_adds_only_its_new_rows() {
    let place = run();
    place.say("record checkpoints.sqlite").ok();
    let before = place.lines("log task-1");
    let again = place.json("import checkpoints.sqlite");
    assert_eq!((number(&again["tasks"][0], "events"), place.lines("log task-1")), (0, before));
    let connection = rusqlite::Connection::open(place.path("checkpoints.sqlite")).unwrap();
    let next = Row { id: "ckpt-next", created_at: 1_768_700_009_000, ..Row::default() };
    put(&connection, &next);
    // The older rows are gone; the new one continues their branch all the same.
    connection.execute("DELETE FROM checkpoints WHERE id <> 'ckpt-next'", []).unwrap();
    let grown = place.json("import checkpoints.sqlite");
    let task = &grown["tasks"][0];
    assert_eq!((number(task, "checkpoints"), &task["lineages"]), (1, &json!(1)));
    assert_eq!(place.json("state task-1")["phase"], "layer_0");
    assert_eq!(place.items("checkpoints task-1").as_array().unwrap().len(), 5);
}

#[test]
fn seed_001_each_task_id_is_a_task() {
    let place = Place::new();
    let connection = database(&place);
    for task in ["task-1", "task-2"] {
        let id = format!("ckpt-{task}");
        put(&connection, &Row { id: &id, task, branch: task, ..Row::default() });
    }
    place.say("import checkpoints.sqlite").ok();
    place.say("import checkpoints.sqlite --as old").ok();
    let mut ids = place.ids("tasks");
    ids.sort();
    assert_eq!(ids, ["old-task-1", "old-task-2", "task-1", "task-2"]);
}

#[test]
fn seed_001_a_database_in_use_in_wal_mode_is_read_and_not_changed() {
    let place = run();
    let connection = rusqlite::Connection::open(place.path("checkpoints.sqlite")).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    put(&connection, &Row { id: "ckpt-wal", created_at: 1_768_700_009_000, ..Row::default() });
    let before = fs::read(place.path("checkpoints.sqlite")).unwrap();
    let said = place.json("import checkpoints.sqlite");
    assert_eq!(number(&said["tasks"][0], "checkpoints"), 5);
    assert_eq!(fs::read(place.path("checkpoints.sqlite")).unwrap(), before);
}

#[test]
fn seed_001_columns_without_a_meaning_are_kept() {
    let place = run();
    let connection = rusqlite::Connection::open(place.path("checkpoints.sqlite")).unwrap();
    connection.execute_batch("ALTER TABLE checkpoints ADD COLUMN \"pass \"\"rate\" REAL").unwrap();
    connection
        .execute_batch("UPDATE checkpoints SET \"pass \"\"rate\" = 0.5 WHERE id = 'ckpt-layer_2'")
        .unwrap();
    place.say("import checkpoints.sqlite").ok();
    let kept = place.lines("log task-1 --kind application");
    let body =
        json!({"kind": "application", "name": "checkpoint_table", "data": {"pass \"rate": 0.5}});
    assert_eq!(kept.iter().map(|event| &event["body"]).collect::<Vec<&Value>>(), [&body]);
}
