//! The files of a store, and how they come and go so that a crash cannot break them.
//!
//! ```text
//! .milepost/                 mode 0700
//!   .gitignore               "*"
//!   store, store.copy        format version, id, settings; written once
//!   acked                    the last commit that was acknowledged
//!   lock                     held while open: pid and since when
//!   journal/0000000001.seg   segments, the last one written to
//!   journal/spare-*.seg      a segment that is free to be used again
//!   archive/0000000001.mpa   finished segments, compressed
//!   sled/                    blocks and the index
//!   packs/0000000001.pack    chunks
//!   sled-closed              what sled's files were when the store was closed
//!   sled-suspect             damage was met in sled: the next open builds it anew
//!   damaged/                 what was set aside
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use milepost_codec::{Error, ErrorKind, Result};

use super::settings::StoreConfig;

/// Where things are in a store.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }
    pub(crate) fn journal(&self) -> PathBuf {
        self.root.join("journal")
    }
    pub(crate) fn archive(&self) -> PathBuf {
        self.root.join("archive")
    }
    pub(crate) fn sled(&self) -> PathBuf {
        self.root.join("sled")
    }
    /// Where what is damaged is moved to.
    pub(crate) fn damaged(&self) -> PathBuf {
        self.root.join("damaged")
    }
    /// What sled's files were when the store was closed.
    pub(crate) fn sled_closed(&self) -> PathBuf {
        self.root.join("sled-closed")
    }
    /// The last commit that was acknowledged.
    pub(crate) fn acked(&self) -> PathBuf {
        self.root.join("acked")
    }
    /// Says that damage was met in sled's folder.
    pub(crate) fn suspect(&self) -> PathBuf {
        self.root.join("sled-suspect")
    }
    pub(crate) fn packs(&self) -> PathBuf {
        self.root.join("packs")
    }
    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }
    pub(crate) fn config(&self) -> PathBuf {
        self.root.join("store")
    }
    pub(crate) fn config_copy(&self) -> PathBuf {
        self.root.join("store.copy")
    }

    /// Whether a store is here.
    pub(crate) fn exists(&self) -> bool {
        self.config().is_file() || self.config_copy().is_file()
    }

    /// Refuses a folder that holds something else: a store is only made in an empty one, or where
    /// making one was cut short.
    pub(crate) fn check_free(&self) -> Result<()> {
        const OURS: [&str; 8] = [
            "lock",
            "journal",
            "archive",
            "packs",
            ".gitignore",
            ".gitignore.tmp",
            "store.tmp",
            "store.copy.tmp",
        ];
        let Ok(entries) = fs::read_dir(&self.root) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name == "journal" || name == "archive" {
                self.check_empty(&entry.path())?;
            }
            if !OURS.iter().any(|ours| name == *ours) {
                return Err(Error::invalid(format!(
                    "{} is no Milepost store and holds other things ({})",
                    self.root.display(),
                    name.to_string_lossy()
                )));
            }
        }
        Ok(())
    }

    /// Refuses to make a store over one whose settings are gone.
    fn check_empty(&self, dir: &Path) -> Result<()> {
        let mut files = fs::read_dir(dir).map_err(|e| io("list", dir, &e))?;
        if files.next().is_none() {
            return Ok(());
        }
        Err(Error::corrupt(
            self.config().display().to_string(),
            "the settings of the store whose files are here",
            "no such file, nor its copy",
        ))
    }

    /// Makes the folders of a new store. Its `store` file, written last, makes it one.
    pub(crate) fn create(&self, config: &StoreConfig) -> Result<()> {
        for dir in [
            self.root.clone(),
            self.journal(),
            self.archive(),
            self.packs(),
        ] {
            make_dir(&dir)?;
        }
        write_whole(&self.root.join(".gitignore"), b"*\n")?;
        sync_dir(
            self.root
                .parent()
                .filter(|p| !p.as_os_str().is_empty())
                .unwrap_or(Path::new(".")),
        )?;
        config.write(self)
    }
}

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

/// Moves a file or folder to where damaged ones are kept, over one of the same name.
pub(crate) fn set_aside(layout: &Layout, path: &Path) -> Result<PathBuf> {
    let dir = layout.damaged();
    make_dir(&dir)?;
    let name = path.file_name().unwrap_or_default();
    let aside = dir.join(name);
    let moved = match fs::symlink_metadata(&aside) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(&aside),
        Ok(_) => fs::remove_file(&aside),
        Err(_) => Ok(()),
    };
    moved
        .and_then(|()| fs::rename(path, &aside))
        .map_err(|e| io("set aside", path, &e))?;
    sync_dir(&dir)?;
    sync_dir(path.parent().unwrap_or(path))?;
    sync_dir(&layout.root)?;
    Ok(aside)
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
    sync_dir(path.parent().unwrap_or(path))
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
