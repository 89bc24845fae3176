//! `search` and `compare`: over all tasks, and side by side.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::Place;
use serde_json::Value;

#[test]
fn a_text_is_found_in_every_task_and_in_the_lineage_that_recorded_it() {
    let place = Place::recorded();
    place.say("restore run@12").ok();
    let hits = place.lines("search hello");
    let of_run: Vec<&Value> =
        hits.iter().filter(|hit| hit["address"].as_str().unwrap().starts_with("run/")).collect();
    assert!(!of_run.is_empty());
    assert!(of_run.iter().all(|hit| hit["address"].as_str().unwrap().starts_with("run/0@")));
    for hit in &hits {
        let address = hit["address"].as_str().unwrap();
        let shown = place.json(&format!("show {address}"));
        assert_eq!(shown["body"], hit["event"]["body"], "{address}");
        assert!(hit["event"].to_string().to_lowercase().contains("hello"), "{address}");
    }
    assert_eq!(place.lines("search hello -n 1"), hits[..1]);
    assert_eq!(place.lines("search HELLO"), hits);
    let messages = place.lines("search hello --kind message");
    assert!(messages.iter().all(|hit| hit["event"]["kind"] == "message"));
    let airline = place.lines("search a --task airline-* --kind step_started");
    assert!(airline.iter().all(|hit| hit["address"].as_str().unwrap().starts_with("airline-")));
}

#[test]
fn a_search_without_a_hit_says_what_it_looked_at() {
    let place = Place::recorded();
    let ran = place.say("search no-such-text-anywhere");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("nothing found in") && ran.err.contains("of 6 tasks"), "{ran:?}");
    assert_eq!(place.say("search no-such-text-anywhere --json").ok(), "");
}

#[test]
fn two_lineages_are_the_same_up_to_where_they_part() {
    let place = Place::recorded();
    let same = place.say("compare react react").ok();
    assert!(same.lines().last().unwrap().starts_with("the same: "), "{same}");
    let json = place.json("compare airline-0/0 airline-7");
    let items = json["items"].as_array().unwrap();
    let common: usize = json["common"].as_str().unwrap().parse().unwrap();
    assert!(items[..common].iter().all(|item| item["op"] == "same"));
    assert!(items.len() > common && items[common]["op"] != "same");
    let mut command = place.command(["compare", "airline-0/0", "airline-7"]);
    let out = common::Ran::of(command.env("COLUMNS", "80").output().unwrap()).ok();
    assert!(out.starts_with("A  airline-0/0@"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    place.say("compare react nope").failed(1, "nope");
}
