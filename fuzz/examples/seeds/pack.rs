//! Corpora as archives: one for each target, which GNU tar writes and reads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options that leave nothing but names and contents in an archive.
const PLAIN: [&str; 8] = [
    "--create",
    "--format=ustar",
    "--blocking-factor=1",
    "--mtime=@0",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=644",
];

/// Archives in a folder, and a folder to unpack them to.
pub struct Corpora {
    archives: PathBuf,
    unpacked: tempfile::TempDir,
}

impl Corpora {
    pub fn new(archives: PathBuf) -> Self {
        Self { archives, unpacked: tempfile::tempdir().unwrap() }
    }

    fn archive(&self, target: &str) -> PathBuf {
        self.archives.join(format!("{target}.tar"))
    }

    /// Returns the folder of a target, which begins with the inputs of its archive.
    pub fn dir(&self, target: &str) -> PathBuf {
        let dir = self.unpacked.path().join(target);
        if !dir.exists() {
            fs::create_dir(&dir).unwrap();
            if self.archive(target).exists() {
                tar(&dir, &self.archive(target), &["--extract"]);
            }
        }
        dir
    }

    /// Writes an archive of each folder, in the order of the names of its files.
    pub fn pack(&self) {
        for target in names(self.unpacked.path()) {
            let dir = self.dir(&target);
            let files = names(&dir);
            let files = files.iter().map(String::as_str);
            tar(&dir, &self.archive(&target), &PLAIN.into_iter().chain(files).collect::<Vec<_>>());
        }
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn tar(dir: &Path, archive: &Path, args: &[&str]) {
    let archive = format!("--file={}", archive.display());
    let status = Command::new("tar").current_dir(dir).arg(archive).args(args).status().unwrap();
    assert!(status.success(), "tar {args:?} in {}", dir.display());
}
