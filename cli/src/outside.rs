//! Stores outside of their projects: in the user's data folder, found by the path of the project.
//!
//! ```text
//! DATA/projects/NAME-HEX16/project    the path of the project
//! DATA/projects/NAME-HEX16/store      its store
//! ```
//!
//! `DATA` is `milepost` in `XDG_DATA_HOME` or `~/.local/share`, and HEX16 begins the BLAKE3 hash of
//! the path. The store stays when the project is removed. A project that is moved finds it again
//! when its folder here is named for the new path, or with `--store`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use milepost_runtime::hooks::user_data_folder;

use crate::error::{Failure, Result};

/// Largest number of bytes of a project's name in the name of its folder.
const NAME_MAX: usize = 40;

/// Returns the place of a project's store. `None` if the environment names no folder for data.
pub fn store_of(project: &Path) -> Option<PathBuf> {
    Some(folder_of(project)?.join("store"))
}

/// Returns the projects whose folders are gone, with their stores, those used last in front.
pub fn gone() -> Vec<(PathBuf, PathBuf)> {
    let folders = user_data_folder().and_then(|data| data.join("projects").read_dir().ok());
    let mut gone: Vec<_> = folders
        .into_iter()
        .flatten()
        .filter_map(|folder| {
            let folder = folder.ok()?.path();
            let project =
                PathBuf::from(OsString::from_vec(std::fs::read(folder.join("project")).ok()?));
            let used = folder.join("store").metadata().ok()?.modified().ok()?;
            let is_gone = std::fs::symlink_metadata(&project)
                .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
            // A folder here that was copied or renamed by hand names another project.
            let is_own = folder_of(&project).as_ref() == Some(&folder);
            (is_gone && is_own).then(|| (used, (project, folder.join("store"))))
        })
        .collect();
    gone.sort();
    gone.into_iter().rev().map(|(_, found)| found).collect()
}

/// Creates the folder for a project's store, and returns the place of the store.
pub fn make(project: &Path) -> Result<PathBuf> {
    let folder = folder_of(project).ok_or_else(|| {
        Failure::new("neither XDG_DATA_HOME nor HOME names a folder for the store")
            .hint("`milepost init` without --outside makes it in the project")
    })?;
    let failed = |e: std::io::Error| {
        Failure::new(format!("cannot make {}: {e}", folder.display()))
            .hint("set XDG_DATA_HOME to a folder that you can write to")
    };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    std::fs::write(folder.join("project"), project.as_os_str().as_bytes()).map_err(failed)?;
    Ok(folder.join("store"))
}

fn folder_of(project: &Path) -> Option<PathBuf> {
    let hash = blake3::hash(project.as_os_str().as_bytes()).to_hex();
    let name = project.file_name().map(|name| name.to_string_lossy().into_owned());
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String =
        name.iter().flat_map(|name| name.chars()).map(plain).take(NAME_MAX).collect();
    Some(user_data_folder()?.join("projects").join(format!("{name}-{}", hash.get(..16)?)))
}
