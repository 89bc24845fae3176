//! The private index folder of a store opened for reading.

use std::fs;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use milepost_codec::{Error, Result};

use crate::files;

/// The prefix of a locked folder's name.
const NAME: &str = "milepost-look";

/// The prefix of its name before it is locked.
const NEW: &str = "milepost-new";

/// A temporary folder that only its user may enter. It is removed on drop. The next creation
/// removes the folders of killed processes.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Locked while the folder is used.
    _lock: File,
}

impl Folder {
    pub(crate) fn make() -> Result<Self> {
        let tmp = std::env::temp_dir();
        remove_left(&tmp);
        let digits = files::digits()?;
        let (new, path) =
            (tmp.join(format!("{NEW}-{digits}")), tmp.join(format!("{NAME}-{digits}")));
        let failed = |e: std::io::Error| {
            let kind = files::io("create", &path, &e).kind();
            let message = format!(
                "opening a store for reading needs room for its index, and {} cannot be made: {e}; \
                 TMPDIR names another folder",
                path.display()
            );
            Error::new(kind, message)
        };
        DirBuilder::new().mode(0o700).create(&new).map_err(failed)?;
        // The folder is locked before it gets its final name, so an unlocked folder of that name is
        // left over.
        let locked = File::open(&new).and_then(|dir| {
            dir.try_lock()?;
            fs::rename(&new, &path)?;
            Ok(dir)
        });
        match locked {
            Ok(_lock) => Ok(Self { path, _lock }),
            Err(e) => {
                let _left = fs::remove_dir(&new);
                Err(failed(e))
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder, if it still exists.
    pub(crate) fn remove(&self) -> Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(files::io("remove", &self.path, &e))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}

/// Removes folders of this user that no process has locked. A folder that cannot be removed stays.
fn remove_left(tmp: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(tmp).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(NAME);
        let is_own = || {
            let about = entry.metadata();
            about.is_ok_and(|about| about.is_dir() && about.uid() == user)
        };
        if is_named
            && is_own()
            && let Ok(dir) = File::open(entry.path())
            && dir.try_lock().is_ok()
        {
            let _left = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_folder_that_a_killed_process_left_is_removed_and_one_in_use_is_not() {
        let used = Folder::make().unwrap();
        fs::write(used.path().join("index"), "used").unwrap();
        let killed = Folder::make().unwrap();
        fs::write(killed.path().join("index"), "content").unwrap();
        let left = killed.path().with_extension("left");
        fs::rename(killed.path(), &left).unwrap();
        assert!(used.path().exists() && left.exists());
        // The system releases its lock. Its name has changed, so the drop removes nothing.
        drop(killed);
        assert!(left.exists());
        let next = Folder::make().unwrap();
        assert!(!left.exists());
        assert!(used.path().join("index").exists() && next.path().exists());
    }
}
