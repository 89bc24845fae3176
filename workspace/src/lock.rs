//! The lock on a folder: an exclusive `flock` on its descriptor, and shared ones on its ancestors.
//! No file is created in the folder, no lock outlives its process, and two stores, two tasks or
//! nested workspaces exclude each other. Any process that can read a folder can hold its lock
//! forever. Therefore only folders of this user are locked, and locks of other users' processes are
//! ignored.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use milepost::{Error, ErrorKind, Result};
use milepost_codec::printable;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::error;

/// Interval between two attempts.
const STEP: Duration = Duration::from_millis(50);

/// A lock on a folder, released on drop.
#[derive(Debug)]
pub(crate) struct Lock {
    _held: Vec<OwnedFd>,
}

enum Tried {
    Locked(Lock),
    /// Another process holds this folder.
    Busy(PathBuf),
}

impl Lock {
    /// Locks a folder. After `wait`, fails with `Unavailable`, which names the holder. If the
    /// folder is another user's or cannot be locked, locks a file in `XDG_RUNTIME_DIR` or the store
    /// instead.
    pub(crate) fn take(folder: &Path, store_dir: Option<&Path>, wait: Duration) -> Result<Self> {
        let mut remaining = wait;
        loop {
            let held = match try_lock(folder, store_dir)? {
                Tried::Locked(lock) => return Ok(lock),
                Tried::Busy(held) => held,
            };
            if remaining.is_zero() {
                let display = printable(held.as_os_str().as_bytes());
                let owner =
                    holder(&held).map_or_else(|| "another program".to_owned(), describe_process);
                let message = format!("{display} is in use by {owner}: try again when it is done");
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
            let step = remaining.min(STEP);
            std::thread::sleep(step);
            remaining = remaining.saturating_sub(step);
        }
    }
}

fn try_lock(folder: &Path, store_dir: Option<&Path>) -> Result<Tried> {
    let mut held = Vec::new();
    let me = rustix::process::geteuid().as_raw();
    for (nth, path) in folder.ancestors().enumerate() {
        let file = match File::open(path) {
            Ok(file) => file,
            // What does not exist needs no lock: captures decide whether it may be gone.
            Err(e) if nth == 0 && e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) if nth == 0 => return Err(error::io("lock", path, &e)),
            // A process that cannot be seen from here has no workspace around this one.
            Err(_) => continue,
        };
        let is_own = file.metadata().is_ok_and(|about| about.uid() == me);
        let by_other = || holder(path).is_some_and(|pid| is_of_other(pid, me));
        let operation = match nth {
            0 if !is_own => match lock_by_file(&file, path, store_dir)? {
                Some(file) => {
                    held.push(file);
                    continue;
                }
                None => return Ok(Tried::Busy(path.to_owned())),
            },
            _ if !is_own => continue,
            0 => FlockOperation::NonBlockingLockExclusive,
            _ => FlockOperation::NonBlockingLockShared,
        };
        match flock(&file, operation) {
            Ok(()) => held.push(file.into()),
            Err(Errno::WOULDBLOCK) if !by_other() => return Ok(Tried::Busy(path.to_owned())),
            Err(_) if nth > 0 => {}
            Err(Errno::INTR) => return Ok(Tried::Busy(path.to_owned())),
            Err(_) => match lock_by_file(&file, path, store_dir)? {
                Some(file) => held.push(file),
                None => return Ok(Tried::Busy(path.to_owned())),
            },
        }
    }
    Ok(Tried::Locked(Lock { _held: held }))
}

/// Locks a file that represents a folder, named by device and inode.
fn lock_by_file(folder: &File, path: &Path, store: Option<&Path>) -> Result<Option<OwnedFd>> {
    let runtime =
        std::env::var_os("XDG_RUNTIME_DIR").map(|dir| PathBuf::from(dir).join("milepost"));
    let Some(dir) = runtime.or_else(|| store.map(Path::to_owned)) else {
        let display = printable(path.as_os_str().as_bytes());
        return Err(Error::new(
            ErrorKind::Unavailable,
            format!("{display} cannot be locked, and there is no XDG_RUNTIME_DIR for a lock file"),
        ));
    };
    let made = std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&dir);
    made.map_err(|e| error::io("create", &dir, &e))?;
    let of = folder.metadata().map_err(|e| error::io("look at", path, &e))?;
    let name = dir.join(format!("{:x}-{:x}.lock", of.dev(), of.ino()));
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&name);
    let file = file.map_err(|e| error::io("open", &name, &e))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file.into())),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
        Err(e) => Err(error::io("lock", &name, &e.into())),
    }
}

/// Returns the process that holds the lock of a folder, according to the kernel.
fn holder(folder: &Path) -> Option<u32> {
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let meta = std::fs::metadata(folder).ok()?;
    holder_in(&locks, meta.ino())
}

/// Returns the name and number of a process.
fn describe_process(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    match name.trim() {
        "" => format!("process {pid}"),
        name => format!("{} (process {pid})", printable(name.as_bytes())),
    }
}

/// Returns `true` if a process belongs to another user than this one.
fn is_of_other(pid: u32, me: u32) -> bool {
    std::fs::metadata(format!("/proc/{pid}")).is_ok_and(|about| about.uid() != me)
}

/// Finds the holder in lines like `1: FLOCK ADVISORY WRITE 4242 fd:01:131074 0 EOF`. The device can
/// differ from the one in a stamp (btrfs), so only the inode is compared.
fn holder_in(locks: &str, ino: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let kind = fields.next()?;
        let pid = fields.nth(2)?;
        let inode = fields.next()?.rsplit(':').next()?;
        (kind == "FLOCK" && inode.parse() == Ok(ino)).then_some(())?;
        pid.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_locked_once_and_so_are_those_within_and_around_it() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(dir.path().join("c")).unwrap();
        let no_wait = Duration::ZERO;
        let lock = Lock::take(&dir.path().join("a"), None, no_wait).unwrap();
        for folder in [dir.path().join("a"), inner.clone(), dir.path().to_owned()] {
            let error = Lock::take(&folder, None, no_wait).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            assert!(error.to_string().contains("in use by"), "{error}");
        }
        // A sibling folder has its own lock.
        Lock::take(&dir.path().join("c"), None, no_wait).unwrap();
        drop(lock);
        Lock::take(&inner, None, no_wait).unwrap();
    }

    #[test]
    fn a_folder_of_another_user_that_is_held_holds_up_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (around, inner) = (dir.path().join("a"), dir.path().join("a/b"));
        std::fs::create_dir_all(&inner).unwrap();
        let nobody = Some(65_534);
        if std::os::unix::fs::chown(&around, nobody, nobody).is_err() {
            eprintln!("not root: no folder can be given to another user");
            return;
        }
        let opened = File::open(&around).unwrap();
        flock(&opened, FlockOperation::NonBlockingLockExclusive).unwrap();
        Lock::take(&inner, None, Duration::ZERO).unwrap();
        // As a workspace, the same folder is locked by a file that no other user can open.
        let store_dir = dir.path().join("s");
        if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
            let lock = Lock::take(&around, Some(&store_dir), Duration::ZERO).unwrap();
            assert!(Lock::take(&around, Some(&store_dir), Duration::ZERO).is_err());
            drop(lock);
        }
    }

    #[test]
    fn the_holder_is_told_by_inode() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 fd:01:99 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 4242 fd:01:99 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 5 fd:01:99 0 EOF\nno line";
        assert_eq!(holder_in(locks, 99), Some(4242));
        assert_eq!(holder_in(locks, 98), None);
    }

    #[test]
    fn a_file_stands_for_a_folder_that_cannot_be_locked() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, store) = (dir.path().join("w"), dir.path().join("s"));
        std::fs::create_dir(&folder).unwrap();
        let opened = File::open(&folder).unwrap();
        // A test must not write to the `XDG_RUNTIME_DIR` of the environment.
        if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
            let lock = lock_by_file(&opened, &folder, Some(&store)).unwrap();
            assert!(lock.is_some());
            assert!(lock_by_file(&opened, &folder, Some(&store)).unwrap().is_none());
            drop(lock);
            assert!(lock_by_file(&opened, &folder, Some(&store)).unwrap().is_some());
        }
    }
}
