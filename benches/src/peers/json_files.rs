//! One file for each item: written under a temporary name, synced, renamed, and its folder synced.
//! Most agents store their checkpoints so.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of files.
#[derive(Debug)]
pub struct JsonFiles {
    dir: PathBuf,
    handle: File,
    next: AtomicU64,
}

impl JsonFiles {
    /// Makes one.
    pub fn new(dir: &Path) -> Self {
        let dir = dir.join("files");
        fs::create_dir(&dir).unwrap();
        Self { handle: File::open(&dir).unwrap(), dir, next: AtomicU64::new(0) }
    }

    /// Writes a file.
    pub fn save(&self, content: &[u8]) {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        let beside = self.dir.join(format!("{n}.part"));
        let mut file = File::create(&beside).unwrap();
        file.write_all(content).unwrap();
        file.sync_all().unwrap();
        fs::rename(&beside, self.path(n)).unwrap();
        self.handle.sync_all().unwrap();
    }

    fn path(&self, n: u64) -> PathBuf {
        self.dir.join(format!("{n}.json"))
    }

    /// Reads a file.
    pub fn load(&self, n: u64) -> Vec<u8> {
        fs::read(self.path(n)).unwrap()
    }

    /// Reads all.
    pub fn scan(&self, each: &mut dyn FnMut(&[u8])) {
        let count = self.next.load(Ordering::Relaxed);
        (0..count).for_each(|n| each(&self.load(n)));
    }
}
