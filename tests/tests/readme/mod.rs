//! The programs of the README: killed at any moment and started again, they work as described.
//!
//! The test starts its own binary as the process that is killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use milepost::events::RunControl;
use milepost::{Body, Engine, Options, Task};
use milepost_tests::faults::{nightly, spawn, temp_dir};
use milepost_tests::seed::{Random, seed};

/// The variable with the name of the program that the child is.
const PROGRAM: &str = "MILEPOST_TEST_README_PROGRAM";

mod drive {
    include!("drive.rs");

    pub fn run() {
        main().unwrap();
    }
}

mod embed {
    include!("embed.rs");

    pub fn run() {
        main().unwrap();
    }
}

/// The child: does nothing unless it is given a name.
#[test]
fn child_that_is_a_program_of_the_readme() {
    match std::env::var(PROGRAM).as_deref() {
        Ok("drive") => drive::run(),
        Ok("embed") => embed::run(),
        _ => {}
    }
}

fn start(program: &str, dir: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "readme::child_that_is_a_program_of_the_readme",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(PROGRAM, program)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    spawn(&mut command)
}

/// Starts a program again and again, and kills it after some of its lines. It ends well at last.
fn killed(program: &str, dir: &Path) {
    let mut random = Random::new(seed());
    for _ in 0..if nightly() { 100 } else { 20 } {
        let mut child = start(program, dir);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Two lines come from the test runner.
        lines.take(random.below(7) as usize).for_each(|line| drop(line.unwrap()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(start(program, dir).wait_with_output().unwrap().status.success());
}

fn opened(dir: &Path) -> (Engine, Task) {
    let engine = Engine::open(dir.join(".milepost"), Options::default()).unwrap();
    let task = engine.task("essay").unwrap();
    (engine, task)
}

#[test]
fn the_readme_has_the_programs_that_are_tested() {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md"))
            .unwrap();
    for program in [include_str!("drive.rs"), include_str!("embed.rs")] {
        assert!(readme.contains(program), "not in README.md:\n{program}");
    }
}

#[test]
fn the_run_of_the_readme_continues_after_each_kill() {
    let dir = temp_dir();
    killed("drive", dir.path());
    let (engine, task) = opened(dir.path());
    assert_eq!(task.control().now().unwrap(), RunControl::Idle);
    let bodies: Vec<Body> =
        task.read(..).unwrap().filter_map(|event| event.unwrap().body).collect();
    let finished: Vec<u64> = bodies
        .iter()
        .filter_map(|body| match body {
            Body::StepFinished(finished) => Some(finished.step),
            _ => None,
        })
        .collect();
    assert!(finished.len() >= 3);
    assert_eq!(
        finished,
        (1..=finished.len() as u64).collect::<Vec<_>>(),
        "each step once, in order"
    );
    let drafts = bodies.iter().filter(|body| matches!(body, Body::Application(_))).count();
    assert_eq!(drafts, finished.len(), "a draft a step");
    engine.close().unwrap();
}

#[test]
fn the_first_program_of_the_readme_runs_a_second_time() {
    let dir = temp_dir();
    killed("embed", dir.path());
    let (engine, task) = opened(dir.path());
    let mut messages = task.messages().unwrap();
    assert!(messages.all(|message| message.is_ok()));
    engine.close().unwrap();
}
