//! Records of files of settings: a copy from before the last change, and whether `install` made
//! the file.
//!
//! ```text
//! STATE/agents/NAME-HEX16/before   the copy; absent if there was no file
//! STATE/agents/NAME-HEX16/record   {"path", "made_file", "made_folders"}
//! ```

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::{make_folder, write_new};
use crate::error::Error;

/// Facts about a file that its text does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    /// `install` made the file.
    pub(super) made_file: bool,
    /// Number of folders above it that `install` made.
    pub(super) made_folders: u32,
}

/// The folder of the record of one file.
pub(super) struct Records {
    folder: PathBuf,
}

impl Records {
    /// Returns the records of a file.
    pub(super) fn of(state: &Path, file: &Path) -> Self {
        let hash = blake3::hash(file.as_os_str().as_bytes()).to_hex();
        let hash = hash.get(..16).unwrap_or_default();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Self { folder: state.join("agents").join(format!("{name}-{hash}")) }
    }

    /// Reads the record. Without one, or with a damaged one, `install` made nothing.
    pub(super) fn read(&self) -> Record {
        let bytes = fs::read(self.folder.join("record")).ok();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Keeps the copy and the record. Returns the place of the copy.
    pub(super) fn keep(
        &self,
        text: Option<&str>,
        record: &Record,
        path: &Path,
    ) -> Result<Option<PathBuf>, Error> {
        let failed = |error: io::Error| Error::of_call("keep a copy", &self.folder, &error);
        make_folder(&self.folder).map_err(failed)?;
        let copy = self.folder.join("before");
        match text {
            Some(text) => write_new(&copy, text.as_bytes(), false).map_err(failed)?,
            None => match fs::remove_file(&copy) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            },
        }
        let form = serde_json::json!({
            "path": path.to_string_lossy(),
            "made_file": record.made_file,
            "made_folders": record.made_folders,
        });
        write_new(&self.folder.join("record"), form.to_string().as_bytes(), false)
            .map_err(failed)?;
        Ok(text.map(|_| copy))
    }
}
