//! Output of `log`: its content, its order, and its drawing of lineages.

use serde_json::Value;

use crate::common::Place;

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

/// Returns the JSON output, in its order.
fn printed(place: &Place, line: &str) -> Vec<Value> {
    let out = place.run(line.split(' ').chain(["--json"])).ok();
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn offsets(place: &Place, line: &str) -> Vec<u64> {
    let offset = |event: &Value| event["offset"].as_u64().unwrap();
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
    // A lineage that a restore left ends at the fork of the new one.
    place.say("restore a/0@10").ok();
    assert_eq!(offsets(&place, "log a --step 3"), [9]);
}

/// Steps of a run in iterations, with a change of phase at the beginning of each.
fn iterated() -> Place {
    let place = Place::new();
    let phase = |iteration, phase: &str| {
        format!("{{\"kind\":\"phase_changed\",\"phase\":\"{phase}\",\"iteration\":{iteration}}}\n")
    };
    let begun = "{\"kind\":\"step_started\",\"step\":8,\"iteration\":3}\n";
    let parts = [steps(1..=1), phase(1, "draft"), steps(2..=3), phase(2, "draft"), steps(4..=4)];
    let more = [phase(1, "review"), steps(5..=5), begun.to_owned(), steps(9..=9)];
    place.write("a.jsonl", parts.concat() + &more.concat());
    place.say("record --user ana a.jsonl").ok();
    place
}

/// The offsets of the events after which the state is of an iteration, newest first.
fn of_iteration(place: &Place, iteration: u64) -> Vec<u64> {
    let mut current = 0;
    let mut of_it = Vec::new();
    for (event, offset) in
        printed(place, "log a --reverse").iter().zip(offsets(place, "log a --reverse"))
    {
        current = event["body"]["iteration"].as_u64().unwrap_or(current);
        if current == iteration {
            of_it.insert(0, offset);
        }
    }
    of_it
}

#[test]
fn seed_001_an_iteration_is_every_event_after_which_the_state_is_of_it() {
    let place = iterated();
    let all: Vec<Vec<u64>> = (0..5).map(|iteration| of_iteration(&place, iteration)).collect();
    assert!(all[..4].iter().all(|of_it| of_it.len() > 3) && all[4].is_empty(), "{all:?}");
    for (iteration, expected) in all.iter().enumerate() {
        let line = format!("log a --iteration {iteration}");
        assert_eq!(offsets(&place, &line), *expected, "{line}");
        let mut reversed = offsets(&place, &format!("{line} --reverse"));
        reversed.reverse();
        assert_eq!(reversed, *expected, "{line}");
        assert_eq!(offsets(&place, &format!("{line} -n 2")), expected[..expected.len().min(2)]);
    }
    for at in [all[1][0], all[2][0] + 1] {
        let state = place.say(&format!("state a@{at} --json")).ok();
        let state: Value = serde_json::from_str(&state).unwrap();
        assert!([1, 2].contains(&state["iteration"].as_u64().unwrap()), "{state}");
    }
    assert_eq!(offsets(&place, "log a --iteration 2 --kind message").len(), 1);
    place.say("log a --graph --iteration 1").failed(2, "--iteration");
    // The events that set the iteration of the oldest one that is there may be gone.
    place.say("cleanup --task a --keep 3 --yes").ok();
    let oldest = *offsets(&place, "log a").last().unwrap();
    assert!(oldest > all[2][all[2].len() - 1], "{oldest} {all:?}");
    for (iteration, expected) in all.iter().enumerate() {
        let there: Vec<u64> = expected.iter().copied().filter(|at| *at >= oldest).collect();
        assert_eq!(offsets(&place, &format!("log a --iteration {iteration}")), there);
    }
}

#[test]
fn seed_001_checkpoints_have_the_iteration_and_the_phase_that_their_metadata_names() {
    let place = iterated();
    let out = place.say("checkpoints a").ok();
    assert!(!out.contains("ITERATION") && !out.contains("PHASE"), "{out}");
    let marked = r#"{"phase":"review","iteration":18446744073709551615}"#;
    place.run(["mark", "a", "of-a-phase", "--metadata", marked]).ok();
    place.run(["mark", "a", "of-none", "--metadata", r#"{"phase":7,"iteration":"x"}"#]).ok();
    let out = place.say("checkpoints a").ok();
    let titles: Vec<&str> = out.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(titles[5..], ["ITERATION", "PHASE", "LABEL", "METADATA"]);
    let row: Vec<&str> = out.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!(row[5..8], ["18446744073709551615", "review", "of-a-phase"]);
    let all = place.items("checkpoints a");
    assert_eq!((&all[0]["iteration"], &all[0]["phase"]), (&Value::Null, &Value::Null));
    assert_eq!(
        (&all[1]["iteration"], &all[1]["phase"]),
        (&Value::from("18446744073709551615"), &Value::from("review"))
    );
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
◆ @14
* @13
* @12
* @11
* @10
* @9
| ◆ @10
| * @9
| * @8
| * @7
| * @6
| * @5
| | ◆ @12
| | * @11
| | * @10
| | * @9
|_|/
◆ | @8
* | @7
* | @6
* | @5
|/
◆ @4
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

#[test]
fn seed_001_a_branch_is_a_lineage_of_its_own_and_the_task_stays_where_it_is() {
    let place = Place::recorded();
    let before = place.say("tasks --json").ok();
    let out = place.run(["branch", "run@4", "--description", "a try"]).ok();
    assert!(out.contains("branched from run/0@4\n"), "{out}");
    assert!(out.contains("lineage 1 of run, head @5; the task stays on lineage 0\n"), "{out}");
    assert!(out.contains("`milepost switch run/1`"), "{out}");
    let opened: serde_json::Value =
        serde_json::from_str(&place.say("branch run@4 -m again --json").ok()).unwrap();
    assert_eq!((&opened["id"], &opened["task"]), (&2.into(), &"run".into()));
    assert_eq!((&opened["active"], &opened["description"]), (&false.into(), &"again".into()));
    let heads = |text: &str| -> Vec<String> {
        let tasks: serde_json::Value = serde_json::from_str(text).unwrap();
        tasks["items"].as_array().unwrap().iter().map(|task| task["head"].to_string()).collect()
    };
    assert_eq!(heads(&place.say("tasks --json").ok()), heads(&before));
    let shown = place.say("lineages run").ok();
    assert!(shown.contains("a try") && shown.contains("again"), "{shown}");
    // The command's suggested next step works.
    let state = place.say("state run/1 --json").ok();
    place.say("log run/1").ok();
    place.say("restore run/1").ok();
    assert_eq!(place.say("state run --json").ok(), state);
    // A branch from a checkpoint has that checkpoint.
    place.say("mark run@4 early").ok();
    place.say("branch run@early").ok();
    assert_eq!(
        place.say("state run/4@early --json").ok(),
        place.say("state run@early --json").ok()
    );
    place.say("branch run@99").failed(1, "99");
    place.say("branch nope").failed(1, "nope");
}
