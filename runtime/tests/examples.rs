//! The example of `examples/` runs to its end with its expected output.

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
fn a_run_is_guided_and_stopped() {
    let lines = ["step 1: 1 pieces of guidance", "step 2: 1 pieces of guidance"];
    assert_eq!(printed("guidance").lines().collect::<Vec<_>>(), lines);
}
