//! The end of an agent's process.

// tidy: one call of the system

use std::os::fd::OwnedFd;

use milepost::internals::threads;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Calls a function once a process has ended. Returns `false` if the process cannot be watched.
pub(crate) fn at_end_of(process: u32, call: impl FnOnce() + Send + 'static) -> bool {
    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return false };
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    threads::start("agent-watch", move || {
        if wait(&pidfd) {
            call();
        }
    })
    .is_ok()
}

/// Waits for the end of a process.
fn wait(pidfd: &OwnedFd) -> bool {
    loop {
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], None) {
            Ok(_) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
