//! Pause states: JSON files of a paused run.

use serde_json::{Value, json};

use crate::common::{Place, number, text};
use crate::seed_databases::run;

/// A pause state as its controller may write it.
fn pause() -> Value {
    json!({
        "task_id": "task-1",
        "run_control_state": "Paused",
        "iteration": 3,
        "stage": "layer_2",
        "paused_at": "2026-01-18T08:00:00.250Z",
        "artifacts": {"patterns": [1], "candidate_prompts": []},
        "user_guidance": "be brief",
        "context_snapshot": {"current_prompt": "p", "teacher": "m1"},
        "user_id": "ana",
    })
}

#[test]
fn seed_001_a_pause_state_is_a_task_with_a_checkpoint_of_the_paused_run() {
    let place = Place::new();
    place.write("pause_state.json", serde_json::to_string_pretty(&pause()).unwrap());
    let said = place.json("import pause_state.json");
    let task = &said["tasks"][0];
    assert_eq!((text(task, "id"), text(task, "format")), ("task-1", "pause-state"));
    assert_eq!(number(task, "checkpoints"), 1);
    let state = place.json("state task-1@paused");
    assert_eq!(state["control"], "paused");
    assert_eq!((&state["phase"], &state["iteration"]), (&json!("layer_2"), &json!(3)));
    assert_eq!(state["prompt"], "p");
    assert_eq!(state["artifacts"], pause()["artifacts"]);
    assert_eq!(
        state["variables"],
        json!({"user_guidance": "be brief",
            "pause_state": {"user_id": "ana", "context_snapshot": {"teacher": "m1"}}})
    );
    let mark = &place.items("checkpoints task-1")[0];
    assert_eq!(text(mark, "time"), "2026-01-18T08:00:00.250000Z");
    assert_eq!(place.json("verify")["faults"], json!([]));
}

#[test]
fn seed_001_a_pause_state_imported_again_adds_nothing_and_a_later_one_a_checkpoint() {
    let place = Place::new();
    place.write("pause_state.json", pause().to_string());
    place.say("import pause_state.json").ok();
    let again = place.json("import pause_state.json");
    assert_eq!(number(&again["tasks"][0], "events"), 0);
    let mut later = pause();
    later["pausedAt"] = json!(1_768_800_000_000_u64);
    later.as_object_mut().unwrap().remove("paused_at");
    place.write("later.json", later.to_string());
    place.say("record later.json").ok();
    assert_eq!(place.items("checkpoints task-1").as_array().unwrap().len(), 2);
    later["saved_at"] = json!("2026-01-19T05:20:00Z");
    later.as_object_mut().unwrap().remove("stage");
    place.write("later.json", later.to_string());
    place.say("record later.json").ok();
    assert_eq!(
        place.json("state task-1")["variables"]["pause_state"]["saved_at"],
        later["saved_at"]
    );
}

#[test]
fn seed_001_a_pause_state_joins_the_task_of_its_checkpoints_in_either_order() {
    for pause_first in [true, false] {
        let place = run();
        place.write("pause_state.json", pause().to_string());
        let mut files = ["checkpoints.sqlite", "pause_state.json"];
        if pause_first {
            files.reverse();
        }
        for file in files {
            place.say(&format!("import {file}")).ok();
        }
        assert_eq!(place.items("checkpoints task-1").as_array().unwrap().len(), 5);
        assert_eq!(place.json("state task-1@ckpt-layer_2")["phase"], "layer_2");
        assert_eq!(place.json("lineages task-1").as_array().unwrap().len(), 1);
        for file in files {
            let again = place.json(&format!("import {file}"));
            assert_eq!(number(&again["tasks"][0], "events"), 0, "{file}");
        }
    }
}

#[test]
fn seed_001_json_of_other_programs_is_no_pause_state() {
    let place = Place::new();
    let messages = json!([{"role": "user", "content": "hi"}]);
    for (name, content, format) in [
        ("messages.json", json!({"task_id": "t", "paused": true, "messages": messages}), "openai"),
        ("list.json", json!([{"task_id": 0, "paused": true, "traj": messages}]), "tau-bench"),
    ] {
        place.write(name, content.to_string());
        assert_eq!(place.json(&format!("import {name}"))["tasks"][0]["format"], format);
    }
    for content in
        [json!({"task_id": "t", "status": "paused"}), json!({"execution_id": "t", "paused_at": 1})]
    {
        place.write("other.json", content.to_string());
        assert_ne!(place.say("import other.json").code, 0);
    }
    place.write("bad.json", "{\"task_id\": \"t\", \"paused\": true,");
    let ran = place.say("import bad.json");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("hint: "), "{ran:?}");
    place.write("named.json", json!({"task_id": "\u{1}", "paused": true}).to_string());
    assert_eq!(place.say("import named.json").code, 1);
    assert_eq!(place.items("tasks").as_array().unwrap().len(), 2);
}
