//! The files of a store, and the creation of a new one.
//!
//! ```text
//! .milepost/                 mode 0700
//!   .gitignore               "*"
//!   store, store.copy        format version, id, settings; written once
//!   acked                    the last acknowledged commit
//!   lock                     held while open: pid and time of opening
//!   journal/0000000001.seg   segments, the last one written to
//!   journal/spare-*.seg      free segments
//!   archive/0000000001.mpa   the commits of a finished segment, compressed
//!   archive/next.mpa.*.tmp   the same of the segment that is written to
//!   sled/                    the index
//!   sled/blocks/*.blocks     the events, compressed, for readers
//!   sled.next/               the same, built by a compaction
//!   sled-now                 the sled folder in use; without this file, the first
//!   packs/0000000001.pack    chunks
//!   packs/0000000001.copy    the same, without captured files
//!   sled-closed              sizes and hashes of sled's files at the last close
//!   repairs                  records of repaired damage
//!   verified.json            the last verification of the whole store
//!   sled-suspect             damage was found in sled: the next opening rebuilds it
//!   damaged/                 files that were set aside
//!   workspace/*.stat         a cache of stamps and hashes of captured folders
//!   server/                  tokens and the socket of the service
//!   hooks.json               hooks that came with the store; this crate does not read it
//! ```
//!
//! A store that is opened for reading only has its index in a temporary folder (`look/`).
//!
//! `kinds.rs` lists all files, which of them hold content, and how withdrawn content leaves them.

use std::fs;
use std::path::{Path, PathBuf};

use milepost_codec::{Error, Result};

use crate::files;
use crate::local::settings::StoreConfig;

/// The paths in a store's folder.
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
    /// Returns the second sled folder, which a compaction may build and switch to.
    pub(crate) fn sled_next(&self) -> PathBuf {
        self.root.join("sled.next")
    }
    /// Returns the file that names the sled folder in use.
    pub(crate) fn sled_now(&self) -> PathBuf {
        self.root.join("sled-now")
    }
    /// Returns the folder that damaged files are moved to.
    pub(crate) fn damaged(&self) -> PathBuf {
        self.root.join("damaged")
    }
    /// Returns the file with sizes and hashes of sled's files at the last close.
    pub(crate) fn sled_closed(&self) -> PathBuf {
        self.root.join("sled-closed")
    }
    /// Returns the file that marks a repair which moves files.
    pub(crate) fn repairing(&self) -> PathBuf {
        self.root.join("repairing")
    }
    /// Returns the folder in which a repair writes the new archive.
    pub(crate) fn archive_new(&self) -> PathBuf {
        self.root.join("archive.new")
    }
    /// Returns the file with the last acknowledged commit.
    pub(crate) fn acked(&self) -> PathBuf {
        self.root.join("acked")
    }
    /// Returns the file that marks damage in sled's folder.
    pub(crate) fn suspect(&self) -> PathBuf {
        self.root.join("sled-suspect")
    }
    /// Marks sled as damaged: the next opening rebuilds it.
    pub(crate) fn suspect_sled(&self, damage: &str) -> Result<()> {
        files::write_whole(&self.suspect(), damage.as_bytes())
    }
    /// Returns the damage for which sled was marked.
    pub(crate) fn sled_suspected(&self) -> String {
        // The marker alone shows that there was damage.
        let damage = fs::read(self.suspect()).unwrap_or_else(|_| Vec::new());
        let damage: String = String::from_utf8_lossy(&damage).chars().take(512).collect();
        match damage.is_empty() {
            true => "damage, when it was read before".to_owned(),
            false => format!("damage, when it was read before: {damage}"),
        }
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

    /// Returns `true` if there is a store.
    pub(crate) fn exists(&self) -> bool {
        self.config().is_file() || self.config_copy().is_file()
    }

    /// Refuses a folder with foreign content: a store is only created in an empty folder, or where
    /// its creation was interrupted.
    pub(crate) fn check_free(&self) -> Result<()> {
        const OURS: [&str; 6] = [
            "lock",
            "journal",
            "archive",
            "packs",
            ".gitignore",
            // Tokens may be created before the store.
            "server",
        ];
        const TEMP_OF: [&str; 3] = [".gitignore", "store", "store.copy"];
        let Ok(entries) = fs::read_dir(&self.root) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name == "journal" || name == "archive" {
                self.check_empty(&entry.path())?;
            }
            let temp_of = files::temp_target(&name);
            let temp_of =
                temp_of.is_some_and(|of| TEMP_OF.iter().any(|ours| of == ours.as_bytes()));
            if !temp_of && !OURS.iter().any(|ours| name == *ours) {
                return Err(Error::invalid(format!(
                    "{} is no Milepost store and holds other things ({})",
                    self.root.display(),
                    name.to_string_lossy()
                )));
            }
        }
        Ok(())
    }

    /// Refuses to create a store over one whose settings are lost.
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

    /// Creates the folders of a new store, then its settings, which make it a store.
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

/// Returns an unused path in a folder: the name itself, or with a number appended.
pub(crate) fn free_name(dir: &Path, name: &str) -> PathBuf {
    let (mut path, mut n) = (dir.join(name), 1);
    while path.exists() {
        n += 1;
        path = dir.join(format!("{name}.{n}"));
    }
    path
}

/// Moves a file or folder to `damaged/`. A sled folder, which is large and can be rebuilt, replaces
/// the previous one there; anything else gets a unique name.
pub(crate) fn set_aside(layout: &Layout, path: &Path) -> Result<PathBuf> {
    let dir = layout.damaged();
    files::make_dir(&dir)?;
    let name = files::name_of(path);
    let mut target = free_name(&dir, &name);
    let mut cleared = Ok(());
    if *path == layout.sled() && dir.join("sled").exists() {
        target = dir.join("sled");
        cleared = fs::remove_dir_all(&target);
    }
    cleared
        .and_then(|()| fs::rename(path, &target))
        .map_err(|e| files::io("set aside", path, &e))?;
    files::sync_dir(&dir)?;
    files::sync_dir(path.parent().unwrap_or(path))?;
    files::sync_dir(&layout.root)?;
    Ok(target)
}
