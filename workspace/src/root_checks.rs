//! Folders that cannot be workspaces.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use milepost::{Error, Result};
use milepost_codec::printable;

use crate::error;
use crate::fs::{Dir, Listed, at_root, is_bare_repository};

/// Returns the folder's path without symlinks, and its descriptor. `Invalid`: the folder cannot be
/// a workspace.
pub(crate) fn check(folder: &Path, anyway: bool) -> Result<(PathBuf, Dir)> {
    check_with(folder, anyway, std::env::home_dir().as_deref())
}

fn check_with(folder: &Path, anyway: bool, home: Option<&Path>) -> Result<(PathBuf, Dir)> {
    let real = folder.canonicalize().map_err(|e| error::io("open", folder, &e))?;
    let display = printable(real.as_os_str().as_bytes());
    if !real.is_dir() {
        return Err(Error::invalid(format!("{display} is no folder")));
    }
    let inside_git = |component: std::path::Component<'_>| {
        milepost_codec::Name::is_git(component.as_os_str().as_bytes())
    };
    if real.components().any(inside_git) {
        let message = format!("{display} is inside `.git`: what is in there is git's alone");
        return Err(Error::invalid(message));
    }
    for above in real.ancestors() {
        if at_root(above).is_ok_and(|dir| is_bare_repository(&dir)) {
            let above = printable(above.as_os_str().as_bytes());
            let message = format!("{display} is no workspace: {above} is a bare git repository");
            return Err(Error::invalid(message));
        }
    }
    if !anyway {
        let home = home.and_then(|home| home.canonicalize().ok());
        let why = match &home {
            _ if real.parent().is_none() => Some("it is the root of all files"),
            Some(home) if *home == real => Some("it is your home"),
            Some(home) if home.starts_with(&real) => Some("your home is in it"),
            _ => None,
        };
        if let Some(why) = why {
            return Err(Error::invalid(format!(
                "{display} is not taken for a workspace, since {why}: name a folder of your work, \
                 or insist"
            )));
        }
    }
    let dir = at_root(&real).map_err(|e| error::io("open", &real, &e.into()))?;
    Ok((real, dir))
}

/// Refuses a workspace inside the store.
pub(crate) fn check_store(folder: &Path, store: &Listed) -> Result<()> {
    for above in folder.ancestors() {
        let metadata = at_root(above).and_then(|dir| dir.itself());
        if metadata.is_ok_and(|metadata| metadata.identity() == store.identity()) {
            let display = printable(folder.as_os_str().as_bytes());
            return Err(Error::invalid(format!(
                "{display} is inside the store, which is no workspace"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use milepost::ErrorKind;

    use super::*;

    #[test]
    fn home_and_root_and_what_is_above_home_are_refused_unless_one_insists() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("users/ana");
        fs::create_dir_all(home.join("work")).unwrap();
        let refused = [Path::new("/"), &home, home.parent().unwrap(), dir.path()];
        for folder in refused {
            let error = check_with(folder, false, Some(&home)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            check_with(folder, true, Some(&home)).unwrap();
        }
        check_with(&home.join("work"), false, Some(&home)).unwrap();
        // A symlink to the home is the same folder.
        std::os::unix::fs::symlink(&home, dir.path().join("link")).unwrap();
        let link = dir.path().join("link");
        assert!(check_with(&link, false, Some(&home)).is_err());
    }

    #[test]
    fn a_folder_of_git_a_file_and_nothing_are_refused_whatever_one_insists_on() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["w/.git/hooks", "w/sub/.GIT/x", "bare/objects", "bare/refs"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        fs::write(dir.path().join("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let refused = ["w/.git", "w/.git/hooks", "w/sub/.GIT/x", "bare", "bare/refs", "file"];
        for folder in refused {
            let error = check_with(&dir.path().join(folder), true, None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{folder}: {error}");
        }
        let gone = check_with(&dir.path().join("gone"), true, None).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound);
        check_with(&dir.path().join("w"), false, None).unwrap();
    }

    #[test]
    fn the_store_and_what_is_in_it_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("store/workspace")).unwrap();
        let real = dir.path().canonicalize().unwrap();
        let store = at_root(&real.join("store")).unwrap().itself().unwrap();
        assert!(check_store(&real.join("store"), &store).is_err());
        assert!(check_store(&real.join("store/workspace"), &store).is_err());
        check_store(&real, &store).unwrap();
    }
}
