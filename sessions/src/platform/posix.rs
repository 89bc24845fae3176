//! The functions of `linux` by signal 0, which asks whether a process is there.

// tidy: one of them

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Time between two questions.
const STEP: Duration = Duration::from_millis(100);

/// Returns a process that is there, to learn of its end. `None`: it is not there.
pub(crate) fn watch(pid: Pid) -> Option<Pid> {
    is_there(pid).then_some(pid)
}

/// Waits until a process is gone: it ended, and its parent knows. Returns `true`. If another
/// process gets its number within a step, waits for that one as well.
pub(crate) fn wait_for_end(process: &Pid) -> bool {
    while is_there(*process) {
        std::thread::sleep(STEP);
    }
    true
}

/// Returns `true` if a process is there. That of another user refuses the signal.
fn is_there(pid: Pid) -> bool {
    matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM))
}
