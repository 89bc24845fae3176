//! The lock on a folder: an exclusive `flock` on its descriptor, and shared ones on its ancestors.
//! No file is created in the folder, no lock outlives its process, and two stores, two tasks or
//! nested workspaces exclude each other. Any process that can read a folder can hold its lock
//! forever. Therefore only folders of this user are locked, and locks of other users' processes are
//! ignored. So is a lock whose process does not exist: a process of another user may have taken it
//! and ended, and a child holds it. Systems that do not tell whose a lock is ignore none.
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
use crate::fs::{Listed, at_root, is_locked_by_others, lock_holder};

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
    let owner = lock_holder(held).unwrap_or_else(|| "another program".to_owned());
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
            Err(Errno::WOULDBLOCK) if !is_locked_by_others(path, me) => {
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
