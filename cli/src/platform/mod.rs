//! Calls that differ by system. `--cfg milepost_portable` selects `posix` on Linux too.

// tidy: it chooses, and names the kinds of disks

#[cfg(all(target_os = "linux", not(milepost_portable)))]
mod linux;
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
mod posix;

use std::path::Path;

#[cfg(all(target_os = "linux", not(milepost_portable)))]
use linux as system;
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
use posix as system;

/// Kind of the disk that a folder is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each system tells some of them")]
pub enum Disk {
    /// A file system in memory, by this name.
    Memory(&'static str),
    /// A file system of another machine or of a program, by this name.
    Elsewhere(&'static str),
    Local,
    /// The system does not say it in a portable way.
    Unknown,
}

/// Returns the kind of disk of a folder; `None` if it cannot be looked at.
pub fn disk(folder: &Path) -> Option<Disk> {
    system::disk(folder)
}

/// Returns a test for signals that this process ignores since its start.
pub fn ignored_signals() -> impl Fn(i32) -> bool {
    let mask = system::ignored_signals();
    move |signal| (1..=64).contains(&signal) && mask >> (signal - 1) & 1 == 1
}
