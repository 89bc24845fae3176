//! Sessions that are imported again, have grown, or were cut short.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::{Place, Ran, Serving, number};
use crate::sessions::made::{Made, SESSION, said};
use crate::sessions::{conversation, rewound};

/// Counts the changes of an import: events and checkpoints.
fn changes(place: &Place) -> [u64; 2] {
    let said = place.json("import session.jsonl");
    ["events", "checkpoints"].map(|name| number(&said["tasks"][0], name))
}

/// Returns all facts about the events of all lineages, without those that differ between two runs.
fn events(place: &Place) -> Vec<Vec<Value>> {
    let lineages = place.json(&format!("lineages {SESSION}"));
    let log = |lineage: &Value| {
        let id = &lineage["id"];
        let events = place.lines(&format!("log {SESSION}/{id}")).into_iter();
        let told = |event: Value| {
            let mut body = event["body"].clone();
            if let Some(fields) = body.as_object_mut() {
                // A hash is of its own store.
                fields.remove("parent");
            }
            json!([event["offset"], event["kind"], event["key"], body])
        };
        events.map(told).collect()
    };
    lineages.as_array().unwrap().iter().map(log).collect()
}

#[test]
fn imported_again_nothing_is_new() {
    let place = Place::new();
    rewound().save(&place);
    assert_eq!(changes(&place), [16, 3]);
    let before = place.json("stats");
    assert_eq!(changes(&place), [0, 0]);
    assert_eq!(place.json("stats")["events"], before["events"]);
}

#[test]
fn wherever_a_file_ended_the_rest_gives_what_one_import_gives() {
    let whole = Place::new();
    let mut made = rewound();
    made.side("s", None, "user", json!("beside"));
    made.save(&whole);
    whole.say("import session.jsonl").ok();
    let all = events(&whole);
    for count in 1..made.lines.len() {
        let place = Place::new();
        let begun = Made { lines: made.lines[..count].to_vec() };
        begun.save(&place);
        place.say("import session.jsonl").ok();
        made.save(&place);
        place.say("import session.jsonl").ok();
        assert_eq!(events(&place), all, "after {count} lines");
    }
}

#[test]
fn what_was_done_in_the_task_since_does_not_disturb() {
    let place = Place::new();
    let mut made = rewound();
    made.save(&place);
    place.say("import session.jsonl").ok();
    place.say(&format!("mark {SESSION} good")).ok();
    place.say(&format!("pin {SESSION}@good --reason kept")).ok();
    place.say(&format!("restore {SESSION}/0@e")).ok();
    made.assistant("i", "h", json!([said("more")]));
    made.user("j", Some("i"), "third");
    made.save(&place);
    assert_eq!(changes(&place), [4, 1]);
    assert_eq!(changes(&place), [0, 0]);
    let last = conversation(&place, &format!("{SESSION}/1"));
    assert_eq!(last[last.len() - 2..], ["more", "third"]);
    let active = conversation(&place, SESSION);
    assert_eq!(active.last().unwrap(), "done", "where somebody went back to");
}

#[test]
fn a_file_that_was_changed_is_a_conflict_that_names_the_line() {
    let place = Place::new();
    let path = rewound().save(&place);
    place.say("import session.jsonl").ok();
    let before = place.json("stats");
    let changed = fs::read_to_string(&path).unwrap().replace("\"on it\"", "\"on that\"");
    fs::write(&path, changed).unwrap();
    let refused = place.say("import session.jsonl");
    refused.failed(4, "line 3 says something else than before");
    assert_eq!(place.json("stats")["events"], before["events"]);
}

#[test]
fn lines_that_replace_others_at_the_end_are_a_branch_and_changed_ones_a_conflict() {
    let place = Place::new();
    let mut made = Made::new();
    made.user("a", None, "first");
    made.assistant("b", "a", json!([said("on it")]));
    let shared = made.clone();
    made.assistant("c", "b", json!([said("this way")]));
    made.save(&place);
    place.say("import session.jsonl").ok();
    let mut changed = shared.clone();
    changed.assistant("d", "b", json!([said("that way")]));
    changed.save(&place);
    place.say("import session.jsonl").ok();
    assert_eq!(changes(&place), [0, 0]);
    let told = conversation(&place, SESSION);
    assert_eq!(told, ["first", "on it", "that way"]);
    let before = place.json("stats");
    let mut changed = shared;
    changed.user("d", Some("b"), "another prompt");
    changed.save(&place);
    let refused = place.say("import session.jsonl");
    refused.failed(4, "session.jsonl:3: it says something else than before");
    assert_eq!(place.json("stats")["events"], before["events"]);
}

#[test]
fn a_cleanup_does_not_keep_a_session_from_growing() {
    for more in ["", " --marks-only"] {
        let place = Place::new();
        let mut made = Made::new();
        let mut last = None;
        for turn in 0..12 {
            let (prompt, answer) = (format!("p{turn}"), format!("a{turn}"));
            made.user(&prompt, last.as_deref(), &format!("prompt {turn}"));
            made.assistant(&answer, &prompt, json!([said("words")]));
            last = Some(answer);
        }
        made.save(&place);
        place.say("import session.jsonl").ok();
        place.say(&format!("cleanup --keep 2{more} --yes")).ok();
        assert_eq!(changes(&place), [0, 0], "cleanup{more}");
        made.user("new", last.as_deref(), "after that");
        made.save(&place);
        assert_eq!(changes(&place), [3, 1], "cleanup{more}");
        let told = conversation(&place, SESSION);
        assert_eq!(told.last().unwrap(), "after that");
        assert_eq!(place.json("verify")["faults"], json!([]));
    }
}

#[test]
fn an_import_that_is_killed_and_done_again_is_as_one() {
    let mut made = Made::new();
    let mut last = None;
    for turn in 0..400 {
        let (prompt, answer) = (format!("p{turn}"), format!("a{turn}"));
        made.user(&prompt, last.as_deref(), &format!("prompt {turn}"));
        made.assistant(&answer, &prompt, json!([said(&"words ".repeat(500))]));
        // Every so often a session returns to an earlier line.
        last = Some(match turn % 50 {
            49 => format!("a{}", turn - 7),
            _ => answer,
        });
    }
    let whole = Place::new();
    made.save(&whole);
    whole.say("import session.jsonl").ok();
    let all = events(&whole);
    let place = Place::new();
    made.save(&place);
    // Killed at whatever it does behind so many lines.
    for lines in [100, 350, 700] {
        let mut child = place
            .command(["record", "session.jsonl", "--ack"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let told = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(told.take(lines).count(), lines);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_ne!(events(&place), all);
    }
    let said = place.run(["import", "session.jsonl"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(events(&place), all);
    assert_eq!(changes(&place), [0, 0]);
    assert_eq!(place.json("verify")["faults"], json!([]));
}

/// A longer session: prompts with answers, some asked otherwise.
fn long() -> Made {
    let mut made = rewound();
    for n in 0..150 {
        let parent = match n {
            0 => "e".to_owned(),
            _ => format!("a{}", if n % 50 == 0 { n - 2 } else { n - 1 }),
        };
        made.user(&format!("u{n}"), Some(&parent), &format!("prompt {n}"));
        made.assistant(&format!("a{n}"), &format!("u{n}"), json!([said(&format!("answer {n}"))]));
    }
    made
}

#[test]
fn programs_that_import_one_session_at_once_and_kills_among_them_give_what_one_import_gives() {
    const PROGRAMS: usize = 3;
    let whole = Place::new();
    let made = long();
    made.save(&whole);
    whole.say("import session.jsonl").ok();
    let all = events(&whole);
    // None is killed, or one of them once it has the store.
    for (round, killed) in [None, Some(0), Some(1), None].into_iter().enumerate() {
        let place = Place::new();
        made.save(&place);
        // A service that has the store runs the imports of all as jobs.
        let serving = (round == 3).then(|| {
            place.say("init").ok();
            Serving::of(&place)
        });
        let start = |_| {
            let mut command = place.command(["import", "session.jsonl"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let mut programs: Vec<_> = (0..PROGRAMS).map(start).collect();
        if let Some(killed) = killed {
            while !place.store().join("journal").exists() {
                std::thread::yield_now();
            }
            programs[killed].kill().unwrap();
        }
        for program in programs {
            let ran = Ran::of(program.wait_with_output().unwrap());
            // A program whose import another one ran, and which has ended before, is told so.
            let is_told = ran.code == 130 && ran.err.contains("run it again");
            assert!(killed.is_some() || ran.code == 0 || is_told, "round {round}: {ran:?}");
        }
        place.say("import session.jsonl").ok();
        assert_eq!(changes(&place), [0, 0], "round {round}");
        assert_eq!(events(&place), all, "round {round}");
        drop(serving);
        place.say("verify").ok();
    }
}
