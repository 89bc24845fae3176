//! Calls that only Linux has.

// tidy: one of them

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Opens a process, to learn of its end. `None`: it is not there.
pub(crate) fn watch(pid: Pid) -> Option<OwnedFd> {
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Waits for the end of a process. Returns `false` if that cannot be known.
pub(crate) fn wait_for_end(process: &OwnedFd) -> bool {
    loop {
        match poll(&mut [PollFd::new(process, PollFlags::IN)], None) {
            Ok(_) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
