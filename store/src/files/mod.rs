//! File operations that a crash cannot leave half done.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::fs::{File, OpenOptions};
use std::io;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use milepost_codec::{Error, ErrorKind, Result};

use crate::entropy::new_secret;

pub mod own;

/// Converts an error of the file system. Its kind is in the source, for programs.
pub fn io(what: &str, path: &Path, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, format!("cannot {what} {}: {error}", path.display()))
        .with_source(io::Error::from(error.kind()))
}

/// Reads bytes until the buffer is full. A failed read is tried once more: only a persistent error
/// concerns the file.
pub(crate) fn read_whole(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<()> {
    let (mut at, mut has_failed) = (0, false);
    while let Some(room) = buffer.get_mut(at..).filter(|room| !room.is_empty()) {
        match from.read(room) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => at += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if has_failed => return Err(error),
            Err(_) => has_failed = true,
        }
    }
    Ok(())
}

/// Reads bytes at a position of a file until the buffer is full, as [`read_whole`].
pub(crate) fn read_whole_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    match file.read_exact_at(buffer, at) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            file.read_exact_at(buffer, at)
        }
        done => done,
    }
}

/// Returns the last name of a path of a store.
pub(crate) fn name_of(path: &Path) -> Cow<'_, str> {
    path.file_name().expect("a path of a store ends in a name").to_string_lossy()
}

/// Returns flags for opening: symbolic links are not followed, and pipes do not block.
fn unfollowed() -> i32 {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    flags.bits().cast_signed()
}

/// Creates a folder with mode 0700, unless it exists.
pub fn make_dir(dir: &Path) -> Result<()> {
    match fs::DirBuilder::new().mode(0o700).recursive(false).create(dir) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_dir(dir) => Ok(()),
        Err(e) => Err(io("create", dir, &e)),
        Ok(()) => Ok(()),
    }
}

/// Returns `true` if a path is a folder, and not a link to one.
fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// An open folder. Opened before a change of its names, it can be synced after it even if the
/// process has no file descriptor left by then.
#[derive(Debug)]
pub struct FolderHandle {
    path: PathBuf,
    file: File,
}

impl FolderHandle {
    /// Opens a folder.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| io("open", path, &e))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Returns the path that the folder was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the names in the folder survive power loss.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the sync failed. A later one that succeeds proves nothing.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(|e| io("sync", &self.path, &e))
    }
}

/// Makes the names in a folder survive power loss.
pub fn sync_dir(dir: &Path) -> Result<()> {
    FolderHandle::open(dir)?.sync()
}

/// Makes the name of a file or folder survive power loss.
pub fn sync_parent(path: &Path) -> Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    sync_dir(parent.unwrap_or(Path::new(".")))
}

/// Opens a file for reading and writing, and creates it if missing. Refuses a link, anything but a
/// regular file, and a file with a second name.
pub fn open_rw(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    open_own(&mut options, path)
}

/// Opens an existing file for reading.
pub fn open_read(path: &Path) -> Result<File> {
    open_own(OpenOptions::new().read(true), path)
}

fn open_own(options: &mut OpenOptions, path: &Path) -> Result<File> {
    let failed = |e| io("open", path, &e);
    let options = options.mode(0o600).custom_flags(unfollowed());
    let file = options.open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    let links = meta.nlink();
    match meta.is_file() && links <= 1 {
        true => Ok(file),
        false => Err(own::refused(path, own::Foreign::of(meta.is_file(), links))),
    }
}

/// Creates a file for writing; fails if it exists.
pub fn create_new(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(0o600);
    let opened = options.custom_flags(unfollowed()).open(path);
    opened.map_err(|e| io("create", path, &e))
}

/// The suffix of temporary files.
const TEMP_SUFFIX: &str = ".tmp";

/// The number of hexadecimal digits in the name of a temporary file.
const DIGITS: usize = 16;

/// Creates a temporary file next to `path`, under an unpredictable name; the caller renames it.
/// Removes those that a crash left behind: a path has one writer at a time.
pub fn create_temp(path: &Path) -> Result<(File, PathBuf)> {
    remove_temp_files(path)?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}{TEMP_SUFFIX}", digits()?));
    let temp = PathBuf::from(name);
    Ok((create_new(&temp)?, temp))
}

/// Returns unpredictable hexadecimal digits.
pub fn digits() -> Result<String> {
    let [a, b, c, d, e, f, g, h, ..] = new_secret()?;
    Ok(data_encoding::HEXLOWER.encode(&[a, b, c, d, e, f, g, h]))
}

/// Removes the temporary files of a path that a crash left behind.
pub(crate) fn remove_temp_files(path: &Path) -> Result<()> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(());
    };
    let dir = match dir.as_os_str().is_empty() {
        true => Path::new("."),
        false => dir,
    };
    let Ok(entries) = fs::read_dir(dir) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        if temp_target(&entry.file_name()) == Some(name.as_bytes()) {
            let stale = entry.path();
            fs::remove_file(&stale).map_err(|e| io("remove", &stale, &e))?;
        }
    }
    Ok(())
}

/// Returns the name of the file that a temporary file was written for.
pub fn temp_target(name: &OsStr) -> Option<&[u8]> {
    let name = name.as_bytes().strip_suffix(TEMP_SUFFIX.as_bytes())?;
    let (name, digits) = name.split_at_checked(name.len().checked_sub(DIGITS)?)?;
    let hex = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    name.strip_suffix(b".").filter(|_| digits.iter().all(hex))
}

/// Replaces a file atomically and durably: writes and syncs a temporary file, then renames it.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes, true)?;
    sync_parent(path)
}

/// Writes a temporary file, syncs it if `sync` is set, and renames it to `path`.
///
/// # Errors
///
/// `Unavailable`: the file cannot be written. The earlier file is unchanged.
pub fn replace(path: &Path, bytes: &[u8], sync: bool) -> Result<()> {
    let (mut file, temp) = create_temp(path)?;
    let mut write = || {
        file.write_all(bytes)?;
        if sync {
            file.sync_all()?;
        }
        fs::rename(&temp, path)
    };
    write().map_err(|e| {
        let _ = fs::remove_file(&temp);
        io("write", path, &e)
    })
}

/// Returns the numbered files of a folder, in order: `0000000012.seg` is 12.
pub fn numbered(dir: &Path, extension: &str) -> Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| io("list", dir, &e))? {
        let path = entry.map_err(|e| io("list", dir, &e))?.path();
        let number = path.file_stem().and_then(|s| s.to_str()).and_then(|s| s.parse().ok());
        if let (Some(number), true) = (number, path.extension().is_some_and(|e| e == extension)) {
            files.push((number, path));
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the number in a file's name.
pub fn number_of(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// Returns the path of a numbered file.
pub fn numbered_path(dir: &Path, number: u64, extension: &str) -> PathBuf {
    dir.join(format!("{number:010}.{extension}"))
}

/// Returns the bytes that a folder's files take on disk, counted in blocks.
pub fn disk_bytes(dir: &Path) -> u64 {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// A reader that fails some times, and gives a byte each time after that.
    struct Failing(u32);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0 > 0 {
                self.0 -= 1;
                return Err(io::Error::other("no"));
            }
            buffer.first_mut().map_or(Ok(0), |first| {
                *first = 7;
                Ok(1)
            })
        }
    }

    #[test]
    fn a_read_that_fails_is_tried_once_more_and_an_end_is_an_end() {
        let mut bytes = [0; 3];
        read_whole(&mut Failing(1), &mut bytes).unwrap();
        assert_eq!(bytes, [7; 3]);
        let stays = read_whole(&mut Failing(2), &mut bytes).unwrap_err();
        assert_eq!(stays.kind(), io::ErrorKind::Other);
        let end = read_whole(&mut &b"ab"[..], &mut bytes).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }
}
