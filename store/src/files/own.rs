//! Foreign names in a store: links, pipes, files of other users, files with a second name. A folder
//! can come from anywhere, and a write through such a name lands outside of it.

use std::fs;
use std::fs::Metadata;
use std::io::ErrorKind as ErrorOf;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use milepost_codec::{Detail, Error, Result};

use crate::files::io;

/// The folder of the socket at which a process that has the store open answers.
const SERVER: &str = "server";

/// The reason why a name does not belong in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// A symbolic link.
    Link,
    /// Neither a file nor a folder.
    Special,
    /// A file with this many names.
    Names(u64),
    /// A file or folder of another user.
    Owner(u32),
}

impl Foreign {
    /// Returns the reason why an opened path is not a file with one name.
    pub(crate) fn of(file: bool, names: u64) -> Self {
        match file {
            true => Self::Names(names),
            false => Self::Special,
        }
    }
}

/// Returns the error that refuses a store because of a name in it.
pub fn refused(path: &Path, why: Foreign) -> Error {
    let place = path.display();
    let message = match why {
        Foreign::Link => format!(
            "{place} is a symbolic link, and a store has none: nothing was written; if the store \
             came from elsewhere, do not use it; if you made the link, put what it names in its \
             place"
        ),
        Foreign::Special => format!(
            "{place} is neither a file nor a folder: nothing was written; remove it, if the store \
             is yours"
        ),
        Foreign::Names(names) => format!(
            "{place} has {names} names (hard links), and a file of a store has one: nothing was \
             written; `cp -a` makes a copy with files of its own, and removing the other names \
             does as well"
        ),
        Foreign::Owner(owner) => format!(
            "{place} belongs to user {owner}, and not to whom the store belongs: nothing was \
             written; `chown` it if it is yours, else do not use the store"
        ),
    };
    let path = path.display().to_string();
    Error::invalid(message).with_detail(Detail::Foreign { path })
}

/// Checks every name in a store's folder without following links. Refuses the store if a name is
/// neither a file nor a folder, belongs to a user other than the current one and the folder's
/// owner, or is a file with a second name. Changes nothing. A missing folder has no names.
///
/// # Errors
///
/// `Invalid` with [`Detail::Foreign`]: the name, and the remedy. `Unavailable`: a folder cannot be
/// listed.
pub fn check_store(dir: impl AsRef<Path>) -> Result<()> {
    let root = dir.as_ref();
    let about = match fs::metadata(root) {
        Ok(about) if about.is_dir() => about,
        Ok(_) => return Ok(()),
        Err(e) if matches!(e.kind(), ErrorOf::NotFound | ErrorOf::NotADirectory) => return Ok(()),
        Err(e) => return Err(io("look at", root, &e)),
    };
    let owners = [rustix::process::geteuid().as_raw(), about.uid()];
    let server = root.join(SERVER);
    let mut dirs: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        let entries = match fs::read_dir(&dir) {
            // The process that has the store open may have removed the folder in a compaction.
            Err(e) if e.kind() == ErrorOf::NotFound => continue,
            entries => entries.map_err(|e| io("list", &dir, &e))?,
        };
        for entry in entries {
            let path = entry.map_err(|e| io("list", &dir, &e))?.path();
            let meta = match fs::symlink_metadata(&path) {
                Err(e) if e.kind() == ErrorOf::NotFound => continue,
                meta => meta.map_err(|e| io("look at", &path, &e))?,
            };
            if let Some(why) = foreign(&meta, owners, dir == server) {
                return Err(refused(&path, why));
            }
            if meta.is_dir() {
                dirs.push(path);
            }
        }
    }
    Ok(())
}

fn foreign(meta: &Metadata, owners: [u32; 2], in_server: bool) -> Option<Foreign> {
    let kind = meta.file_type();
    if kind.is_symlink() {
        return Some(Foreign::Link);
    }
    // Nothing opens a socket; a process that has the store open listens there.
    let own = kind.is_dir() || kind.is_file() || in_server && kind.is_socket();
    if !own {
        return Some(Foreign::Special);
    }
    if !owners.contains(&meta.uid()) {
        return Some(Foreign::Owner(meta.uid()));
    }
    // A file that was removed after its name was listed has no names.
    (!meta.is_dir() && meta.nlink() > 1).then(|| Foreign::Names(meta.nlink()))
}
