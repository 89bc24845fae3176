//! Files, and how they come and go so that a crash cannot break them.

use std::ffi::OsStr;
use std::fs;
use std::fs::{File, OpenOptions};
use std::io;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use milepost_codec::{Error, ErrorKind, Result};

use crate::entropy::new_secret;

pub mod own;

/// An error of the file system as one of ours.
pub fn io(what: &str, path: &Path, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, format!("cannot {what} {}: {error}", path.display()))
}

/// Flags of each opening: no symbolic link is followed, and a pipe is not waited for.
fn unfollowed() -> i32 {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    flags.bits().cast_signed()
}

/// Makes a folder with mode 0700, unless it is there.
///
/// # Errors
///
/// Those of the file system.
pub fn make_dir(dir: &Path) -> Result<()> {
    match fs::DirBuilder::new().mode(0o700).recursive(false).create(dir) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_dir(dir) => Ok(()),
        Err(e) => Err(io("create", dir, &e)),
        Ok(()) => Ok(()),
    }
}

/// Returns `true` if a name is a folder itself, and no link to one.
fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// Makes the names in a folder survive power loss.
pub fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(|e| io("sync", dir, &e))
}

/// Makes the name of a file or folder itself survive power loss.
pub fn sync_parent(path: &Path) -> Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    sync_dir(parent.unwrap_or(Path::new(".")))
}

/// Opens a file for writing and reading, making it where it is not there. Refuses a link, whatever
/// is no file, and a file with a second name.
pub fn open_rw(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    open_own(&mut options, path)
}

/// Opens a file that is there, for reading.
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

/// Makes a file that was not there, for writing.
pub fn create_new(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(0o600);
    let made = options.custom_flags(unfollowed()).open(path);
    made.map_err(|e| io("create", path, &e))
}

/// The ending of files that are written beside their place.
const BESIDE: &str = ".tmp";

/// Hexadecimal digits in the name of a file that is written beside its place.
const DIGITS: usize = 16;

/// Makes a file beside a place, under a name that nothing foresees; the caller moves it there.
/// Removes what a crash left of earlier ones: a place has one writer at a time.
pub fn beside(path: &Path) -> Result<(File, PathBuf)> {
    remove_left(path)?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}{BESIDE}", digits()?));
    let beside = PathBuf::from(name);
    Ok((create_new(&beside)?, beside))
}

/// Hexadecimal digits that nothing foresees.
pub fn digits() -> Result<String> {
    let [a, b, c, d, e, f, g, h, ..] = new_secret()?;
    Ok(data_encoding::HEXLOWER.encode(&[a, b, c, d, e, f, g, h]))
}

fn remove_left(path: &Path) -> Result<()> {
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
        if beside_of(&entry.file_name()) == Some(name.as_bytes()) {
            let left = entry.path();
            fs::remove_file(&left).map_err(|e| io("remove", &left, &e))?;
        }
    }
    Ok(())
}

/// The name of the file that one was written beside.
pub fn beside_of(name: &OsStr) -> Option<&[u8]> {
    let name = name.as_bytes().strip_suffix(BESIDE.as_bytes())?;
    let (name, digits) = name.split_at_checked(name.len().checked_sub(DIGITS)?)?;
    let hex = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    name.strip_suffix(b".").filter(|_| digits.iter().all(hex))
}

/// Writes a file beside its place, syncs it, and moves it there: it is there whole or not at all.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes, true)?;
    sync_parent(path)
}

/// Writes a file beside its place and moves it there.
///
/// # Errors
///
/// `Unavailable`: it cannot be written; what was there is there still.
pub fn replace(path: &Path, bytes: &[u8], sync: bool) -> Result<()> {
    let (mut file, beside) = beside(path)?;
    let mut write = || {
        file.write_all(bytes)?;
        if sync {
            file.sync_all()?;
        }
        fs::rename(&beside, path)
    };
    write().map_err(|e| {
        let _ = fs::remove_file(&beside);
        io("write", path, &e)
    })
}

/// The numbered files of a folder, in order: `0000000012.seg` is 12.
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

/// The number in a file's name.
pub fn number_of(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// Returns the path of a numbered file.
pub fn numbered_path(dir: &Path, number: u64, extension: &str) -> PathBuf {
    dir.join(format!("{number:010}.{extension}"))
}

/// Bytes a folder's files take on disk, by blocks, not by lengths.
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
