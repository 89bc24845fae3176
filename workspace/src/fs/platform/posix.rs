//! The functions of `linux` with calls of POSIX. Names are not exchanged and folders not watched:
//! callers have another way, which file systems without these calls need on Linux as well.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Report;

/// Number of names tried for a file that gets none.
const TRIES: u32 = 1000;

/// `true` if one call syncs a whole file system. `sync(2)` may return before all is on the disk, so
/// each changed entry is synced.
pub(crate) const SYNCS_FILE_SYSTEMS: bool = false;

/// Refuses to exchange two names: callers move one of them aside.
pub(in crate::fs) fn exchange(_: (impl AsFd, &OsStr), _: (impl AsFd, &OsStr)) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Refuses to move an entry without overwriting: callers link and unlink.
pub(in crate::fs) fn move_to(_: (impl AsFd, &OsStr), _: (impl AsFd, &OsStr)) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Syncs the names and mode bits of a directory to the disk. The standard library asks the disk of
/// a Mac to empty its cache, which `fsync` does not.
pub(in crate::fs) fn sync_directory(dir: impl AsFd) -> Result<(), Errno> {
    let dir = dir.as_fd().try_clone_to_owned().map(File::from);
    let synced = dir.and_then(|dir| dir.sync_all());
    synced.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
}

/// Refuses to sync a whole file system.
pub(in crate::fs) fn sync_file_system(_: impl AsFd) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Returns `None`: mount points are found by the device of the folder alone.
pub(in crate::fs) fn is_mount(_: BorrowedFd<'_>) -> Option<bool> {
    None
}

/// Creates a file without a name in the folder for temporary files.
pub(in crate::fs) fn file_in_memory() -> io::Result<File> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let folder = std::env::temp_dir();
    for _ in 0..TRIES {
        let n = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("milepost-moment-{}-{n}", std::process::id()));
        let mut options = File::options();
        let options = options.read(true).write(true).create_new(true).mode(0o600);
        match options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(&path) {
            Ok(file) => return std::fs::remove_file(&path).map(|()| file),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Returns `None`: the tick of the clock behind stamps is not known.
pub(in crate::fs) fn tick_ns() -> Option<i128> {
    None
}

/// Returns `None`: mounts are not listed.
pub(crate) fn mounts_below(_: &Path) -> Option<Vec<u8>> {
    None
}

/// Returns `None`: the holder of a lock is not known.
pub(crate) fn lock_holder(_: &Path) -> Option<String> {
    None
}

/// Returns `false`: the user of a lock's holder is not known, and may be this one.
pub(crate) fn is_locked_by_others(_: &Path, _: u32) -> bool {
    false
}

/// A queue of reports, of which there is none: no folder is watched, and scans are complete.
#[derive(Debug)]
pub(in crate::fs) enum Reports {}

impl Reports {
    /// Returns `None`: the system reports no changes of whole folders.
    pub(in crate::fs) fn open(_: BorrowedFd<'_>) -> Option<Self> {
        None
    }

    /// Watches a folder.
    pub(in crate::fs) fn add(&self, _: BorrowedFd<'_>) -> Result<i32, Errno> {
        match *self {}
    }

    /// Calls a function with each report.
    pub(in crate::fs) fn read(&self, _: &mut dyn FnMut(&Report<'_>)) -> bool {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_memory_has_no_name_and_each_is_another_one() {
        use std::os::unix::fs::MetadataExt;
        let (one, two) = (file_in_memory().unwrap(), file_in_memory().unwrap());
        let about = |file: &File| file.metadata().unwrap();
        assert_eq!((about(&one).nlink(), about(&two).nlink()), (0, 0));
        assert_ne!(about(&one).ino(), about(&two).ino());
    }
}
