//! The state of a store opened for reading: the files that its index was built from.

use std::fs;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use milepost_codec::{Detail, Error, ErrorKind, Result};

use crate::local::look::folder::Folder;

/// A store opened for reading.
#[derive(Debug)]
pub(crate) struct Look {
    pub(super) root: PathBuf,
    /// The files that the index was built from, and the packs.
    pub(super) stamps: Vec<Stamp>,
    pub(super) folder: Folder,
}

impl Look {
    /// Returns the error of every write.
    pub(crate) fn refusal(&self) -> Error {
        let path = self.root.display().to_string();
        let message = format!(
            "the store {path} was opened for reading only, and nothing was written: open it \
             without `read_only`, once no other process has it open and its folder can be written \
             to"
        );
        Error::new(ErrorKind::Unavailable, message).with_detail(Detail::ReadOnly { path })
    }

    /// Fails if files of the store were replaced since it was opened.
    pub(crate) fn check_unmoved(&self) -> Result<()> {
        match changed_path(&self.stamps) {
            None => Ok(()),
            Some(path) => Err(changed_error(&self.root, &path)),
        }
    }

    /// Returns the error for damage in the private index.
    pub(crate) fn index_damaged(&self, error: &Error) -> Error {
        let place = self.folder.path().display();
        let message = format!("the index in {place} is damaged, open the store again: {error}");
        Error::new(ErrorKind::Unavailable, message)
    }

    /// Removes the folder of the index.
    pub(crate) fn close(&self) -> Result<()> {
        self.folder.remove()
    }
}

/// Returns the error for a file that was replaced.
pub(super) fn changed_error(root: &Path, path: &Path) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!(
            "{} was replaced since the store {} was opened for reading, by a compaction or a \
             repair of the process that has it: open the store again",
            path.display(),
            root.display()
        ),
    )
}

/// The identity of a file that was read, to detect its replacement.
#[derive(Debug, Clone)]
pub(super) struct Stamp {
    path: PathBuf,
    place: (u64, u64),
    len: u64,
}

impl Stamp {
    pub(super) fn of(path: PathBuf, meta: &Metadata) -> Self {
        Self { path, place: (meta.dev(), meta.ino()), len: meta.len() }
    }

    /// Returns `true` if the path is the same file and not shorter. Packs grow.
    fn is_there(&self) -> bool {
        fs::metadata(&self.path)
            .is_ok_and(|meta| (meta.dev(), meta.ino()) == self.place && meta.len() >= self.len)
    }
}

/// Returns the first file that is missing, shorter, or replaced.
pub(super) fn changed_path(stamps: &[Stamp]) -> Option<PathBuf> {
    stamps.iter().find(|stamp| !stamp.is_there()).map(|stamp| stamp.path.clone())
}
