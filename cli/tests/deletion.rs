//! Permanent removal: `delete`, `erase`, `compact`.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::{Place, Ran, fixture, lists, number, row, text};

#[test]
fn a_deleted_task_is_gone_and_its_name_is_free() {
    let place = Place::recorded();
    let out = place.say("delete run --yes").ok();
    assert!(out.contains("deleted task `run`: 17 events and 3 checkpoints"), "{out}");
    assert!(out.contains("`milepost compact`") && out.contains("MiB of free space"), "{out}");
    place.say("log run").failed(1, "`run`");
    assert!(!place.ids("tasks").contains(&"run".into()));
    let file = fixture("run.jsonl").display().to_string();
    place.run(["record", &file]).ok();
    assert_eq!(place.lines("log run").len(), 17);
    assert_eq!(place.json("verify")["ok"], true);
}

#[test]
fn all_tasks_of_a_user_are_deleted_and_those_of_others_stay() {
    let place = Place::recorded();
    let file = fixture("run.jsonl").display().to_string();
    place.run(["record", "--user", "bob", "--task", "bobs", &file]).ok();
    let done = place.json("delete --user ada --yes");
    assert_eq!(number(&done, "deleted"), 6);
    assert_eq!(done["tasks"].as_array().unwrap().len(), 6);
    assert!(number(&done["total"], "events") > 100 && number(&done, "compaction_needs") > 0);
    assert_eq!(place.ids("tasks"), ["bobs"]);
    place.say("delete --user ada --yes").failed(1, "`ada` has no tasks");
}

#[test]
fn an_agent_removes_nothing_for_good() {
    let place = Place::recorded();
    let refused = |line: &str| {
        let mut command = place.command(line.split(' '));
        let ran = Ran::of(command.env("CLAUDECODE", "1").output().unwrap());
        ran.failed(1, "an agent runs this (CLAUDECODE is set): nothing was done");
    };
    for line in ["delete run --yes", "erase run@3 --yes", "cleanup --keep 1 --yes", "repair"] {
        refused(line);
    }
    let mut plan = place.command("cleanup --keep 1 --dry-run".split(' '));
    Ran::of(plan.env("CLAUDECODE", "1").output().unwrap()).ok();
    assert_eq!(place.lines("log run").len(), 17);
}

#[test]
fn nothing_is_deleted_or_erased_where_nobody_can_be_asked() {
    let place = Place::recorded();
    let before = lists(&place);
    place.say("delete run").failed(1, "Delete task `run` with 17 events and 3 checkpoints");
    place.say("delete --user ada").failed(1, "6 tasks of user `ada`");
    place.say("erase run@4").failed(1, "Erase event run/0@4, message of 20");
    // An answer on a pipe is none.
    let mut command = place.command(["delete", "run"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may be gone before it is answered.
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"y\n");
    Ran::of(child.wait_with_output().unwrap()).failed(1, "--yes");
    assert_eq!(lists(&place), before);
}

#[test]
fn an_erased_event_says_so_and_the_chain_verifies() {
    let place = Place::recorded();
    let before = place.json("show run@4");
    let out = place.run(["erase", "run@4", "--yes", "--reason", "a name was in it"]).ok();
    assert!(out.starts_with("erased: event run/0@4, message of 20"), "{out}");
    let out = place.say("show run@4").ok();
    assert!(out.contains("message\n") && out.contains("the body was erased"), "{out}");
    let after = place.json("show run@4");
    assert_eq!((&after["body"], &after["kind"]), (&Value::Null, &json!("message")));
    assert_eq!(after["hash"], before["hash"]);
    let out = place.say("log run --events").ok();
    assert!(row(&out, " @4").ends_with(&["message", "(erased)"]), "{out}");
    assert!(!place.say("state run --messages all").ok().contains("hello"));
    assert_eq!(place.json("verify --states")["ok"], true);
    assert!(place.say("erase run@4").ok().starts_with("was erased before"));

    let done = place.json("erase run@5 --yes");
    assert_eq!((number(&done, "offset"), text(&done, "kind")), (5, "message"));
    assert_eq!(done["was_erased"], false);
    assert_eq!(place.json("erase run@5")["was_erased"], true);
}

#[test]
fn what_cannot_be_erased_is_said_with_the_reason() {
    let place = Place::recorded();
    place.say("erase run@0 --yes").failed(1, "`lineage_opened`");
    place.say("erase run~1 --yes").failed(1, "`checkpoint_marked`");
    place.say("erase run --yes").failed(1, "head");
    place.say("erase run@99 --yes").failed(1, "17");
    // Lineage 1 begins with a base that was made of it.
    place.say("restore run@13").ok();
    place.say("mark run kept").ok();
    place.say("cleanup --task run --keep 1 --undo 1 --yes").ok();
    let ran = place.say("erase run/0@4 --yes");
    ran.failed(4, "lineage 1");
    assert!(ran.err.contains("milepost delete run"), "{ran:?}");
}

#[test]
fn a_compaction_makes_the_store_smaller() {
    let place = Place::recorded();
    place.say("delete --user ada --yes").ok();
    let planned = place.json("compact --dry-run");
    assert_eq!((&planned["dry_run"], &planned["after"]), (&json!(true), &Value::Null));
    assert!(number(&planned, "needs") > 0 && number(&planned, "free") > 0);
    let done = place.json("compact");
    let total = |part: &str| number(&done[part], "total");
    assert!(total("after") < total("before"), "{done}");
    for part in ["archive", "sled", "packs", "journal"] {
        number(&done["after"], part);
    }
    assert_eq!(number(&done["after"], "packs"), 0);
    assert_eq!(place.json("verify")["ok"], true);
}

#[test]
fn a_compaction_says_what_it_needs_before_and_what_it_gave_after() {
    let place = Place::recorded();
    let out = place.say("compact --dry-run").ok();
    assert!(out.starts_with("the store takes ") && out.contains("of free space"), "{out}");
    assert!(out.ends_with("nothing was changed\n"), "{out}");
    let out = place.say("compact").ok();
    let parts = out.lines().filter(|line| line.contains(" -> "));
    let names: Vec<_> = parts.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["archive", "sled", "packs", "journal", "total"]);
    let last = out.lines().last().unwrap();
    assert!(last.ends_with(" were freed") || last.starts_with("no room was freed"), "{out}");
    assert_eq!(place.lines("log run").len(), 17, "what is live stays");
}

#[test]
fn what_is_let_go_of_is_in_no_file_after_a_compaction() {
    let place = Place::new();
    let line = "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"kumquat-4711\"}\n";
    place.write("secret.jsonl", line);
    place.say("record secret.jsonl").ok();
    place.say("erase secret@1 --yes").ok();
    place.say("compact").ok();
    assert!(!holds(&place.store(), b"kumquat-4711"));
}

#[test]
fn a_title_in_a_summary_is_gone_with_its_event() {
    let place = Place::new();
    let said = "my words are zanzibarish";
    let line = format!("{{\"kind\":\"message\",\"role\":\"user\",\"content\":\"{said}\"}}\n");
    place.write("run.jsonl", line.as_bytes());
    place.say("record --task run run.jsonl").ok();
    assert!(place.say("tasks").ok().contains(said));
    place.say("erase run@1 --yes").ok();
    assert!(!place.say("tasks").ok().contains(said));
    place.say("compact").ok();
    assert!(!holds(&place.store(), b"zanzibarish"));
    assert_eq!(place.items("tasks")[0]["title"], Value::Null);
}

#[test]
fn a_compaction_names_the_files_that_it_did_not_look_into() {
    let place = Place::recorded();
    place.say("verify").ok();
    place.say("bisect start run run@3").ok();
    assert_eq!(place.say("token create --user ana").code, 0);
    assert!(place.store().join("bisect.json").exists());
    assert!(place.store().join("verified.json").exists());
    assert!(place.store().join("server/tokens.json").exists());
    assert_eq!(place.json("compact")["untouched"], json!([]));
    assert!(place.store().join("bisect.json").exists());
    // It has the task's name.
    place.say("delete run --yes").ok();
    assert_eq!(place.json("compact")["untouched"], json!([]));
    assert!(!place.store().join("bisect.json").exists());

    let folder = place.store().join("unrecorded");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("1.jsonl");
    fs::write(&file, "{}").unwrap();
    let name = file.display().to_string();
    assert_eq!(place.json("compact")["untouched"], json!([name]));
    let said = place.say("compact").ok();
    assert!(
        said.ends_with(&format!(
            "{name} was not looked into: remove it where it may hold what is gone\n"
        )),
        "{said}"
    );
}

/// Returns `true` if a file below a folder contains these bytes.
fn holds(dir: &Path, bytes: &[u8]) -> bool {
    fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => holds(&path, bytes),
            false => (fs::read(&path).unwrap().windows(bytes.len())).any(|part| part == bytes),
        }
    })
}
