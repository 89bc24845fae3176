//! The checkpoint files of a folder.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Failure, Result};

/// Folders of a project that contain its checkpoints.
const PERSISTENCE: &str = "persistence";
const CHECKPOINT: &str = "checkpoint";

/// Returns the checkpoint folder of a project or of its `persistence` folder, or the folder itself.
pub fn find(folder: &Path) -> Result<PathBuf> {
    let failed = |why: String| {
        Failure::new(format!("{}: {why}", folder.display()))
            .hint("give a project's folder, or the one with the ckpt-*.json files")
    };
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(failed("not a folder".into())),
        Err(error) => return Err(failed(error.to_string())),
    }
    let inner = [folder.join(PERSISTENCE).join(CHECKPOINT), folder.join(CHECKPOINT)];
    let inner = inner.into_iter().find(|dir| dir.is_dir());
    Ok(inner.unwrap_or_else(|| folder.to_owned()))
}

/// Returns the `ckpt-*.json` files of a folder by name. Other files, such as locks, are ignored.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error: std::io::Error| {
        Failure::new(format!("{}: {error}", folder.display()))
            .hint("see that the folder can be read")
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if is_checkpoint(&entry.file_name()) {
            files.push(entry.path());
        }
    }
    if files.is_empty() {
        return Err(Failure::new(format!(
            "{}: no ckpt-*.json file: there is nothing to import",
            folder.display()
        ))
        .hint("give a project's folder, or the one with the ckpt-*.json files"));
    }
    files.sort();
    Ok(files)
}

fn is_checkpoint(name: &OsStr) -> bool {
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
