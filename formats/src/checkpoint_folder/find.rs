//! The checkpoint files of a folder.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Remedy, Result};

/// Folders of a project that contain its checkpoints.
const PERSISTENCE: &str = "persistence";
const CHECKPOINT: &str = "checkpoint";

/// Returns the checkpoint folder of a project or of its `persistence` folder, or the folder itself.
fn find(folder: &Path) -> Result<PathBuf> {
    let failed =
        |error: Error| error.at(folder.display()).remedied_by(Remedy::GiveCheckpointFolder);
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(failed(Error::invalid("not a folder"))),
        Err(error) => return Err(failed(error.into())),
    }
    let inner = [folder.join(PERSISTENCE).join(CHECKPOINT), folder.join(CHECKPOINT)];
    let inner = inner.into_iter().find(|dir| dir.is_dir());
    Ok(inner.unwrap_or_else(|| folder.to_owned()))
}

/// Returns the `ckpt-*.json` files by name: those of a project, of its `persistence` folder, or of
/// the folder itself. Other files, such as locks, are ignored.
///
/// # Errors
///
/// `Io`: the folder cannot be read. `Invalid`: there is no such file.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let folder = find(folder)?;
    let failed =
        |error: io::Error| Error::from(error).at(folder.display()).remedied_by(Remedy::CheckFolder);
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if is_checkpoint(&entry.file_name()) {
            files.push(entry.path());
        }
    }
    if files.is_empty() {
        return Err(Error::invalid("no ckpt-*.json file: there is nothing to import")
            .at(folder.display())
            .remedied_by(Remedy::GiveCheckpointFolder));
    }
    files.sort();
    Ok(files)
}

/// Returns `true` if a file of this name is a checkpoint file.
pub fn is_checkpoint(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"ckpt-") && name.ends_with(b".json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_and_other_names_are_no_checkpoints() {
        let is = |name: &str| is_checkpoint(OsStr::new(name));
        assert!(is("ckpt-exec-001-0.json"));
        for name in ["ckpt-a.json.lock", "ckpt-a.json.tmp", "state.json", ".ckpt-a.json", "ckpt-"] {
            assert!(!is(name), "{name}");
        }
    }
}
