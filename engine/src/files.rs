//! Files, and how they come and go so that a crash cannot break them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use milepost_codec::{Error, ErrorKind, Result};

/// An error of the file system as one of ours.
pub(crate) fn io(what: &str, path: &Path, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, format!("cannot {what} {}: {error}", path.display()))
}

pub(crate) fn make_dir(dir: &Path) -> Result<()> {
    match fs::DirBuilder::new()
        .mode(0o700)
        .recursive(false)
        .create(dir)
    {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(e) => Err(io("create", dir, &e)),
        Ok(()) => Ok(()),
    }
}

/// Makes the names in a folder survive power loss.
pub(crate) fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir)
        .and_then(|d| d.sync_all())
        .map_err(|e| io("sync", dir, &e))
}

/// Makes the name of a file or folder itself survive power loss.
pub(crate) fn sync_parent(path: &Path) -> Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    sync_dir(parent.unwrap_or(Path::new(".")))
}

/// Opens a file for writing and reading, making it where it is not there.
pub(crate) fn open_rw(path: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|e| io("open", path, &e))
}

/// Writes a file beside its place, syncs it, and moves it there: it is there whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".tmp");
    let beside = PathBuf::from(beside);
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|e| io("write", path, &e))?;
    sync_parent(path)
}

/// The numbered files of a folder, in order: `0000000012.seg` is 12.
pub(crate) fn numbered(dir: &Path, extension: &str) -> Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| io("list", dir, &e))? {
        let path = entry.map_err(|e| io("list", dir, &e))?.path();
        let number = path
            .file_stem()
            .and_then(|s| s.to_str())
            .and_then(|s| s.parse().ok());
        if let (Some(number), true) = (number, path.extension().is_some_and(|e| e == extension)) {
            files.push((number, path));
        }
    }
    files.sort();
    Ok(files)
}

/// The number in a file's name.
pub(crate) fn number_of(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

pub(crate) fn numbered_path(dir: &Path, number: u64, extension: &str) -> PathBuf {
    dir.join(format!("{number:010}.{extension}"))
}

/// Bytes a folder's files take on disk, by blocks, not by lengths.
pub(crate) fn disk_bytes(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(dir) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => disk_bytes(&entry.path()),
            Ok(meta) => meta.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}
