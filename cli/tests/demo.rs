//! The demo: it really runs, is really killed, and really ends better.

use serde_json::Value;

use crate::common::{Place, number, text};

/// Runs the demo. Its kill may interrupt a write, which the next opening reports. Any other note
/// fails the test.
#[track_caller]
fn ran(place: &Place, line: &str) -> String {
    let ran = place.say(line);
    let expected = |line: &str| line.ends_with("which was not acknowledged (dropped)");
    assert!(ran.code == 0 && ran.err.lines().all(expected), "{ran:?}");
    ran.out
}

fn demo(place: &Place, line: &str) -> Value {
    serde_json::from_str(&ran(place, &format!("{line} --json"))).unwrap()
}

fn scores(demo: &Value) -> Vec<f64> {
    let lineages = demo["lineages"].as_array().unwrap();
    lineages.iter().map(|lineage| lineage["score"].as_f64().unwrap()).collect()
}

#[test]
fn the_demo_loses_nothing_and_ends_better_in_the_end() {
    let place = Place::new();
    let demo = demo(&place, "--store kept demo --seed 3");
    assert_eq!(demo["lost"], 0);
    assert_eq!(demo["faults"], 0);
    assert!(number(&demo, "acknowledged") > 3000);
    let lineages = demo["lineages"].as_array().unwrap();
    assert_eq!(lineages.len(), 3, "killed, picked up, rolled back");
    assert_eq!(lineages[1]["parent"]["lineage"], 0);
    let scores = scores(&demo);
    assert!(scores[2] < scores[1], "{scores:?}");

    // Its output describes the content of the store.
    let task = text(&demo, "task");
    let state = place.json(&format!("--store kept state {task}"));
    assert_eq!(state["control"], "idle");
    assert_eq!(state["iteration"], 2500);
    assert_eq!(state["guidance_count"], 1, "the first guidance is not part of this lineage");
    assert_eq!(place.json(&format!("--store kept state {task}/1"))["guidance_count"], 1);
    let marks = place.items(&format!("--store kept checkpoints {task} --where iteration=500"));
    assert_eq!(marks[0]["label"], "iteration-500");
    let killed = place.json(&format!("--store kept log {task}/0 -n 1"));
    assert!(number(&killed, "offset") > 3000);
    assert_eq!(place.json("--store kept verify")["ok"], true);
}

#[test]
fn the_same_seed_gives_the_same_results_wherever_it_was_killed() {
    let place = Place::new();
    let run = |store: &str| scores(&demo(&place, &format!("--store {store} demo --seed 9")));
    assert_eq!(run("a")[1..], run("b")[1..]);
    assert_ne!(run("a")[1..], scores(&demo(&place, "--store c demo --seed 10"))[1..]);
}

#[test]
fn people_see_a_story_a_tree_and_where_to_look_further() {
    let place = Place::new();
    let out = ran(&place, "--store kept demo");
    for part in [
        "paused",
        "guidance: ",
        "killed behind iteration",
        "lost: 0",
        "picked up from its last checkpoint",
        "rolled back to iteration 500",
        "0 root",
        "├─ 1 restore",
        "└─ 2 restore",
        "ended better",
        "Lost: nothing.",
        " ms)",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    // Each command it names works.
    for line in out.lines().filter_map(|line| line.strip_prefix("  milepost ")) {
        let ran = place.say(line);
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
    }
    // A second run in the same store is another task.
    assert_eq!(demo(&place, "--store kept demo")["task"], "demo-2");
}

#[test]
fn without_a_store_the_demo_leaves_the_present_one_alone() {
    let place = Place::recorded();
    let before = place.items("tasks");
    let demo = demo(&place, "demo");
    assert_eq!(place.items("tasks"), before);
    let store = std::path::PathBuf::from(text(&demo, "store"));
    assert!(store.starts_with(std::env::temp_dir()) && store.is_dir());
    std::fs::remove_dir_all(store).unwrap();
}
