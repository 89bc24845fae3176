//! Every command of the README is run, so that none of them can be wrong.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The lines of the README's `sh` blocks.
fn commands() -> Vec<String> {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let mut commands = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside => commands.push(line.to_owned()),
            _ => {}
        }
    }
    commands
}

#[test]
fn every_command_of_the_readme_works() {
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_milepost"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut run = 0;
    for command in commands() {
        if command == "cargo test --workspace" {
            // That is what runs this test; CI runs it as it is written here.
            let ci = std::fs::read_to_string(root().join(".ci/run")).unwrap();
            assert!(ci.contains(&command), "CI runs the README's test command");
            continue;
        }
        let command = command.replace("cargo run --release -- ", "milepost ");
        let output = Command::new("sh")
            .args(["-ec", &command])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env_remove("MILEPOST_STORE")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`{command}` failed: {text}");
        run += 1;
    }
    assert!(run >= 10, "the README has its commands in `sh` blocks, found {run}");
}
