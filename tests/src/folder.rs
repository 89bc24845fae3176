//! Folders of stores: copied as a kill would leave them, and damaged.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Copies a folder.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, beside) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&path, &beside)?;
        } else {
            match fs::copy(&path, &beside) {
                // Recycled in between.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                other => {
                    other?;
                }
            }
        }
    }
    Ok(())
}

/// Empties a folder, closed ones in it too. The folder itself stays the same one.
pub fn empty(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            empty(&entry.path())?;
            fs::remove_dir(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Copies an open store, as a kill at this moment would leave it. Files that are written first are
/// copied last, so that the copy does not acknowledge more than it has.
pub fn copy_store(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let acked = fs::read(from.join("acked"))?;
    for name in ["sled", "sled.next", "packs", "journal", "archive"] {
        if from.join(name).exists() {
            copy(&from.join(name), &to.join(name))?;
        }
    }
    for name in ["store", "store.copy", ".gitignore", "lock"] {
        fs::copy(from.join(name), to.join(name))?;
    }
    if from.join("sled-now").exists() {
        fs::copy(from.join("sled-now"), to.join("sled-now"))?;
    }
    fs::write(to.join("acked"), acked)
}

/// The files of a folder whose names end so, in order.
pub fn files(dir: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(ending) && !name.starts_with("spare") {
            found.push(path.clone());
        }
    }
    found.sort();
    Ok(found)
}

/// Flips one bit of a file.
pub fn flip(path: &Path, at: u64) -> io::Result<()> {
    let mut bytes = fs::read(path)?;
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 0x10;
    }
    fs::write(path, bytes)
}

/// Flips one bit of a pack, and the same one of its copy, if it has one.
pub fn flip_both(pack: &Path, at: u64) -> io::Result<()> {
    flip(pack, at)?;
    let copy = copy_of(pack);
    if copy.exists() { flip(&copy, at) } else { Ok(()) }
}

/// Returns the path of a pack's copy.
pub fn copy_of(pack: &Path) -> PathBuf {
    pack.with_extension("copy")
}

/// Removes sled from a store that is not open, whichever of its folders is in use.
pub fn remove_sled(root: &Path) -> io::Result<()> {
    let mut removed = 0;
    for name in ["sled", "sled.next"] {
        match fs::remove_dir_all(root.join(name)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            done => removed += u8::from(done.is_ok()),
        }
    }
    match removed {
        0 => Err(io::ErrorKind::NotFound.into()),
        _ => Ok(()),
    }
}
