//! The function of `linux` by a command of POSIX.

// tidy: one of them

use std::process::{Command, Stdio};

/// Returns the parent of a process, if the system reports it.
pub(crate) fn parent_of(process: u32) -> Option<u32> {
    let mut command = Command::new("ps");
    command.args(["-o", "ppid=", "-p", &process.to_string()]).env("LC_ALL", "C");
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    std::str::from_utf8(&output.stdout).ok()?.trim().parse().ok()
}
