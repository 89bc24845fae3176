//! The first commands in a folder: no store, no task, no options (004, zero configuration).

use std::fs;
use std::path::PathBuf;

use crate::common::{Place, Ran};

/// A project below a home of its own, and a way to run the command in it.
struct Project {
    place: Place,
    data: PathBuf,
}

impl Project {
    fn new() -> Self {
        let place = Place::new();
        fs::create_dir_all(place.path("site/src")).unwrap();
        place.write("site/page.md", "one\n");
        let data = place.path("data");
        Self { place, data }
    }

    fn say(&self, folder: &str, line: &str) -> Ran {
        let mut command =
            self.place.command_of(env!("CARGO_BIN_EXE_milepost"), line.split_whitespace());
        command.current_dir(self.place.path(folder)).env_remove("MILEPOST_STORE");
        command.env("XDG_DATA_HOME", &self.data);
        Ran::of(command.output().unwrap())
    }

    /// Runs a command that succeeds and prints this note.
    #[track_caller]
    fn noted(&self, folder: &str, line: &str, note: &str) -> String {
        let ran = self.say(folder, line);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.err.contains(note), "{ran:?}");
        ran.out
    }
}

#[test]
fn seed_004_capture_run_and_mark_make_the_store_and_a_task_named_after_the_folder() {
    for line in ["capture", "run -- true", "mark begun"] {
        let project = Project::new();
        project.noted("site", line, "started the task `site`");
        assert!(project.place.path("site/.milepost").is_dir(), "{line}");
        // The next ones use both.
        project.noted("site", "capture --label second", "");
        project.say("site", "mark third").ok();
        project.say("site/src", "mark fourth").ok();
        let tasks = project.say("site", "tasks --json").ok();
        assert_eq!(tasks.matches("\"user\"").count(), 1, "{tasks}");
        let checkpoints = project.say("site", "checkpoints").ok();
        for label in ["second", "third", "fourth"] {
            assert!(checkpoints.contains(label), "{checkpoints}");
        }
    }
}

#[test]
fn a_task_that_is_named_and_not_there_is_started_and_a_point_of_one_is_not() {
    let project = Project::new();
    project.noted("site", "capture --task essay", "started the task `essay`");
    project.say("site", "mark novel begun").failed(1, "novel");
    project.say("site", "capture --task essay").ok();
    project.say("site", "mark essay").failed(1, "the label is missing");
}

#[test]
fn seed_004_the_default_list_leaves_out_what_tools_make_again_and_says_so_once() {
    let project = Project::new();
    fs::create_dir_all(project.place.path("site/node_modules/left-pad")).unwrap();
    project.place.write("site/node_modules/left-pad/index.js", "x".repeat(5000));
    project.place.write("site/build.log", "ok");
    let note = "left out by default: 2 paths, 4.9 KiB: node_modules (4.9 KiB), build.log (2 B); \
                `!NAME` in .milepostignore or --no-default-ignores includes them";
    project.noted("site", "capture", note);
    let skips = project.say("site", "files site --skips").ok();
    assert!(skips.contains("default") && skips.contains("node_modules"), "{skips}");
    project.place.write("site/page.md", "two\n");
    let again = project.say("site", "capture");
    assert_eq!(again.err, "", "{again:?}");
    // A restore leaves them as they are.
    project.say("site", "rollback site~1").failed(1, "");
}

#[test]
fn the_default_list_can_be_left_and_one_of_its_names_included() {
    let project = Project::new();
    fs::create_dir_all(project.place.path("site/dist")).unwrap();
    project.place.write("site/dist/app.js", "app");
    project.place.write("site/build.log", "ok");
    project.place.write("site/.milepostignore", "!dist/\n");
    project.noted("site", "capture", "left out by default: 1 path, 2 B: build.log (2 B)");
    assert!(project.say("site", "files site").ok().contains("dist/app.js"));
    project.say("site", "capture --no-default-ignores").ok();
    assert!(project.say("site", "files site").ok().contains("build.log"));
    // A file that was captured once stays in captures.
    project.place.write("site/build.log", "changed");
    project.say("site", "capture").ok();
    assert_eq!(project.say("site", "cat site build.log").ok(), "changed");
}

#[test]
fn seed_004_a_store_outside_of_the_project_is_found_in_it_and_stays_without_it() {
    let project = Project::new();
    let made = project.say("site", "init --outside --json").ok();
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let store = PathBuf::from(made["store"].as_str().unwrap());
    assert!(store.starts_with(&project.data) && store.is_dir(), "{made}");
    project.noted("site", "capture --label kept", "started the task `site`");
    assert!(!project.place.path("site/.milepost").exists());
    project.say("site/src", "cat site page.md").ok();
    project.say("site", "init --outside").ok();
    project.say("site", "init").failed(4, "has a store");
    fs::remove_dir_all(project.place.path("site")).unwrap();
    let line = format!("--store {} cat site@kept page.md", store.display());
    assert_eq!(project.say("", &line).ok(), "one\n");
    // A project of the same name elsewhere has no part in it.
    fs::create_dir_all(project.place.path("other/site")).unwrap();
    project.say("other/site", "tasks").failed(1, "no store");
}

#[test]
fn init_makes_a_store_once_and_refuses_to_make_a_second_one_for_a_project() {
    let project = Project::new();
    assert!(project.say("site", "init").ok().starts_with("made the store"));
    assert!(project.say("site", "init").ok().starts_with("the store is there"));
    project.say("site", "init --outside").failed(4, "has a store");
    project.say("site", "init nowhere").failed(1, "nowhere");
    project.say("site", "init page.md").failed(1, "no folder");
}

#[test]
fn seed_004_run_at_risk_marks_checkpoints_only_where_files_may_be_lost() {
    let project = Project::new();
    let marks = |line: &str| {
        let before = project.say("site", "checkpoints --json").ok().matches("\"id\"").count();
        project.noted("site", line, "exit code 0");
        project.say("site", "checkpoints --json").ok().matches("\"id\"").count() - before
    };
    project.say("site", "init").ok();
    // There is no checkpoint yet.
    assert_eq!(marks("run --when risk -- true"), 2);
    assert_eq!(marks("run --when risk -- true"), 0);
    assert_eq!(marks("run --when risk -- rm page.md"), 2);
    assert_eq!(marks("run --when risk --label asked -- true"), 2);
    assert_eq!(marks("run -- true"), 2);
    let log = project.say("site", "log site --json").ok();
    assert_eq!(log.matches("\"kind\":\"tool_returned\",\"time\"").count(), 5, "{log}");
    let json = project.say("site", "run --when risk --json -- true").ok();
    assert!(json.contains("\"before\":null") && json.contains("\"after\":null"), "{json}");
}
