//! The function of `linux` by signal 0, which asks whether a process is there.

// tidy: one of them

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Returns `true` if a process may still run. That of another user refuses the signal.
pub(crate) fn may_run(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM))
}
