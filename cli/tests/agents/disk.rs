//! The disk: a session leaves the user's repository and project alone, and a store of bounded size.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use milepost_agent_tests::Agent;

use crate::{home, log, of_kind, session};

/// Number of files of the project.
const FILES: usize = 20;

/// Number of calls, each of which changes two files.
const CALLS: usize = 10;

/// Largest store of this session, in bytes on the disk.
const STORE_MAX: u64 = 4 << 20;

/// A session that changes 20 files in 10 calls.
fn leaves_git_alone_and_a_small_store(agent: Agent) {
    let Some(home) = home(agent) else { return };
    for n in 0..FILES {
        home.write(&format!("page{n:02}.txt"), "alpha\n");
    }
    home.git(&["init", "--quiet"]);
    home.git(&["add", "."]);
    home.git(&["commit", "--quiet", "--message", "first"]);
    let status = || {
        let all = ["--porcelain", "--ignored", "--untracked-files=all"];
        home.git(&[&["--no-optional-locks", "status"][..], &all].concat())
    };
    assert_eq!(status(), "");
    let before = home.files(".git");
    home.record_hooks();
    let call = |n: usize| {
        let (one, two) = (n, n + CALLS);
        format!("[[shell sed -i s/alpha/ALPHA/ page{one:02}.txt page{two:02}.txt]] ")
    };
    let prompt: String = (0..CALLS).map(call).collect();
    let mut command = home.command(None, &format!("{prompt}[[say all done]]"));
    // The agent itself asks for the status.
    command.env("GIT_OPTIONAL_LOCKS", "0");
    home.run(command).ok();
    let log = log(&home, &session(&home));
    assert_eq!(of_kind(&log, "tool_called").len(), CALLS);
    let changed: String = (0..FILES).map(|n| format!(" M page{n:02}.txt\n")).collect();
    assert_eq!(status(), changed);
    assert!(home.files(".git") == before, "the repository has the same files, byte for byte");
    let stores = home.stores();
    assert_eq!(stores.len(), 1, "{stores:?}");
    let size = size(&stores[0]);
    assert!(size < STORE_MAX, "{size}");
}

/// Returns the bytes that a folder takes on the disk.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: std::path::PathBuf| match path.symlink_metadata() {
        Ok(there) if there.is_dir() => size(&path),
        Ok(there) => there.blocks() * 512,
        // The daemon removes files.
        Err(_) => 0,
    };
    entries.map(of).sum()
}

#[test]
fn claude_code_leaves_git_alone_and_a_small_store() {
    leaves_git_alone_and_a_small_store(Agent::ClaudeCode);
}

#[test]
fn codex_leaves_git_alone_and_a_small_store() {
    leaves_git_alone_and_a_small_store(Agent::Codex);
}

#[test]
fn gemini_cli_leaves_git_alone_and_a_small_store() {
    leaves_git_alone_and_a_small_store(Agent::GeminiCli);
}
