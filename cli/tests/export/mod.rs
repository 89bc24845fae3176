//! Tasks as files, from one store into another.

mod redacted;
mod shares;
mod written;

use std::fs;
use std::io::Write;
use std::process::Stdio;

use milepost::events::Message;
use milepost::{Append, Engine, Options};
use serde_json::{Value, json};

use crate::common::{Place, fixture, text};

/// Exports a store, and gives the lines.
#[track_caller]
fn export(place: &Place, line: &str) -> String {
    let ran = place.say(line);
    let is_redacted = line.contains("--redact");
    assert_eq!((ran.code, ran.err.is_empty()), (0, !is_redacted), "{}", ran.err);
    assert!(!is_redacted || ran.err.starts_with("milepost: redacted "), "{}", ran.err);
    ran.out
}

/// A place with an empty folder and a file to import.
fn beside(export: &str) -> Place {
    let place = Place::new();
    place.write("export.jsonl", export);
    place
}

fn lines(export: &str) -> Vec<Value> {
    let line = |line| serde_json::from_str(line).unwrap();
    export.lines().map(line).collect()
}

/// Asserts that nothing of a refused import exists, and that the rest is complete.
#[track_caller]
fn assert_nothing(place: &Place) {
    if place.store().exists() {
        assert_eq!(place.items("tasks"), json!([]));
        assert_eq!(place.json("verify")["faults"], json!([]));
    }
}

#[test]
fn a_store_comes_back_identical() {
    let from = Place::recorded();
    from.say("erase react@3 --yes").ok();
    from.say("mark react@2 second --metadata {\"a\":1.50}").ok();
    from.say("restore react@second").ok();
    from.say("pin react@second --reason kept").ok();
    let file = export(&from, "export");
    let to = beside(&file);
    to.say("import export.jsonl").ok();
    assert_eq!(export(&to, "export"), file);
    assert_eq!(from.items("tasks"), to.items("tasks"));
    assert_eq!(from.lines("log run"), to.lines("log run"));
    for task in from.ids("tasks") {
        let list = format!("checkpoints {task}");
        assert_eq!(from.json(&list), to.json(&list), "{list}");
    }
    assert_eq!(to.json("verify")["faults"], json!([]));
    for list in ["lineages react", "pins react"] {
        assert_eq!(from.json(list), to.json(list), "{list}");
    }
}

#[test]
fn one_task_goes_into_a_file_and_beside_others() {
    let from = Place::recorded();
    let said = from.json("export react -o react.jsonl");
    assert_eq!(said["tasks"], json!(["react"]));
    let file = fs::read_to_string(from.path("react.jsonl")).unwrap();
    assert_eq!(export(&from, "export react"), file);
    assert!(!from.path("react.jsonl.part").exists());
    let to = beside(&file);
    to.run(["record", "--task", "mine", &fixture("run.jsonl").display().to_string()]).ok();
    let said = to.json("import export.jsonl");
    assert_eq!(said["tasks"][0]["id"], "react");
    assert_eq!(said["tasks"][0]["user"], "ada");
    assert_eq!(said["copies"], false);
    assert_eq!(export(&to, "export react"), file);
    assert_eq!(from.lines("log react"), to.lines("log react"));
    assert_eq!(to.json("verify")["faults"], json!([]));
}

#[test]
fn captured_folders_come_along_with_files_only() {
    let from = Place::new();
    fs::create_dir(from.path("work")).unwrap();
    from.write("run.jsonl", "{\"kind\":\"prompt_changed\",\"prompt\":\"go\"}\n");
    from.say("record --task t --user ana run.jsonl").ok();
    from.write("work/small.txt", "a first draft");
    from.write("work/large.bin", vec![7; 3 << 20]);
    from.say("capture work --task t --label one").ok();
    from.write("work/small.txt", "a second draft");
    from.say("capture work --task t --label two").ok();

    from.say("rollback t@one").ok();

    let file = export(&from, "export t --files");
    let to = beside(&file);
    to.say("import export.jsonl").ok();
    assert_eq!(export(&to, "export t --files"), file);
    assert_eq!(to.say("cat t@one small.txt").ok(), "a first draft");
    assert_eq!(to.say("cat t/0@two small.txt").ok(), "a second draft");
    assert_eq!(from.json("files t"), to.json("files t"));
    assert_eq!(to.json("verify")["faults"], json!([]));

    let ran = from.say("export t -o bare.jsonl");
    assert!(ran.err.contains("captured folders without files"), "{ran:?}");
    let bare = fs::read_to_string(from.path("bare.jsonl")).unwrap();
    assert!(bare.len() < 20_000);
    let to = beside(&bare);
    let ran = to.say("import export.jsonl");
    ran.failed(1, "export with files");
    assert_nothing(&to);
    to.say("import export.jsonl --as copy").ok();
    let kinds: Vec<Value> = to.lines("log copy");
    let captured = kinds.iter().filter(|e| e["body"]["name"] == "workspace_captured");
    assert_eq!(captured.count(), 2, "{kinds:?}");
    assert_eq!(to.json("verify")["faults"], json!([]));
}

#[test]
fn a_task_that_is_there_is_refused_or_copied_under_another_name() {
    let place = Place::recorded();
    let file = export(&place, "export react");
    place.write("export.jsonl", &file);
    let before = export(&place, "export");
    place.say("import export.jsonl").failed(4, "this history is there already");
    assert!(place.say("import export.jsonl").err.contains("--as NAME"));
    place.say("import export.jsonl --as run").failed(4, "there is a task `run`");
    assert_eq!(export(&place, "export"), before);

    place.say("import export.jsonl --as again").ok();
    assert_eq!(place.json("verify")["faults"], json!([]));
    let origin = text(&lines(&file)[1], "origin").to_owned();
    let opened = &place.lines("log again")[0]["body"];
    assert_eq!(opened["copied_from"]["origin"], origin, "{opened}");
    let head = &lines(&file)[1]["heads"][1];
    assert_eq!(opened["copied_from"]["hash"], head["hash"]);
    let states = ["state react", "state again"].map(|line| {
        let mut state = place.json(line);
        for place in ["task", "address", "hash", "lineage", "point"] {
            state.as_object_mut().unwrap().remove(place);
        }
        state
    });
    assert_eq!(states[0], states[1]);
    place.write("all.jsonl", before);
    place.say("import all.jsonl --as one").failed(1, "--as names one task");
}

/// Corrects the digest of the lines, so that the reader gets past it.
fn mended(lines: &[&str]) -> String {
    let (end, before) = lines.split_last().unwrap();
    let mut text = before.join("\n");
    text.push('\n');
    let (counts, _) = end.split_once("\"digest\":").unwrap();
    let digest = blake3::hash(text.as_bytes());
    format!("{text}{counts}\"digest\":\"{digest}\"}}\n")
}

#[test]
fn a_hostile_file_is_refused_by_its_line_and_leaves_nothing() {
    let file = export(&Place::recorded(), "export react");
    let all: Vec<&str> = file.lines().collect();
    let last = all.len();
    let without = |n: usize| [&all[..n], &all[n + 1..]].concat();
    let mut swapped = all.clone();
    swapped.swap(5, 6);
    let mut twice = all.clone();
    twice.insert(6, all[5]);
    let with = |n: usize, line: &'static str| {
        let mut all = all.clone();
        all[n] = line;
        mended(&all)
    };
    let changed = |from: &str, to: &str| {
        assert!(file.contains(from), "{from}");
        let changed = file.replacen(from, to, 1);
        mended(&changed.lines().collect::<Vec<_>>())
    };
    let deep = format!(
        "{{\"log\":\"0\",\"at\":\"1\",\"time_us\":\"1\",\"body\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let deep: &'static str = deep.leak();
    let other = changed("\"milepost_export\":1", "\"milepost_export\":3");
    let cases = [
        ("version 3", other, "line 1:"),
        ("no end", all[..last - 1].join("\n") + "\n", "it was cut"),
        ("half a line", file[..file.len() / 2].to_owned(), "it has no end"),
        ("a changed user", file.replacen("\"ada\"", "\"adb\"", 1), "its digest"),
        ("an event less", mended(&without(6)), "comes next"),
        ("the last less", mended(&without(last - 2)), "it counts other lines"),
        ("another order", mended(&swapped), "line 6:"),
        ("an event twice", mended(&twice), "line 7:"),
        ("behind the end", file.clone() + all[1] + "\n", "it comes behind the end"),
        ("another hash", changed("\"hash\":\"", "\"hash\":\"00"), "line 2:"),
        (
            "a huge number",
            with(5, r#"{"log":"0","at":"99999999999999999999","time_us":"1"}"#),
            "line 6:",
        ),
        ("a sign", with(5, r#"{"log":"0","at":"+1","time_us":"1"}"#), "line 6:"),
        ("no log", with(5, r#"{"log":"4294967295","at":"1","time_us":"1"}"#), "line 6:"),
        ("deep", with(5, deep), "line 6:"),
        ("an unknown field", with(5, r#"{"log":"0","at":"1","if":1}"#), "line 6:"),
        ("an unknown line", with(5, r#"{"what":1}"#), "line 6:"),
        ("no line", with(5, "[]"), "line 6:"),
        ("a blank line", with(5, ""), "line 6:"),
        ("more tasks", changed("\"tasks\":\"1\"", "\"tasks\":\"2\""), "there are 2 tasks"),
        ("another time", changed("\"time_us\":\"1", "\"time_us\":\"2"), "its chain hash is"),
    ];
    let place = Place::new();
    for (name, case, why) in cases {
        println!("{name}");
        place.write("export.jsonl", case);
        let ran = place.say("import export.jsonl");
        assert!(ran.code == 3 || ran.code == 1, "{ran:?}");
        ran.failed(ran.code, why);
        assert!(ran.err.contains("line "), "{ran:?}");
        assert_nothing(&place);
    }
    place.write("export.jsonl", "\n");
    place.say("import export.jsonl").failed(1, "not an export");
    place.write("export.jsonl", &file);
    place.say("import export.jsonl").ok();
    assert_eq!(export(&place, "export react"), file);
}

#[test]
fn an_import_that_is_killed_leaves_no_half_task() {
    let from = Place::new();
    let engine = Engine::open(from.store(), Options::default()).unwrap();
    let task = engine.start_task("long", "ana").unwrap();
    for part in 0..8 {
        let said =
            (0..1500).map(|n| Message::text("user", &format!("{part} {n} {}", "x".repeat(400))));
        task.append(Append::batch(said)).unwrap();
    }
    engine.close().unwrap();
    let file = export(&from, "export");
    let to = beside(&file);
    let mut child =
        to.command(["import", "-"]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // The pipe and a buffer hold the end unread: most of the written half was taken.
    let half = &file.as_bytes()[..file.len() / 4 * 3];
    assert!(half.len() > 4 << 20);
    child.stdin.as_mut().unwrap().write_all(half).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(to.store().exists());
    assert_nothing(&to);
    to.say("import export.jsonl").ok();
    assert_eq!(export(&to, "export"), file);
    assert_eq!(to.json("verify")["faults"], json!([]));
}

#[test]
fn a_keyed_store_goes_into_one_with_the_same_key_or_as_a_copy() {
    let keyed = Place::new();
    keyed.say("key key").ok();
    let run = fixture("run.jsonl").display().to_string();
    let with_key = ["--key-file", "key"];
    keyed.run(with_key.into_iter().chain(["record", "--task", "t", &run])).ok();
    let file = keyed.run(with_key.into_iter().chain(["export"])).ok();
    let other = beside(&file);
    other.say("import export.jsonl").failed(1, "another key");
    other.say("import export.jsonl --as copy").ok();
    assert_eq!(other.json("verify")["faults"], json!([]));
    let same = beside(&file);
    fs::copy(keyed.path("key"), same.path("key")).unwrap();
    same.run(with_key.into_iter().chain(["import", "export.jsonl"])).ok();
    assert_eq!(same.run(with_key.into_iter().chain(["export"])).ok(), file);
}

#[test]
fn a_trimmed_task_goes_with_its_files_only() {
    let place = Place::recorded();
    fs::create_dir(place.path("work")).unwrap();
    place.write("work/a.txt", "one");
    place.say("capture --task run work").ok();
    for label in ["a", "b", "c"] {
        place.say(&format!("mark run {label}")).ok();
    }
    place.say("cleanup --keep 1 --yes").ok();
    for line in ["export", "export run -o out.jsonl"] {
        let refused = place.say(line);
        refused.failed(1, "no store could take it without its files");
        refused.failed(1, "--files");
    }
    assert!(!place.path("out.jsonl").exists());
    let file = export(&place, "export --files");
    let to = beside(&file);
    to.say("import export.jsonl").ok();
    assert_eq!(export(&to, "export --files"), file);
}

#[test]
fn a_file_is_whole_and_keeps_what_it_was() {
    let place = Place::recorded();
    let plain = export(&place, "export");
    assert_eq!(export(&place, "export -o -"), plain);
    place.write("old.jsonl", "old");
    std::os::unix::fs::symlink("old.jsonl", place.path("link.jsonl")).unwrap();
    place.say("export -o link.jsonl").ok();
    assert!(place.path("link.jsonl").is_symlink());
    assert_eq!(fs::read_to_string(place.path("old.jsonl")).unwrap(), plain);
    place.say("export -o new.jsonl").ok();
    let mode = fs::metadata(place.path("new.jsonl")).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
    place.say("export -o .").failed(1, "it is no file");
    assert_eq!(parts(&place), [""; 0]);
}

#[test]
fn ctrl_c_leaves_nothing_of_a_file() {
    let place = Place::new();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for _ in 0..40 {
        let said = (0..1000).map(|n| Message::text("user", &format!("hello {n}")));
        task.append(Append::batch(said)).unwrap();
    }
    engine.close().unwrap();
    // It may have ended before: then all of it is there.
    for attempt in 0.. {
        let mut child = place.command(["export", "-o", "out.jsonl"]).spawn().unwrap();
        while parts(&place).is_empty() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let mut kill = std::process::Command::new("kill");
        kill.args(["-INT", &child.id().to_string()]).stderr(Stdio::null());
        kill.status().unwrap();
        let ended = child.wait().unwrap();
        assert_eq!(parts(&place), [""; 0]);
        let interrupted = std::os::unix::process::ExitStatusExt::signal(&ended) == Some(2);
        if interrupted && !place.path("out.jsonl").exists() {
            break;
        }
        assert!(attempt < 20, "it is never interrupted");
        let whole = fs::read_to_string(place.path("out.jsonl")).unwrap();
        assert!(whole.lines().last().unwrap().starts_with("{\"end\""));
        fs::remove_file(place.path("out.jsonl")).unwrap();
    }
}

/// Returns the remains of incomplete files.
fn parts(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path(".")).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let names = entries.map(|entry| name(entry).into_string().unwrap());
    names.filter(|name| name.ends_with(".part")).collect()
}

#[test]
fn an_export_into_a_place_that_cannot_be_written_is_refused() {
    let place = Place::recorded();
    place.say("export -o none/out.jsonl").failed(1, "none/out.jsonl");
    place.say("export nobody").failed(1, "there is no task");
    place.say("import nothing.jsonl").failed(1, "nothing.jsonl");
}
