//! The checkpoint files of a folder, or of the projects below it.

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

/// Maximum depth of the search for projects: a cache, its `projects`, and a project.
const DEPTH_MAX: usize = 3;

/// Returns the `ckpt-*.json` files by name: those of a project, of its `persistence` folder, or of
/// the folder itself; if there is none, those of all projects below it, a project at a time. Other
/// files, such as locks, are ignored, and links to folders are not followed.
///
/// # Errors
///
/// `Io`: a folder cannot be read. `Invalid`: there is no such file.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = own_files(folder)?;
    if files.is_empty() {
        projects(folder, DEPTH_MAX, &mut files)?;
    }
    if files.is_empty() {
        let message = "no ckpt-*.json file, in it or in a project below it: there is nothing to \
             import";
        return Err(Error::invalid(message)
            .at(folder.display())
            .remedied_by(Remedy::GiveCheckpointFolder));
    }
    Ok(files)
}

/// Returns `true` if a folder has checkpoint files itself, not only projects below it.
pub(crate) fn has_files(folder: &Path) -> bool {
    own_files(folder).is_ok_and(|files| !files.is_empty())
}

fn own_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let folder = find(folder)?;
    let failed = |error: io::Error| unreadable(&folder, error);
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if is_checkpoint(&entry.file_name()) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Adds the files of the projects below a folder.
fn projects(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |error: io::Error| unreadable(folder, error);
    let mut below = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            below.push(entry.path());
        }
    }
    below.sort();
    for folder in below {
        let own = own_files(&folder)?;
        if own.is_empty() && depth > 1 {
            projects(&folder, depth - 1, files)?;
        }
        files.extend(own);
    }
    Ok(())
}

fn unreadable(folder: &Path, error: io::Error) -> Error {
    Error::from(error).at(folder.display()).remedied_by(Remedy::CheckFolder)
}

/// Returns the name of the project with a checkpoint file, if the path has one.
pub fn project_of(file: &Path) -> Option<&str> {
    let mut folder = file.parent()?;
    for inner in [CHECKPOINT, PERSISTENCE] {
        if folder.file_name().is_some_and(|name| name == inner) {
            folder = folder.parent()?;
        }
    }
    folder.file_name()?.to_str()
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
    fn a_project_is_the_folder_around_its_checkpoint_folder() {
        let of = |path: &str| project_of(Path::new(path)).map(str::to_owned);
        for path in ["a/one/persistence/checkpoint/ckpt-x.json", "one/checkpoint/ckpt-x.json"] {
            assert_eq!(of(path).as_deref(), Some("one"));
        }
        assert_eq!(of("a/one/ckpt-x.json").as_deref(), Some("one"));
        assert_eq!(of("ckpt-x.json"), None);
    }

    #[test]
    fn locks_and_other_names_are_no_checkpoints() {
        let is = |name: &str| is_checkpoint(OsStr::new(name));
        assert!(is("ckpt-exec-001-0.json"));
        for name in ["ckpt-a.json.lock", "ckpt-a.json.tmp", "state.json", ".ckpt-a.json", "ckpt-"] {
            assert!(!is(name), "{name}");
        }
    }
}
