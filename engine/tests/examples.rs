//! Each example of `examples/` runs to its end with its expected output.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::env;
use std::process::Command;

/// Runs an example that `cargo test` built, and returns its output.
fn printed(name: &str) -> String {
    let test = env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(built.exists(), "{} is not built: cargo build --examples", built.display());
    let output = Command::new(built).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_loop_restores_a_step_and_undoes_that() {
    let lines = [
        "recorded: lineage 0, offset 13, 3 messages",
        "restored: lineage 1, offset 11, 2 messages",
        "undone: lineage 0, offset 13, 3 messages",
    ];
    assert_eq!(printed("loop").lines().collect::<Vec<_>>(), lines);
}

#[test]
fn a_process_that_died_is_continued_and_its_message_is_there_once() {
    let lines = printed("crash_and_resume");
    assert!(lines.contains("first process: signal: 6"), "{lines}");
    assert!(lines.contains("second process: exit status: 0"), "{lines}");
    for step in 1..=5 {
        assert_eq!(lines.matches(&format!("step {step} is done")).count(), 1, "{lines}");
    }
}

#[test]
fn two_continuations_of_a_point_are_compared() {
    let lines = printed("branch_and_compare");
    assert!(lines.contains("Call me Ishmael."), "{lines}");
    assert!(lines.contains("lineage 2: "), "{lines}");
}

#[test]
fn a_reducer_folds_events_of_the_application() {
    assert_eq!(printed("own_reducer"), "Best { epochs: 3, loss: Some(0.4) }\n");
}
