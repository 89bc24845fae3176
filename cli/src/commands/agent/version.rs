//! The version of an agent's program.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::output::excerpt;

/// Longest wait for the answer.
const LIMIT: Duration = Duration::from_secs(6);

/// Most bytes of the answer.
const ANSWER_MAX: usize = 4096;

/// Columns of a version.
const WIDTH: usize = 40;

/// Asks a program for its version. `None` if it has no answer in time.
pub(super) fn of(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    // Programs below it end with it; and nothing of the current project is read.
    command.arg("--version").process_group(0).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let answer = child.stdout.take().map(|stdout| answer(stdout, LIMIT));
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    version(&answer?)
}

/// Reads an answer to its end, or until the limit.
#[allow(clippy::disallowed_methods, reason = "the wait for another process, not a recorded time")]
fn answer(mut from: impl std::os::fd::AsFd + std::io::Read, limit: Duration) -> Vec<u8> {
    let end = Instant::now() + limit;
    let mut bytes = Vec::new();
    let mut piece = [0; 512];
    while bytes.len() < ANSWER_MAX {
        let left = end.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else { break };
        match poll(&mut [PollFd::new(&from, PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) => continue,
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        match from.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
    bytes
}

/// Returns the first word with a digit and a dot, of the first line that has one.
fn version(answer: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(answer);
    let is_version =
        |word: &&str| word.contains('.') && word.contains(|c: char| c.is_ascii_digit());
    let word = text.split_whitespace().find(is_version)?;
    Some(excerpt(word, WIDTH))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_version_is_found_in_the_answer() {
        let of = |text: &str| version(text.as_bytes());
        assert_eq!(of("2.1.330 (Claude Code)\n").as_deref(), Some("2.1.330"));
        assert_eq!(of("codex-cli 0.169.0\n").as_deref(), Some("0.169.0"));
        assert_eq!(of("no\n"), None);
    }

    #[test]
    fn a_program_that_says_nothing_has_no_version() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent");
        std::fs::write(&path, "#!/bin/sh\necho \"agent 3.1\"\nexec >&-\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(of(&path).as_deref(), Some("3.1"));
        std::fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        assert_eq!(of(&path), None);
        assert_eq!(of(&dir.path().join("gone")), None);
        let (from, _to) = std::io::pipe().unwrap();
        assert_eq!(answer(from, Duration::from_millis(1)), b"");
    }
}
