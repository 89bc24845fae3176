//! Lines that are nearly mistakes, and have an answer.

use std::fs;

use super::place;
use crate::common::Place;

#[test]
fn a_dash_and_a_number_are_a_count_as_in_git() {
    let place = place();
    for (short, long) in [
        ("log run -3 --utc", "log run -n 3 --utc"),
        ("log -3 run --events", "log run --events -n 3"),
        ("search e -2", "search e -n 2"),
        ("checkpoints run -1", "checkpoints run --limit 1"),
        ("tasks -2 --utc", "tasks -n 2 --utc"),
    ] {
        let [short, long] = [short, long].map(|line| place.say(line));
        assert_eq!((short.code, &short.out), (0, &long.out), "{short:?}");
        assert!(!short.out.is_empty());
    }
    let events = place.run(["log", "run", "--events", "-3"]).ok();
    assert_eq!(events.lines().count(), 3, "{events}");
}

#[test]
fn json_is_found_with_other_white_space_and_nothing_found_is_noted() {
    let place = place();
    for text in ["\"Q\": \"milestones\"", "\"q\":\"milestones\"", "{ \"q\" : \"mile"] {
        let found = place.run(["log", "run", "--grep", text]).ok();
        assert_eq!(found.lines().count(), 1, "{text}: {found}");
        let found = place.run(["search", text, "--task", "run"]).ok();
        assert!(found.starts_with("run/0@9"), "{text}: {found}");
    }
    let none = place.run(["log", "run", "--grep", "\"q\": \" milestones\""]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert_eq!(none.err, "milepost: nothing found in 18 events\n");
    for line in ["log run --grep zzz --json", "log run -n 0 --grep zzz"] {
        assert_eq!(place.say(line).ok(), "", "{line}");
    }
}

#[test]
fn a_pointer_that_was_never_there_is_answered_with_a_near_one() {
    let place = place();
    let blamed = place.say("blame run /variables/bst");
    assert_eq!((blamed.code, blamed.out.contains("never there")), (0, true), "{blamed:?}");
    assert_eq!(blamed.err, "milepost: did you mean `/variables/best`?\n");
}

#[test]
fn a_diff_names_changed_files_and_prints_all_of_a_change_on_demand() {
    let place = place();
    fs::write(place.path("site/b.txt"), "two\n").unwrap();
    fs::write(place.path("site/a.txt"), "more\n").unwrap();
    place.say("capture site --task airline-7").ok();
    let out = place.say("diff airline-7@base airline-7").ok();
    let line = "2 captured files differ: `milepost diff airline-7@base airline-7 --files` prints";
    assert!(out.contains(line), "{out}");
    assert!(!place.say("diff run@7 run").ok().contains("captured"));

    let brief = place.say("diff airline-0/1 airline-0/2").ok();
    let full = place.say("diff airline-0/1 airline-0/2 --full").ok();
    let positions = |text: &str| text.lines().filter(|line| line.contains("/offset: ")).count();
    assert_eq!(positions(&brief), 0, "{brief}");
    assert!(positions(&full) > 0, "{full}");
    let left_out = full.lines().count() - (brief.lines().count() - 1);
    assert!(brief.contains(&format!("({left_out} changed position")), "{left_out}: {brief}");
    assert!(brief.contains('…') && !full.contains('…'), "{full}");
}

#[test]
fn a_demo_takes_the_key_and_says_how_to_remove_what_it_leaves() {
    let place = Place::new();
    place.say("key k").ok();
    // The end of the journal, cut off by the kill, may be a finding.
    let ran = place.say("--key-file k --store keyed demo");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.out.contains("rm -r"), "a store that was named is kept: {ran:?}");
    place.say("--store keyed tasks").failed(1, "has a key");
    place.say("--store keyed --key-file k tasks").ok();
    let mut command = place.command(["demo"]);
    let out = command.env("TMPDIR", place.dir.path()).output().unwrap();
    let out = String::from_utf8(out.stdout).unwrap();
    let (_, store) = out.split_once("`rm -r ").unwrap_or_else(|| panic!("{out}"));
    let store = store.split('`').next().unwrap();
    assert!(store.starts_with(&place.path("milepost-demo-").display().to_string()), "{store}");
    assert!(fs::metadata(store).unwrap().is_dir());
}

#[test]
fn options_of_other_commands_have_the_same_meaning_here() {
    let place = place();
    for (other, own) in [
        ("log run --limit 3 --utc", "log run --last 3 --utc"),
        ("search e --limit 2", "search e --last 2"),
        ("tasks --last 2 --utc", "tasks --limit 2 --utc"),
        ("checkpoints run --last 1", "checkpoints run --limit 1"),
        ("rollback airline-7 --dir site --dry-run", "rollback airline-7 --files site --dry-run"),
    ] {
        let [other, own] = [other, own].map(|line| place.say(line));
        assert_eq!((other.code, &other.out), (0, &own.out), "{other:?}");
    }
    place.say("run --task made --files site -- true");
    assert_eq!(place.items("tasks made")[0]["id"], "made");
    place.say("branch run@7 --message why").ok();
    assert!(place.say("lineages run").ok().contains("why"));
}

#[test]
fn an_id_is_listed_as_an_address_has_it() {
    let place = Place::new();
    place.run(["start", "a/b"]).ok();
    place.run(["start", "x@y z"]).ok();
    let listed = place.say("tasks").ok();
    for name in ["a%2Fb", "x%40y%20z"] {
        assert!(listed.contains(name), "{listed}");
        place.say(&format!("log {name} --events")).ok();
    }
    place.run(["log", "a/b"]).failed(1, "a lineage is a number");
    assert!(place.run(["log", "a/b"]).err.contains("`a%2Fb`"));
    assert!(place.run(["log", "x@y z"]).err.contains("`x%40y%20z`"));
}
