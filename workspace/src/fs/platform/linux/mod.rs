//! Calls that only Linux has.

mod locks;
mod reports;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, MemfdFlags, RenameFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_getres};

pub(crate) use locks::{is_locked_by_others, lock_holder};
pub(in crate::fs) use reports::Reports;

use crate::path_range::is_below;

/// `true` if one call syncs a whole file system.
pub(crate) const SYNCS_FILE_SYSTEMS: bool = true;

/// Exchanges two names atomically.
pub(in crate::fs) fn exchange(
    (dir, name): (impl AsFd, &OsStr),
    (to, to_name): (impl AsFd, &OsStr),
) -> Result<(), Errno> {
    rustix::fs::renameat_with(dir, name, to, to_name, RenameFlags::EXCHANGE)
}

/// Moves an entry to a name that must be free.
pub(in crate::fs) fn move_to(
    (dir, name): (impl AsFd, &OsStr),
    (to, to_name): (impl AsFd, &OsStr),
) -> Result<(), Errno> {
    rustix::fs::renameat_with(dir, name, to, to_name, RenameFlags::NOREPLACE)
}

/// Syncs the names and mode bits of a directory to the disk.
#[allow(clippy::disallowed_methods, reason = "on Linux, it reaches the disk")]
pub(in crate::fs) fn sync_directory(dir: impl AsFd) -> Result<(), Errno> {
    rustix::fs::fsync(dir)
}

/// Syncs a whole file system to the disk.
#[allow(clippy::disallowed_methods, reason = "only this system has it")]
pub(in crate::fs) fn sync_file_system(dir: impl AsFd) -> Result<(), Errno> {
    rustix::fs::syncfs(dir)
}

/// Returns `true` if a directory is a mount point; `None` if the kernel does not report it.
pub(in crate::fs) fn is_mount(dir: BorrowedFd<'_>) -> Option<bool> {
    let found = rustix::fs::statx(dir, "", AtFlags::EMPTY_PATH, StatxFlags::empty()).ok()?;
    let mask = found.stx_attributes_mask;
    mask.contains(StatxAttributes::MOUNT_ROOT)
        .then(|| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Creates a file without a name, in memory.
pub(in crate::fs) fn file_in_memory() -> io::Result<File> {
    let file = rustix::fs::memfd_create("milepost-moment", MemfdFlags::CLOEXEC)?;
    Ok(file.into())
}

/// Returns the tick of the clock behind stamps, in nanoseconds.
pub(in crate::fs) fn tick_ns() -> Option<i128> {
    let tick = clock_getres(ClockId::RealtimeCoarse);
    Some(i128::from(tick.tv_sec) * 1_000_000_000 + i128::from(tick.tv_nsec))
}

/// Returns the lines of the list of mounts that are about a folder and those below it. `None` if
/// the system does not list them.
pub(crate) fn mounts_below(folder: &Path) -> Option<Vec<u8>> {
    let mounts = std::fs::read("/proc/self/mountinfo").ok()?;
    let folder = escaped(folder);
    let mut found = Vec::new();
    for line in mounts.split(|byte| *byte == b'\n') {
        let place = line.split(|byte| *byte == b' ').nth(4).unwrap_or_default();
        if is_below(&folder, place) {
            found.extend_from_slice(line);
            found.push(b'\n');
        }
    }
    Some(found)
}

/// Returns a path as the list of mounts shows it: see `proc_pid_mountinfo(5)`.
fn escaped(path: &Path) -> Vec<u8> {
    let mut escaped = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => {
                escaped.extend_from_slice(format!("\\{byte:03o}").as_bytes());
            }
            byte => escaped.push(*byte),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_spaces_is_found_in_the_list_of_mounts() {
        assert_eq!(escaped("/a b\\c\td".as_ref()), br"/a\040b\134c\011d");
    }
}
