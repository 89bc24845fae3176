//! Calls that differ by system. `linux` has those that only Linux has, `posix` has the same
//! functions with calls of POSIX. `--cfg milepost_portable` selects `posix` on Linux too, so that
//! the tests run with it. docs/PORTABILITY.md lists what each of them does and lacks.

#[cfg(all(target_os = "linux", not(milepost_portable)))]
mod linux;
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
mod posix;

use rustix::fs::{Mode, RawMode, Stat};

#[cfg(all(target_os = "linux", not(milepost_portable)))]
pub(in crate::fs) use linux::{
    Reports, exchange, file_in_memory, is_mount, move_to, sync_directory, sync_file_system, tick_ns,
};
#[cfg(all(target_os = "linux", not(milepost_portable)))]
pub(crate) use linux::{SYNCS_FILE_SYSTEMS, is_locked_by_others, lock_holder, mounts_below};
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
pub(in crate::fs) use posix::{
    Reports, exchange, file_in_memory, is_mount, move_to, sync_directory, sync_file_system, tick_ns,
};
#[cfg(not(all(target_os = "linux", not(milepost_portable))))]
pub(crate) use posix::{SYNCS_FILE_SYSTEMS, is_locked_by_others, lock_holder, mounts_below};

/// A report of the system about a watched folder.
#[allow(dead_code, reason = "a system that cannot watch makes none")]
pub(in crate::fs) struct Report<'a> {
    /// Number that the folder got when it was added; unknown for a report about lost ones.
    pub(in crate::fs) number: i32,
    pub(in crate::fs) kind: ReportKind,
    /// Name of the entry that changed; `None` for the folder itself.
    pub(in crate::fs) name: Option<&'a [u8]>,
}

/// Kind of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "a system that cannot watch makes none")]
pub(in crate::fs) enum ReportKind {
    /// The folder or an entry of it changed.
    Changed,
    /// The folder itself was moved or removed.
    Moved,
    /// The file system of the folder was unmounted.
    Unmounted,
    /// The folder is not watched any more.
    Ended,
}

/// Returns the device of a file.
#[allow(clippy::unnecessary_cast, reason = "the type of the number depends on the system")]
pub(in crate::fs) fn device_of(stat: &Stat) -> u64 {
    stat.st_dev as u64
}

/// Returns kind and mode bits of a file.
#[allow(clippy::unnecessary_cast, reason = "the type of the number depends on the system")]
pub(in crate::fs) fn mode_of(stat: &Stat) -> u32 {
    stat.st_mode as u32
}

/// Returns the number of hard links of a file.
#[allow(clippy::unnecessary_cast, reason = "the type of the number depends on the system")]
pub(in crate::fs) fn links_of(stat: &Stat) -> u64 {
    stat.st_nlink as u64
}

/// Converts mode bits.
#[allow(clippy::unnecessary_cast, reason = "the type of the number depends on the system")]
pub(in crate::fs) fn mode(bits: u32) -> Mode {
    Mode::from_raw_mode(bits as RawMode)
}
