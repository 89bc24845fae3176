//! What `log` prints, in which order, and how it draws lineages.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::Place;
use serde_json::Value;

/// Steps of three events each, and no marks between them.
fn steps(steps: std::ops::RangeInclusive<u64>) -> String {
    let step = |step| {
        format!(
            "{{\"kind\":\"step_started\",\"step\":{step}}}\n\
             {{\"kind\":\"message\",\"role\":\"user\",\"content\":\"Hello {step}\"}}\n\
             {{\"kind\":\"step_finished\",\"step\":{step}}}\n"
        )
    };
    steps.map(step).collect()
}

/// A task `a` with these steps, and a checkpoint behind each.
fn recorded(most: u64) -> Place {
    let place = Place::new();
    place.write("a.jsonl", steps(1..=most));
    place.say("record --user ana a.jsonl").ok();
    place
}

/// What is printed as JSON, in its order.
fn printed(place: &Place, line: &str) -> Vec<Value> {
    let out = place.run(line.split(' ').chain(["--json"])).ok();
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn offsets(place: &Place, line: &str) -> Vec<u64> {
    let offset = |event: &Value| event["offset"].as_str().unwrap().parse().unwrap();
    printed(place, line).iter().map(offset).collect()
}

#[test]
fn every_event_is_printed_once_newest_first_however_many_are_read_at_a_time() {
    let place = recorded(50);
    let all = offsets(&place, "log a");
    assert_eq!(all, (0..201).rev().collect::<Vec<_>>());
    for last in [0, 1, 31, 32, 33, 96, 97, 200, 201, 500] {
        let of_them = offsets(&place, &format!("log a -n {last}"));
        assert_eq!(of_them, all[..all.len().min(last)]);
        let mut reversed = offsets(&place, &format!("log a -n {last} --reverse"));
        reversed.reverse();
        assert_eq!(reversed, of_them);
    }
}

#[test]
fn only_what_the_filters_take_is_printed_and_counted() {
    let place = recorded(20);
    assert_eq!(offsets(&place, "log a --kind message -n 3"), [78, 74, 70]);
    assert_eq!(
        offsets(&place, "log a --kind step_started --kind step_finished -n 3"),
        [79, 77, 75]
    );
    assert_eq!(offsets(&place, "log a --grep HELLO -n 2"), [78, 74]);
    assert_eq!(offsets(&place, "log a --grep hello\u{a0}1"), [] as [u64; 0]);
    let text = place.run(["log", "a", "--grep", "hello 19", "--json"]).ok();
    assert_eq!(text.lines().count(), 1);
    assert_eq!(offsets(&place, "log a --actor nobody"), [] as [u64; 0]);
    assert_eq!(offsets(&place, "log a --since 1h -n 2"), [80, 79]);
    assert_eq!(offsets(&place, "log a --since 2200-01-01"), [] as [u64; 0]);
    assert_eq!(offsets(&place, "log a --until 2001-01-01T00:00:00Z"), [] as [u64; 0]);
}

#[test]
fn a_step_is_from_its_beginning_to_its_end() {
    let place = recorded(20);
    assert_eq!(offsets(&place, "log a --step 3"), [11, 10, 9]);
    assert_eq!(offsets(&place, "log a --step 3 --reverse"), [9, 10, 11]);
    assert_eq!(offsets(&place, "log a --step 3 -n 1"), [11]);
    assert_eq!(offsets(&place, "log a --step 3 --kind message"), [10]);
    assert_eq!(offsets(&place, "log a --step 99"), [] as [u64; 0]);
    // What a restore cut off ends where the new lineage begins.
    place.say("restore a/0@10").ok();
    assert_eq!(offsets(&place, "log a --step 3"), [9]);
}

#[test]
fn an_event_may_be_printed_whole() {
    let place = recorded(2);
    let out = place.say("log a --full -n 3").ok();
    assert!(out.contains("event       a/0@8\n"), "{out}");
    assert!(out.contains("\"kind\": \"step_finished\""), "{out}");
    assert_eq!(out.matches("event       ").count(), 3);
}

#[test]
fn lineages_stand_beside_each_other_down_to_where_they_part() {
    let place = recorded(3);
    place.write("more.jsonl", steps(9..=9));
    for from in ["a/0@5", "a/0@9"] {
        place.say(&format!("restore {from}")).ok();
        place.say("record --task a more.jsonl").ok();
    }
    let out = place.say("log a --graph").ok();
    let drawn: Vec<String> = out.lines().map(columns_and_offset).collect();
    let expected = "\
* @14
* @13
* @12
* @11
* @10
* @9
| * @10
| * @9
| * @8
| * @7
| * @6
| * @5
| | * @12
| | * @11
| | * @10
| | * @9
|_|/
* | @8
* | @7
* | @6
* | @5
|/
* @4
* @3
* @2
* @1
* @0";
    let expected: Vec<&str> = expected.lines().collect();
    assert_eq!(drawn, expected, "{out}");
    assert!(out.lines().next().unwrap().ends_with("(lineage 2, active)"));
    // The others in between are told apart by name, too.
    assert_eq!(out.matches("(lineage ").count(), 3);
    assert_eq!(printed(&place, "log a --graph").len(), 13 + 6 + 6);
    assert_eq!(printed(&place, "log a --graph -n 4").len(), 4);
}

/// The columns of a line of the graph, and the offset where there is an event.
fn columns_and_offset(line: &str) -> String {
    match line.split_once('@') {
        Some((columns, rest)) => {
            let offset = rest.split(' ').next().unwrap();
            format!("{} @{offset}", columns.trim_end())
        }
        None => line.trim_end().to_owned(),
    }
}

#[test]
fn a_kind_that_is_mistyped_is_told_with_the_nearest() {
    let place = recorded(1);
    let ran = place.say("log a --kind mesage");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("'message'"), "{ran:?}");
    let ran = place.say("log a --since yesterday");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("how long ago"), "{ran:?}");
    let ran = place.say("log a --graph --step 1");
    ran.failed(2, "--step");
}
