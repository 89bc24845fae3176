//! The private folder of the index of a store that is opened for reading.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use milepost_codec::{Error, Result};

use crate::files;

/// The beginning of its name.
const NAME: &str = "milepost-look";

/// A folder in the one for temporary files, which its user alone may enter. It is removed when this
/// is dropped; a process that is killed leaves it.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn make() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("{NAME}-{}", files::digits()?));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|e| {
            let kind = files::io("create", &path, &e).kind();
            let message = format!(
                "opening a store for reading needs room for its index, and {} cannot be made: {e}; \
                 TMPDIR names another folder",
                path.display()
            );
            Error::new(kind, message)
        })?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes it; nothing where that was done before.
    pub(super) fn remove(&self) -> Result<()> {
        match fs::remove_dir_all(&self.0) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(files::io("remove", &self.0, &e))
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
