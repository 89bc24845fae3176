//! `milepost agent hook`: whatever an agent does, it exits with 0, and the document is in the spool
//! if no daemon can record it. No folder for a store can be made in these tests.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::Place;

const DOCUMENT: &str = "{\"session_id\": \"s-1\", \"hook_event_name\": \"Stop\"}";

fn hook(place: &Place, line: &str) -> Command {
    let mut command = place.command(line.split(' '));
    command.env("XDG_STATE_HOME", place.path("state")).env("SECRET_TOKEN", "hunter2");
    command.env("XDG_DATA_HOME", "/dev/null/data");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a hook with a document, and returns its output.
#[track_caller]
fn told(mut command: Command, document: &[u8]) -> String {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // The hook may end before it has read all.
    let _ = child.stdin.take().unwrap().write_all(document);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn spool(place: &Place) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place.path("state/milepost/spool")) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some()).collect();
    paths.sort();
    paths
}

fn entries(place: &Place) -> Vec<Value> {
    let read = |path: PathBuf| serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    spool(place).into_iter().map(read).collect()
}

#[test]
fn a_document_waits_in_the_spool_with_no_secret_beside_it() {
    let place = Place::new();
    let mut command = hook(&place, "agent hook claude-code");
    command.env("CLAUDE_PROJECT_DIR", "/srv/shop");
    assert_eq!(told(command, DOCUMENT.as_bytes()), "");
    assert_eq!(told(hook(&place, "agent hook gemini-cli"), b"{}"), "{}\n");
    let entries = entries(&place);
    assert_eq!(entries[0]["payload"], DOCUMENT);
    assert_eq!(entries[0]["agent"], "claude-code");
    assert_eq!(entries[0]["env"]["CLAUDE_PROJECT_DIR"], "/srv/shop");
    assert_eq!(entries[1]["agent"], "gemini-cli");
    assert_eq!(entries[0]["parents"][0], std::process::id());
    let here = fs::canonicalize(place.dir.path()).unwrap();
    assert_eq!(entries[0]["project"], "/srv/shop");
    assert_eq!(entries[1]["project"], here.to_str().unwrap());
    let text = fs::read_to_string(&spool(&place)[0]).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(place.path("state/milepost/spool")), 0o700);
    assert_eq!(mode(spool(&place)[0].clone()), 0o600);
}

#[test]
fn no_argument_and_no_document_makes_it_fail() {
    let place = Place::new();
    for line in [
        "agent hook",
        "agent hook codex --old-option 7",
        "agent hook --help",
        "agent hook codex --json --store /nowhere",
        "agent hook ../../x",
    ] {
        assert_eq!(told(hook(&place, line), b"{\"a\": "), "", "{line}");
    }
    assert_eq!(entries(&place).len(), 5);
    for garbage in [&b""[..], b"\xff\x00\xfe", b"]]]]", b"null"] {
        told(hook(&place, "agent hook codex"), garbage);
    }
    // Nothing is no document.
    assert_eq!(entries(&place).len(), 8);
    // A damaged configuration of the user's, and a shell that asks for completions.
    let mut command = hook(&place, "agent hook codex");
    command.env("MILEPOST_USER_CONFIG", place.write("config.toml", "[[["));
    told(command, b"{}");
    let mut command = hook(&place, "agent hook codex");
    command.env("COMPLETE", "bash");
    told(command, b"{}");
    assert_eq!(entries(&place).len(), 10);
}

#[test]
fn closed_pipes_and_missing_folders_are_no_failure() {
    let place = Place::new();
    let shell = |script: &str| {
        let mut command = place.command_of("sh", ["-c", script]);
        command.env("MILEPOST", env!("CARGO_BIN_EXE_milepost"));
        command.env("XDG_STATE_HOME", place.path("state"));
        command.env("XDG_DATA_HOME", "/dev/null/data");
        command.env("HOME", place.path("nowhere"));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{script}: {output:?}");
        assert!(output.stderr.is_empty(), "{script}: {output:?}");
    };
    shell("echo '{}' | $MILEPOST agent hook gemini-cli >&-");
    shell("echo '{}' | $MILEPOST agent hook gemini-cli >/dev/full");
    shell("$MILEPOST agent hook codex <&-");
    shell("$MILEPOST agent hook codex <&- >&- 2>&-");
    shell("mkdir gone; cd gone; rmdir ../gone; echo '{}' | $MILEPOST agent hook codex");
    assert_eq!(entries(&place).len(), 3);
    // A folder that a call removed is still the project.
    assert!(entries(&place)[2]["project"].as_str().unwrap().ends_with("/gone"));
    shell("unset XDG_STATE_HOME HOME; echo '{}' | $MILEPOST agent hook codex");
    shell("touch f; echo '{}' | XDG_STATE_HOME=$PWD/f $MILEPOST agent hook codex");
    assert_eq!(entries(&place).len(), 3);
}

#[test]
fn an_input_without_an_end_is_cut_and_kept() {
    let place = Place::new();
    let mut child = hook(&place, "agent hook gemini-cli").stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"session_id\":").unwrap();
    // The pipe stays open: the end of the output is that of the process.
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), "{}\n"));
    drop(stdin);
    let entries = entries(&place);
    assert_eq!(entries[0]["payload"], "{\"session_id\":");
    assert_eq!(entries[0]["is_cut"], true);
}

#[test]
fn of_an_input_that_is_too_large_the_beginning_is_kept() {
    let place = Place::new();
    let large = [DOCUMENT.as_bytes(), &vec![b' '; 65 << 20]].concat();
    told(hook(&place, "agent hook codex"), &large);
    let entries = entries(&place);
    assert_eq!(entries[0]["is_cut"], true);
    let payload = entries[0]["payload"].as_str().unwrap();
    assert!(payload.starts_with(DOCUMENT) && payload.len() <= 64 << 10);
}

#[test]
fn a_full_disk_is_no_failure_and_leaves_no_part_of_a_document() {
    let place = Place::new();
    let folder = place.path("state/milepost/spool");
    // A file may not grow beyond 4 blocks of 512 bytes: the system would end the process.
    let script = "ulimit -f 4; exec \"$MILEPOST\" agent hook codex";
    let mut command = hook(&place, "");
    command = {
        let mut shell = place.command_of("sh", ["-c", script]);
        shell.env("XDG_STATE_HOME", place.path("state"));
        shell.env("XDG_DATA_HOME", "/dev/null/data");
        shell.env("MILEPOST", env!("CARGO_BIN_EXE_milepost"));
        shell.stdout(Stdio::piped()).stderr(Stdio::piped());
        drop(command);
        shell
    };
    let document = format!("{{\"a\": \"{}\"}}", "x".repeat(10_000));
    assert_eq!(told(command, document.as_bytes()), "");
    assert_eq!(spool(&place).len(), 0);
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["dropped"], "{left:?}");
    assert_eq!(fs::read(folder.join("dropped")).unwrap(), b".");
    told(hook(&place, "agent hook codex"), DOCUMENT.as_bytes());
    assert_eq!(entries(&place).len(), 1);
}
