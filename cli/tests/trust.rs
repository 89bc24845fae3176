//! Hooks that are commands: the user's own run without asking, those of a store once they are
//! trusted.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{Place, Ran, text};

/// Makes a hook that adds its input to a file of this name in the place.
fn scribe(place: &Place, file: &str, on: &[&str]) -> Value {
    let file = place.path(file).display().to_string();
    json!({"on": on, "run": ["sh", "-c", "cat >> \"$0\"", file]})
}

fn put(file: &Path, hooks: &[Value]) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, json!({"hooks": hooks}).to_string()).unwrap();
    fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
}

/// The hooks of the user.
fn own(place: &Place) -> PathBuf {
    place.path("config/milepost/hooks.json")
}

/// Those of the store.
fn stores(place: &Place) -> PathBuf {
    place.store().join("hooks.json")
}

/// The hooks that ran, by the points they ran at.
fn ran(place: &Place, file: &str) -> Vec<String> {
    let text = fs::read_to_string(place.path(file)).unwrap_or_default();
    let of = |line: &str| {
        let document: Value = serde_json::from_str(line).unwrap();
        crate::common::text(&document, "hook").to_owned()
    };
    text.lines().map(of).collect()
}

/// Asserts success with this one line on standard error.
#[track_caller]
fn warned(ran: &Ran, what: &str) {
    assert_eq!((ran.code, ran.err.lines().count()), (0, 1), "{ran:?}");
    assert!(ran.err.contains(what), "{ran:?}");
}

#[test]
fn hooks_of_a_store_run_once_they_are_trusted_and_until_they_change() {
    let place = Place::recorded();
    put(&stores(&place), &[scribe(&place, "got", &["after_checkpoint"])]);
    warned(&place.say("mark run one"), "they are not trusted (`milepost trust --show`");
    assert!(place.say("trust --show").ok().contains("not trusted"));
    warned(&place.say("mark run two"), "not trusted");
    assert_eq!(ran(&place, "got"), [""; 0], "looking at them is no trust");
    let said = place.say("trust --yes").ok();
    assert!(said.contains("after_checkpoint: [\"sh\",\"-c\",\"cat >> "), "{said}");
    assert!(said.contains("they are used from now on"), "{said}");
    place.say("mark run three").ok();
    assert_eq!(ran(&place, "got"), ["after_checkpoint"]);
    put(&stores(&place), &[scribe(&place, "got", &["after_checkpoint", "alert"])]);
    warned(&place.say("mark run four"), "changed since they were trusted");
    assert_eq!(ran(&place, "got").len(), 1, "other bytes are others'");
    place.say("trust --yes").ok();
    place.say("mark run five").ok();
    assert_eq!(ran(&place, "got").len(), 2);
    assert!(place.say("trust --revoke").ok().contains("not used any more"));
    assert!(place.say("trust --revoke").ok().contains("were not trusted"));
    warned(&place.say("mark run six"), "not trusted");
    assert_eq!(ran(&place, "got").len(), 2);
}

#[test]
fn trust_tells_programs_what_would_run() {
    let place = Place::recorded();
    let hook = json!({"on": ["before_restore", "event"], "run": ["/bin/x", "a b"],
        "timeout_ms": 5, "veto": true, "kinds": ["message"]});
    put(&stores(&place), std::slice::from_ref(&hook));
    let shown = place.json("trust --show");
    assert_eq!((&shown["trusted"], &shown["hooks"]), (&json!(false), &json!([hook])));
    assert_eq!(text(&shown, "hash").len(), 64);
    assert_eq!(place.json("trust --yes")["trusted"], true);
    assert_eq!(place.json("trust --show")["trusted"], true);
    let line = "before_restore, event of message: [\"/bin/x\",\"a b\"] (5 ms, may refuse)";
    assert!(place.say("trust --show").ok().contains(line));
    assert_eq!(place.json("trust --revoke")["revoked"], true);
    assert_eq!(place.json("trust --revoke")["revoked"], false);
    assert_eq!(place.say("trust --revoke --show").code, 2);
}

#[test]
fn commands_that_only_look_run_no_hooks_and_warn_of_none() {
    let place = Place::recorded();
    let all = ["before_checkpoint", "after_checkpoint", "event", "alert"];
    put(&stores(&place), &[scribe(&place, "got", &all)]);
    put(&own(&place), &[scribe(&place, "got", &all)]);
    for line in ["tasks", "log run", "state run", "verify", "stats", "checkpoints", "show run@4"] {
        place.say(line).ok();
    }
    assert!(!place.path("got").exists());
}

#[test]
fn hooks_of_the_user_run_wherever_a_store_is_written_to() {
    let place = Place::new();
    let got = |line: &str| {
        let _ = fs::remove_file(place.path("got"));
        place.say(line).ok();
        ran(&place, "got")
    };
    let all = ["before_checkpoint", "after_checkpoint", "before_restore", "after_restore"];
    let mut events = scribe(&place, "got", &["event"]);
    events["kinds"] = json!(["message", "restored"]);
    put(&own(&place), &[scribe(&place, "got", &all), events]);
    let lines = "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"hello\"}\n\
                 {\"kind\":\"step_finished\",\"step\":1}\n";
    place.write("run.jsonl", lines);
    let mut recorded = got("record run.jsonl");
    recorded.sort();
    recorded.dedup();
    assert_eq!(recorded, ["after_checkpoint", "before_checkpoint", "event"]);
    assert_eq!(got("mark run@1 here"), ["before_checkpoint", "after_checkpoint"]);
    let mut restored = got("restore run@here");
    restored.sort();
    assert_eq!(restored, ["after_restore", "before_restore", "event"]);
    assert_eq!(got("undo run"), ["before_restore", "after_restore"]);
    assert_eq!(
        got("mark run/1 there"),
        ["before_checkpoint", "after_checkpoint"],
        "on any lineage"
    );
    fs::create_dir(place.path("old")).unwrap();
    let checkpoint = json!({"id": "ckpt-e1-0", "execution_id": "e1", "step_name": "fetch",
        "step_index": 0, "timestamp": "2024-11-16T10:30:45", "state": {}, "context": {},
        "variables": {"rows": 3}, "status": "success", "error": null, "metadata": {}});
    place.write("old/ckpt-e1-0.json", checkpoint.to_string());
    let imported = got("import old");
    assert_eq!(imported, ["before_checkpoint", "after_checkpoint"]);
}

#[test]
fn a_veto_stops_a_command_and_other_failures_are_said_and_stop_nothing() {
    let place = Place::recorded();
    let mut hook = json!({"on": ["before_checkpoint", "before_restore"],
        "run": ["sh", "-c", "echo not today >&2; exit 1"], "veto": true});
    put(&own(&place), std::slice::from_ref(&hook));
    let before = place.items("checkpoints run");
    place.say("mark run one").failed(1, "a checkpoint was refused by the hook sh: not today");
    place.say("restore run@4").failed(1, "a restore was refused by the hook sh: not today");
    assert_eq!(place.items("checkpoints run"), before);
    hook["veto"] = json!(false);
    put(&own(&place), &[hook]);
    warned(
        &place.say("mark run one"),
        "the hook sh at before_checkpoint failed: ended with exit code 1: not today",
    );
    assert_eq!(place.json("show run@one")["task"], "run");
}

#[test]
fn a_file_that_is_wrong_is_refused_with_the_place_in_it() {
    let place = Place::recorded();
    put(&own(&place), &[json!({"on": ["event"], "run": ["x"], "veto": true})]);
    place.say("mark run one").failed(1, "config/milepost/hooks.json: hooks[0]: `veto`");
    fs::write(own(&place), "{\"hooks\":\n [{\"run\":[1]}]}").unwrap();
    place.say("restore run@4").failed(1, "hooks.json: invalid type: integer `1`");
    place.say("mark run one").failed(1, "line 2 column");
    fs::write(own(&place), vec![b' '; (1 << 20) + 1]).unwrap();
    place.say("undo run").failed(1, "larger than 1048576 bytes");
    place.say("log run").ok();
    fs::remove_file(own(&place)).unwrap();
    fs::write(stores(&place), "{\"hooks\":[{}]}").unwrap();
    place.say("trust").failed(1, "missing field `on` at line 1");
    fs::remove_file(stores(&place)).unwrap();
    assert!(place.say("trust --show").ok().ends_with("trusted\n"));
}

#[test]
fn what_others_can_write_trusts_nothing_and_runs_nothing() {
    let place = Place::recorded();
    put(&stores(&place), &[scribe(&place, "got", &["after_checkpoint"])]);
    place.say("trust --yes").ok();
    let trusted = place.path("data/milepost/trusted.json");
    fs::set_permissions(&trusted, Permissions::from_mode(0o622)).unwrap();
    warned(&place.say("mark run one"), "trusted.json can be written by others");
    assert!(!place.path("got").exists());
    for line in ["trust", "trust --show", "trust --revoke"] {
        place.say(line).failed(1, "trusted.json can be written by others");
    }
    fs::set_permissions(&trusted, Permissions::from_mode(0o600)).unwrap();
    put(&own(&place), &[scribe(&place, "got", &["after_checkpoint"])]);
    fs::set_permissions(own(&place), Permissions::from_mode(0o646)).unwrap();
    place.say("mark run two").failed(1, "hooks.json can be written by others");
    assert!(!place.path("got").exists());
}

#[test]
fn a_hook_that_records_does_not_call_itself() {
    let place = Place::recorded();
    let script = "echo ran >> \"$0\"; echo '{\"kind\":\"message\",\"role\":\"user\",\"content\":\"x\"}' \
                  | \"$1\" --store \"$2\" record --task diary -";
    let words = [place.path("got"), env!("CARGO_BIN_EXE_milepost").into(), place.path("other")];
    let mut run = vec![json!("sh"), json!("-c"), json!(script)];
    run.extend(words.map(|word| json!(word.display().to_string())));
    put(&own(&place), &[json!({"on": ["event"], "run": run})]);
    place.say("mark run one").ok();
    let got = fs::read_to_string(place.path("got")).unwrap();
    assert_eq!(got, "ran\n", "the hook ran once, and what it recorded called none");
    let other = format!("--store {} log diary", place.path("other").display());
    assert!(place.say(&other).ok().contains("user: x"));
}

#[test]
fn the_commands_of_a_store_cannot_steer_the_terminal() {
    let place = Place::recorded();
    put(&stores(&place), &[json!({"on": ["event"], "run": ["x", "\u{1b}[2J\u{202e}\n"]})]);
    let shown = place.say("trust --show").ok();
    assert!(!shown.contains('\x1b') && !shown.contains('\u{202e}'), "{shown}");
    assert_eq!(shown.lines().count(), 7, "{shown}");
}
