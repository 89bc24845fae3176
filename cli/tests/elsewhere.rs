//! A store that another program has open: commands say the same words through its socket, and
//! through an address.

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;

use crate::common::{Place, Ran, Serving};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Two places with the same store in them.
fn twins() -> (Place, Place) {
    let (one, other) = (Place::recorded(), Place::new());
    one.say("mark run@4 early --metadata {\"score\":1}").ok();
    copy(&one.store(), &other.store());
    (one, other)
}

const LOOKS: &[&str] = &[
    "tasks --utc",
    "tasks --limit 2 --utc",
    "tasks --user nobody --utc",
    "lineages run",
    "log run --utc",
    "log run -n 3 --utc",
    "log run --reverse --kind message --utc",
    "log run --graph --utc",
    "search hello",
    "search TOOL --kind step_failed --task r*",
    "compare run airline-0 --all",
    "log run --step 1 --full --utc",
    "log run --iteration 0 --kind message --utc",
    "log run --iteration 1 --utc",
    "log run@4 --utc",
    "show run@4",
    "show run@early",
    "state run",
    "state run@early --messages 1",
    "state run --messages none",
    "checkpoints",
    "checkpoints run",
    "checkpoints --limit 3",
    "checkpoints --where score=1",
    "checkpoints run --status failure",
    "diff run@early run",
    "diff run run",
    "blame run /messages/0",
    "blame run /variables --history",
    "pins run",
    "files run",
    "cleanup --dry-run --keep 1",
    "stats --user ada",
    "verify run",
    // Conditions that are not met fail with the same message.
    "show run@99",
    "show run",
    "log nope --utc",
    "state run@nope",
    "lineages nope",
    "show @0123456789",
    "blame run variables",
    "checkpoints nope",
    "pin run@2",
    "resume run",
    "mark run@3 17",
];

/// Runs a line. Its printed commands name the service, and are the same without that.
fn asked(place: &Place, line: &str, more: &[&str]) -> Ran {
    let mut ran = place.run(line.split(' ').chain(more.iter().copied()));
    if let ["--server", url] = more {
        let option = format!("`milepost --server {url} ");
        ran.out = ran.out.replace(&option, "`milepost ");
        ran.err = ran.err.replace(&option, "`milepost ");
    }
    ran
}

fn same(here: &Ran, there: &Ran, line: &str) {
    assert_eq!((here.code, &here.out, &here.err), (there.code, &there.out, &there.err), "{line}");
}

#[test]
fn what_is_looked_at_is_the_same_here_through_the_socket_and_through_an_address() {
    let (one, other) = twins();
    let here = LOOKS.iter().map(|line| {
        let plain = asked(&one, line, &[]);
        (plain, asked(&one, line, &["--json"]))
    });
    let here: Vec<_> = here.collect();
    let serving = Serving::of(&other);
    let elsewhere = Place::new();
    for (line, (plain, json)) in LOOKS.iter().zip(here) {
        same(&plain, &asked(&other, line, &[]), line);
        same(&json, &asked(&other, line, &["--json"]), line);
        let server = ["--server", serving.url.as_str()];
        same(&plain, &asked(&elsewhere, line, &server), line);
    }
}

/// The text without times, and without the ids and hashes that follow from them.
fn timeless(text: &str) -> String {
    let is_time = |word: &str| {
        let bytes = word.as_bytes();
        bytes.len() == "2026-01-01T00:00:00Z".len() && bytes[10] == b'T' && bytes[19] == b'Z'
    };
    let words = text.split([' ', '\n']).map(|word| {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_id = bare.len() >= 12 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        match (is_time(bare), is_id) {
            (true, _) => "TIME",
            (_, true) => "ID",
            _ => word,
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_done_through_the_socket_is_done_as_here() {
    let (one, other) = twins();
    let serving = Serving::of(&other);
    for line in [
        "mark run@6 later",
        "branch react~1 -m other",
        "restore run@early",
        "undo run",
        "undo run",
        "redo run",
        "redo run",
        "undo run",
        "switch react/1",
        "switch react/1",
        "switch react/7",
        "switch react@2",
        "start fresh --user bob",
        "start fresh",
        "pin run@later --reason why",
        "unpin run@later",
        "unpin run@later",
        "pause run -m wait",
        "guide run be brief",
        "edit run a=1 b=text",
        "delete --user nobody --yes",
        "lineages react",
        "erase run@4 --yes",
        "resume run",
        "stop run",
        "stop run",
    ] {
        let (here, there) = (asked(&one, line, &[]), asked(&other, line, &[]));
        assert_eq!(
            (here.code, timeless(&here.out), timeless(&here.err)),
            (there.code, timeless(&there.out), timeless(&there.err)),
            "{line}"
        );
    }
    // The service records more with its events: sizes differ, counts do not.
    for place in [&one, &other] {
        let out = place.say("cleanup --task run --keep 2 --yes").ok();
        assert!(out.contains("4 checkpoints and 6 events are gone"), "{out}");
        let out = place.say("delete tools --yes").ok();
        assert!(out.starts_with("deleted task `tools`: 29 events"), "{out}");
    }
    let kinds = |place: &Place| {
        let events = place.lines("log run");
        let kinds = events.iter().map(|event| event["kind"].to_string());
        kinds.collect::<Vec<_>>()
    };
    assert_eq!(kinds(&one), kinds(&other));
    let state = |place: &Place| place.json("state run")["artifacts"].clone();
    assert_eq!(state(&one), state(&other));
    drop(serving);
    // The events of both processes are there after both have closed the store.
    assert_eq!(kinds(&one), kinds(&other));
}

#[test]
fn seed_001_an_iteration_is_followed_also_after_a_restore_into_it() {
    let place = Place::new();
    let phase = |iteration: u64| {
        let phase = "\"phase\":\"draft\"";
        format!("{{\"kind\":\"phase_changed\",{phase},\"iteration\":{iteration}}}\n")
    };
    place.write("a.jsonl", phase(1) + &phase(2));
    place.say("record a.jsonl").ok();
    let serving = Serving::of(&place);
    let mut following = place.command(["log", "a", "--follow", "--iteration", "1", "--json"]);
    let mut following = following.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next =
        || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let first = next();
    assert_eq!((&first["offset"], &first["body"]["iteration"]), (&1.into(), &1.into()));
    // The head is in iteration 2, the point is in iteration 1.
    place.say("guide a two").ok();
    place.say("restore a@2").ok();
    place.say("guide a one").ok();
    assert_eq!(next()["moved"]["to"], 1);
    loop {
        let event = next();
        assert_eq!(event["lineage"], 1, "{event}");
        if event["body"]["text"] == "one" {
            break;
        }
    }
    drop(serving);
    following.kill().unwrap();
    following.wait().unwrap();
}

#[test]
fn what_needs_the_store_itself_says_who_has_it() {
    let (_, place) = twins();
    let serving = Serving::of(&place);
    let server = ["--server", serving.url.as_str()];
    let ran = asked(&Place::new(), "bisect run --when /message_count>=2", &server);
    ran.failed(1, "a service cannot do it");
    assert!(ran.err.contains(&serving.url), "{ran:?}");
}

#[test]
fn commands_that_only_read_open_a_store_for_reading_that_another_program_has_open() {
    let (_, place) = twins();
    let lines = ["bisect run --good run@1 --when /message_count>=2", "export run"];
    let before = lines.map(|line| asked(&place, line, &[]).ok());
    let serving = Serving::of(&place);
    for (line, before) in lines.iter().zip(before) {
        let ran = asked(&place, line, &[]);
        assert_eq!((ran.code, &ran.out), (0, &before), "{line}");
        assert!(ran.err.contains("server/socket") && ran.err.contains("read-only"), "{ran:?}");
    }
    drop(serving);
}

#[test]
fn a_store_whose_path_is_too_long_for_a_socket_is_reached_all_the_same() {
    let place = Place::recorded();
    let deep = "d".repeat(120);
    fs::create_dir(place.path(&deep)).unwrap();
    fs::rename(place.store(), place.path(&deep).join(".milepost")).unwrap();
    let folder = place.path(&deep);
    let mut serve = place.command(["serve", "--listen", "127.0.0.1:0"]);
    let mut child =
        serve.current_dir(&folder).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let tasks = place.command(["tasks"]).current_dir(&folder).output();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(Ran::of(tasks.unwrap()).ok().contains("history_only"));
}

#[test]
fn a_store_that_nobody_has_open_cannot_be_followed() {
    let place = Place::recorded();
    place.say("log run --follow -n 2").failed(1, "no program has the store open");
    place.say("restore run@4").ok();
    let ran = place.say("log run/0 --follow");
    ran.failed(2, "run/0@17");
}

#[test]
fn where_nobody_answers_it_says_so() {
    let place = Place::new();
    let ran = asked(&place, "tasks --utc", &["--server", "http://127.0.0.1:1"]);
    ran.failed(1, "127.0.0.1:1");
    let ran = asked(&place, "tasks --utc", &["--server", "nonsense"]);
    ran.failed(1, "nonsense");
    let both = asked(&place, "tasks --utc", &["--server", "http://127.0.0.1:1", "--store", "s"]);
    assert_eq!(both.code, 2, "{both:?}");
}

#[test]
fn a_run_that_is_recorded_from_a_pipe_is_watched_and_steered_meanwhile() {
    let place = Place::new();
    let mut child = place
        .command(["record", "--task", "live", "--ack", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut acks = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut say = |text: &str| {
        let event = serde_json::json!({"kind": "message", "role": "user", "content": text});
        writeln!(stdin, "{event}").unwrap();
        acks.next().unwrap().unwrap()
    };
    assert!(say("one").contains("offset"));
    let out = place.say("log live --grep one").ok();
    assert!(out.contains("user: one"), "{out}");
    place.say("guide live be brief").ok();
    say("two");
    let kinds: Vec<_> = place.lines("log live --kind message --kind guidance_given");
    let kinds: Vec<_> = kinds.iter().map(|event| event["kind"].clone()).collect();
    assert_eq!(kinds, ["message", "guidance_given", "message"]);
    // A follower receives the existing events, then the new ones, also after a restore.
    let mut following = place.command(["log", "live", "--follow", "-n", "1", "--json"]);
    let mut following = following.stdout(Stdio::piped()).spawn().unwrap();
    let mut came = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next =
        || -> serde_json::Value { serde_json::from_str(&came.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["body"]["content"], "two");
    say("three");
    assert_eq!(next()["body"]["content"], "three");
    place.say("guide live once more").ok();
    assert_eq!(next()["kind"], "guidance_given");
    following.kill().unwrap();
    following.wait().unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(place.lines("log live --kind guidance_given").len(), 2);
}
