//! The store while a command runs, and where something of it cannot be recorded.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use milepost::{Engine, Options};
use serde_json::{Value, json};

use crate::common::{Place, Ran, text};
use crate::run::{MILEPOST, kinds, place, ran, recorded, script};

#[test]
fn a_command_may_use_the_same_store() {
    let place = place();
    let inner = format!("{MILEPOST} mark essay inner && {MILEPOST} run --task essay -- touch new");
    let done = Ran::of(ran(&place, "", &inner));
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.starts_with("marked essay/0@"), "{done:?}");
    assert_eq!(
        kinds(&place),
        [
            "workspace_captured",
            "checkpoint_marked",
            "tool_called",       // before
            "checkpoint_marked", // mark
            "workspace_captured",
            "checkpoint_marked",
            "tool_called",
            "tool_returned",
            "workspace_captured",
            "checkpoint_marked", // run
            "tool_returned",
            "workspace_captured",
            "checkpoint_marked", // after
        ]
    );
    assert_eq!(place.json("state essay")["finished_calls"], 2);
    assert!(done.err.lines().last().unwrap().contains("before essay/0@4"), "{done:?}");
}

#[test]
fn where_the_task_went_elsewhere_the_result_stands_behind_its_call() {
    let place = place();
    place.say("capture work --task essay --label first").ok();
    place.write("work/draft.md", "two\n");
    let inner = format!("{MILEPOST} rollback essay@first --theirs draft.md > /dev/null; exit 4");
    let done = Ran::of(ran(&place, "", &inner));
    assert_eq!(done.code, 125, "{done:?}");
    assert!(done.err.contains("the result is recorded (exit code 4)"), "{done:?}");
    assert!(done.err.contains("lineage 1 the active one"), "{done:?}");
    let old = place.lines("log essay/0");
    assert_eq!(old.last().unwrap()["kind"], "tool_returned");
    assert_eq!(old.last().unwrap()["body"]["output"]["exit"], 4);
    assert_eq!(fs::read(place.path("work/draft.md")).unwrap(), b"one\n");
}

#[test]
fn where_the_capture_after_it_fails_the_result_stays() {
    let place = place();
    let done = Ran::of(ran(&place, "", "echo out; mv ../work ../moved; exit 3"));
    assert_eq!((done.code, done.out.as_str()), (125, "out\n"), "{done:?}");
    assert!(
        done.err
            .contains("error: the result is recorded (exit code 3), and no checkpoint after it: "),
        "{done:?}"
    );
    assert!(done.err.contains("hint: "), "{done:?}");
    let (_, returned) = recorded(&place);
    assert_eq!(returned["output"]["exit"], 3);
    assert_eq!(kinds(&place).last().unwrap(), "tool_returned");
}

/// A command that ended, and whose store is open here.
struct Held {
    child: Child,
    engine: Engine,
}

impl Held {
    fn new(place: &Place, options: &str) -> Self {
        for name in ["begun", "go"] {
            let made = Command::new("mkfifo").arg(place.path(name)).status();
            assert!(made.unwrap().success());
        }
        let text = "echo out; echo x > ../begun; read x < ../go; exit 3";
        let mut command = script(place, options, text);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let mut begun = fs::File::open(place.path("begun")).unwrap();
        begun.read_to_end(&mut Vec::new()).unwrap();
        let engine = Engine::open(place.store(), Options::default()).unwrap();
        let mut go = fs::OpenOptions::new();
        let mut go = go.write(true).open(place.path("go")).unwrap();
        go.write_all(b"go\n").unwrap();
        Self { child, engine }
    }

    /// Waits until it says that it waits.
    fn waits(&mut self) {
        let err = self.child.stderr.as_mut().unwrap();
        let (mut said, mut byte) = (Vec::new(), [0]);
        while !said.ends_with(b"\n") && err.read(&mut byte).unwrap() == 1 {
            said.push(byte[0]);
        }
        let said = String::from_utf8(said).unwrap();
        assert!(said.starts_with("milepost: the store "), "{said}");
        assert!(said.ends_with(": waiting for it, to record the result\n"), "{said}");
    }

    fn ends(self) -> Ran {
        Ran::of(self.child.wait_with_output().unwrap())
    }
}

#[test]
fn where_another_process_has_the_store_it_is_waited_for() {
    let place = place();
    let mut held = Held::new(&place, "--wait 10m");
    held.waits();
    held.engine.clone().close().unwrap();
    let done = held.ends();
    assert_eq!((done.code, done.out.as_str()), (3, "out\n"), "{done:?}");
    assert_eq!(recorded(&place).1["output"]["exit"], 3);
    assert!(!place.store().join("unrecorded").exists());
}

/// Asserts that the run was not recorded, and that the suggested command records it.
#[track_caller]
fn saved(place: &Place, done: &Ran) {
    assert_eq!(done.code, 125, "{done:?}");
    let why = "the command ran (exit code 3), and that is not recorded: the store ";
    assert!(done.err.contains(why), "{done:?}");
    assert_eq!(kinds(place).last().unwrap(), "tool_called");
    let (_, hint) = done.err.split_once("it is saved: `milepost ").unwrap();
    place.say(hint.split_once('`').unwrap().0).ok();
    let (_, returned) = recorded(place);
    assert_eq!(returned["output"]["exit"], 3);
    assert_eq!(returned["output"]["output"], json!([{"stdout": "out\n"}]));
    place.say("verify").ok();
}

#[test]
fn where_the_store_is_not_to_be_had_the_result_is_saved_and_can_be_recorded() {
    let place = place();
    let held = Held::new(&place, "--wait 0s --json");
    let engine = held.engine.clone();
    let done = held.ends();
    engine.close().unwrap();
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&report["recorded"], &report["after"]), (&json!(false), &Value::Null));
    assert!(fs::exists(place.path(text(&report, "saved_to"))).unwrap());
    saved(&place, &done);
}

#[test]
fn an_interrupt_while_it_waits_saves_the_result() {
    let place = place();
    let mut held = Held::new(&place, "--wait 10h");
    held.waits();
    let pid = held.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let engine = held.engine.clone();
    let done = held.ends();
    engine.close().unwrap();
    saved(&place, &done);
}

#[test]
fn a_store_that_the_command_removes_is_not_made_again() {
    let place = place();
    let done = Ran::of(ran(&place, "--wait 0s", "rm -r ../.milepost"));
    assert_eq!(done.code, 125, "{done:?}");
    assert!(done.err.contains("hint: it is not saved either: cannot write "), "{done:?}");
    assert!(!place.store().exists());
}

#[test]
fn a_command_finds_the_store_wherever_it_runs() {
    let place = place();
    let text = "printf %s \"$MILEPOST_STORE\"";
    let done = Ran::of(ran(&place, "--store .milepost", text));
    let store = fs::canonicalize(place.store()).unwrap();
    assert_eq!(done.out, store.display().to_string(), "{done:?}");
}
