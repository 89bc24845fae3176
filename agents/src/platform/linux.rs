//! Calls that only Linux has.

// tidy: one of them

use std::fs;

/// Returns the parent of a process, if the system reports it.
pub(crate) fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // `PID (NAME) STATE PARENT ..`, and the name may have any character.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
