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
//!   sled.next/               the same, built by a compaction
//!   sled-now                 which of the two is in use; none: the first
//!   packs/0000000001.pack    chunks
//!   sled-closed              what sled's files were when the store was closed
//!   sled-suspect             damage was met in sled: the next open builds it anew
//!   damaged/                 what was set aside
//!   workspace/*.stat         a cache of stamps and hashes of captured folders
//!   server/                  tokens and the socket of the service
//!   hooks.json               hooks that came with the store; nothing here reads it
//! ```
//!
//! A store that is opened for reading only has its index in a folder for temporary files (`look/`).
//!
//! `kinds.rs` lists all of them, and says which hold content and how it leaves them.

use std::fs;
use std::path::{Path, PathBuf};

use milepost_codec::{Error, Result};

use crate::files;
use crate::local::settings::StoreConfig;

/// Where things are in a store.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
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
    /// Where a compaction builds sled, where the folder in use is the other.
    pub(crate) fn sled_next(&self) -> PathBuf {
        self.root.join("sled.next")
    }
    /// Says which of the two sled folders is in use, where it may be the second.
    pub(crate) fn sled_now(&self) -> PathBuf {
        self.root.join("sled-now")
    }
    /// Where what is damaged is moved to.
    pub(crate) fn damaged(&self) -> PathBuf {
        self.root.join("damaged")
    }
    /// What sled's files were when the store was closed.
    pub(crate) fn sled_closed(&self) -> PathBuf {
        self.root.join("sled-closed")
    }
    /// Says that files are being moved by a repair.
    pub(crate) fn repairing(&self) -> PathBuf {
        self.root.join("repairing")
    }
    /// Where a repair writes the archive anew.
    pub(crate) fn archive_new(&self) -> PathBuf {
        self.root.join("archive.new")
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
        const OURS: [&str; 6] = [
            "lock",
            "journal",
            "archive",
            "packs",
            ".gitignore",
            // Tokens may be made before the store is.
            "server",
        ];
        const BESIDE: [&str; 3] = [".gitignore", "store", "store.copy"];
        let Ok(entries) = fs::read_dir(&self.root) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name == "journal" || name == "archive" {
                self.check_empty(&entry.path())?;
            }
            let beside = files::beside_of(&name);
            let beside = beside.is_some_and(|of| BESIDE.iter().any(|ours| of == ours.as_bytes()));
            if !beside && !OURS.iter().any(|ours| name == *ours) {
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
        let mut files = fs::read_dir(dir).map_err(|e| files::io("list", dir, &e))?;
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
        for dir in [self.root.clone(), self.journal(), self.archive(), self.packs()] {
            files::make_dir(&dir)?;
        }
        files::write_whole(&self.root.join(".gitignore"), b"*\n")?;
        files::sync_dir(
            self.root.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        )?;
        config.write(self)
    }
}

/// A name in a folder that is not taken: the name itself, or with a number.
pub(crate) fn free_name(dir: &Path, name: &str) -> PathBuf {
    let numbered = (2..).map(|n| dir.join(format!("{name}.{n}")));
    let mut names = std::iter::once(dir.join(name)).chain(numbered);
    names.find(|path| !path.exists()).unwrap_or_default()
}

/// Moves a file or folder to where damaged ones are kept. Of sled's folder, which is large and can
/// be built anew, the last one is kept; anything else gets a name of its own.
pub(crate) fn set_aside(layout: &Layout, path: &Path) -> Result<PathBuf> {
    let dir = layout.damaged();
    files::make_dir(&dir)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut aside = free_name(&dir, &name);
    let mut moved = Ok(());
    if *path == layout.sled() && dir.join("sled").exists() {
        aside = dir.join("sled");
        moved = fs::remove_dir_all(&aside);
    }
    moved.and_then(|()| fs::rename(path, &aside)).map_err(|e| files::io("set aside", path, &e))?;
    files::sync_dir(&dir)?;
    files::sync_dir(path.parent().unwrap_or(path))?;
    files::sync_dir(&layout.root)?;
    Ok(aside)
}
