//! The lock on a folder: an exclusive `flock` on its descriptor, and shared ones on its ancestors.
//! No file is created in the folder, no lock outlives its process, and two stores, two tasks or
//! nested workspaces exclude each other. Any process that can read a folder can hold its lock
//! forever. Therefore only folders of this user are locked, and locks of other users' processes are
//! ignored. So is a lock whose process does not exist: a process of another user may have taken it
//! and ended, and a child holds it.
//!
//! A capture of a folder only reads, so one that is under way in a folder above does not hold up
//! those below. A restore there does: it has its staging in that folder.

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
use crate::fs::{Listed, at_root};

/// Interval between two attempts.
const STEP: Duration = Duration::from_millis(50);

/// Most names of a folder above that are searched for a staging.
const NAMES_MAX: usize = 100_000;

/// Prefix of the staging of a restore, in the root of its folder.
const STAGING: &[u8] = b".milepost-restore-";

/// Use of a folder that a lock is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// The folder is read.
    Capture,
    /// The folder is changed.
    Restore,
}

/// A lock on a folder, released on drop.
#[derive(Debug)]
pub(crate) struct Lock {
    _held: Vec<OwnedFd>,
    /// Folders above that a capture holds, with their times.
    above: Vec<(PathBuf, Listed)>,
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
    pub(crate) fn take(
        folder: &Path,
        store_dir: Option<&Path>,
        wait: Duration,
        purpose: Use,
    ) -> Result<Self> {
        let mut remaining = wait;
        loop {
            let held = match try_lock(folder, store_dir, purpose)? {
                Tried::Locked(lock) => return Ok(lock),
                Tried::Busy(held) => held,
            };
            if remaining.is_zero() {
                return Err(in_use(&held));
            }
            let step = remaining.min(STEP);
            std::thread::sleep(step);
            remaining = remaining.saturating_sub(step);
        }
    }

    /// Checks at the end of a capture that no restore began in a folder above, where another
    /// capture was under way.
    ///
    /// # Errors
    ///
    /// `Unavailable`: one did, so the result may be half restored.
    pub(crate) fn check(&self) -> Result<()> {
        let is_same = |(path, before): &&(PathBuf, Listed)| {
            root_of(path).is_some_and(|now| now.stamp == before.stamp)
        };
        match self.above.iter().find(|above| !is_same(above)) {
            Some((path, _)) => Err(in_use(path)),
            None => Ok(()),
        }
    }
}

fn in_use(held: &Path) -> Error {
    let display = printable(held.as_os_str().as_bytes());
    let owner = holders(held).first().copied();
    let owner = owner.map_or_else(|| "another program".to_owned(), describe_process);
    let message = format!("{display} is in use by {owner}: try again when it is done");
    Error::new(ErrorKind::Unavailable, message)
}

/// Returns the metadata of a folder above that has no staging of a restore.
fn root_of(path: &Path) -> Option<Listed> {
    let dir = at_root(path).ok()?;
    let found = dir.itself().ok()?;
    let names = dir.names(NAMES_MAX).ok()?;
    let is_free = names.len() <= NAMES_MAX && !names.iter().any(|name| name.starts_with(STAGING));
    is_free.then_some(found)
}

fn try_lock(folder: &Path, store_dir: Option<&Path>, purpose: Use) -> Result<Tried> {
    let (mut held, mut free) = (Vec::new(), Vec::new());
    let me = rustix::process::geteuid().as_raw();
    for (nth, path) in folder.ancestors().enumerate() {
        let file = match File::open(path) {
            Ok(file) => file,
            // A missing path needs no lock: captures decide whether it may be missing.
            Err(e) if nth == 0 && e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) if nth == 0 => return Err(error::io("lock", path, &e)),
            // A process that cannot be seen from here has no workspace around this one.
            Err(_) => continue,
        };
        let is_own = file.metadata().is_ok_and(|about| about.uid() == me);
        let by_others = || {
            let holders = holders(path);
            !holders.is_empty() && holders.iter().all(|pid| is_of_other(*pid, me))
        };
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
            Err(Errno::WOULDBLOCK) if !by_others() => {
                let root = root_of(path).filter(|_| nth > 0 && purpose == Use::Capture);
                match root {
                    Some(root) => free.push((path.to_owned(), root)),
                    None => return Ok(Tried::Busy(path.to_owned())),
                }
            }
            Err(_) if nth > 0 => {}
            Err(Errno::INTR) => return Ok(Tried::Busy(path.to_owned())),
            Err(_) => match lock_by_file(&file, path, store_dir)? {
                Some(file) => held.push(file),
                None => return Ok(Tried::Busy(path.to_owned())),
            },
        }
    }
    Ok(Tried::Locked(Lock { _held: held, above: free }))
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

/// Returns the processes that hold the lock of a folder, according to the kernel.
fn holders(folder: &Path) -> Vec<u32> {
    let locks = std::fs::read_to_string("/proc/locks");
    match (locks, std::fs::metadata(folder)) {
        (Ok(locks), Ok(meta)) => holders_in(&locks, meta.dev(), meta.ino()),
        _ => Vec::new(),
    }
}

/// Returns the name and number of a process.
fn describe_process(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    match name.trim() {
        "" => format!("process {pid}"),
        name => format!("{} (process {pid})", printable(name.as_bytes())),
    }
}

/// Returns `true` if a process belongs to another user than this one, or does not exist. The kernel
/// names the process that took a lock; a missing process left it to a child, and may have belonged
/// to any user.
fn is_of_other(pid: u32, me: u32) -> bool {
    std::fs::metadata(format!("/proc/{pid}")).map_or(true, |about| about.uid() != me)
}

/// Finds the holders in lines like `1: FLOCK ADVISORY WRITE 4242 fd:01:131074 0 EOF`. The device
/// can differ from the one in a stamp (btrfs): it decides only if a line has it.
fn holders_in(locks: &str, dev: u64, ino: u64) -> Vec<u32> {
    let (major, minor) = (rustix::fs::major(dev), rustix::fs::minor(dev));
    let found = locks.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let kind = fields.next()?;
        let pid = fields.nth(2)?;
        let mut place = fields.next()?.split(':');
        let mut hex = || u32::from_str_radix(place.next()?, 16).ok();
        let device = (hex()?, hex()?);
        (kind == "FLOCK" && place.next()?.parse() == Ok(ino)).then_some(())?;
        Some((device == (major, minor), pid.parse().ok()?))
    });
    let found: Vec<(bool, u32)> = found.collect();
    let any_here = found.iter().any(|(is_here, _)| *is_here);
    found.into_iter().filter(|(is_here, _)| *is_here || !any_here).map(|(_, pid)| pid).collect()
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
        let lock = Lock::take(&dir.path().join("a"), None, no_wait, Use::Restore).unwrap();
        for folder in [dir.path().join("a"), inner.clone(), dir.path().to_owned()] {
            let error = Lock::take(&folder, None, no_wait, Use::Restore).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            assert!(error.to_string().contains("in use by"), "{error}");
        }
        // A sibling folder has its own lock.
        Lock::take(&dir.path().join("c"), None, no_wait, Use::Restore).unwrap();
        drop(lock);
        Lock::take(&inner, None, no_wait, Use::Restore).unwrap();
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
        Lock::take(&inner, None, Duration::ZERO, Use::Restore).unwrap();
        // As a workspace, the same folder is locked by a file that no other user can open.
        let store_dir = dir.path().join("s");
        if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
            let lock = Lock::take(&around, Some(&store_dir), Duration::ZERO, Use::Restore).unwrap();
            assert!(Lock::take(&around, Some(&store_dir), Duration::ZERO, Use::Restore).is_err());
            drop(lock);
        }
    }

    #[test]
    fn the_holders_are_told_by_inode_and_by_device_where_a_line_has_it() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 fd:01:99 0 EOF\n\
                     2: FLOCK  ADVISORY  READ 4242 fd:01:99 0 EOF\n\
                     2: FLOCK  ADVISORY  READ 4243 fd:01:99 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 9 00:2a:99 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 5 fd:01:99 0 EOF\nno line";
        let dev = |major, minor| rustix::fs::makedev(major, minor);
        assert_eq!(holders_in(locks, dev(0xfd, 1), 99), [4242, 4243]);
        assert_eq!(holders_in(locks, dev(0, 0x2a), 99), [9]);
        assert_eq!(holders_in(locks, dev(7, 7), 99), [4242, 4243, 9]);
        assert!(holders_in(locks, dev(0xfd, 1), 98).is_empty());
    }

    #[test]
    fn a_process_that_is_not_there_counts_as_another_users() {
        let me = rustix::process::geteuid().as_raw();
        assert!(!is_of_other(std::process::id(), me));
        assert!(is_of_other(std::process::id(), me + 1));
        // No process has the highest number.
        assert!(is_of_other(u32::MAX, me));
    }

    #[test]
    fn a_capture_above_holds_up_no_capture_below_and_a_restore_above_does() {
        let dir = tempfile::tempdir().unwrap();
        let (above, inner) = (dir.path().to_owned(), dir.path().join("w"));
        std::fs::create_dir(&inner).unwrap();
        let take = |folder: &Path, purpose| Lock::take(folder, None, Duration::ZERO, purpose);
        let capturing = take(&above, Use::Capture).unwrap();
        take(&inner, Use::Capture).unwrap().check().unwrap();
        assert!(take(&inner, Use::Restore).is_err());
        drop(capturing);
        let restoring = take(&above, Use::Restore).unwrap();
        let begun = take(&inner, Use::Capture).unwrap();
        std::fs::create_dir(above.join(".milepost-restore-00")).unwrap();
        // The restore above began to change the folder after the capture had begun.
        assert!(begun.check().unwrap_err().to_string().contains("in use by"));
        drop(begun);
        assert!(take(&inner, Use::Capture).is_err());
        drop(restoring);
        take(&inner, Use::Capture).unwrap().check().unwrap();
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
