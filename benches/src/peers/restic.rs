//! A restic repository: a backup program that people use with an agent.
//!
//! Durability is restic's own: it syncs each file of the repository before it renames it. Its time
//! includes its process and the derivation of its key, as in each call by a user.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A repository of one folder.
#[derive(Debug)]
pub struct Restic {
    dir: PathBuf,
    tree: PathBuf,
}

impl Restic {
    /// Makes one; `None` if restic is not installed.
    pub fn init(dir: PathBuf, tree: &Path) -> Option<Self> {
        Command::new("restic").arg("version").stdout(Stdio::null()).status().ok()?;
        let restic = Self { dir, tree: tree.to_owned() };
        restic.run(&["init"]);
        Some(restic)
    }

    /// Returns the folder of the repository.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Takes a snapshot.
    pub fn snapshot(&self) {
        self.run(&["backup", "."]);
    }

    /// Writes the files of the last snapshot into an empty folder.
    pub fn restore_into(&self, empty: &Path) {
        self.run(&["restore", "latest", "--target", empty.to_str().unwrap()]);
    }

    fn run(&self, args: &[&str]) {
        let mut command = Command::new("restic");
        command.arg("--quiet").arg("--repo").arg(&self.dir).arg("--cache-dir");
        command.arg(self.dir.with_extension("cache")).args(args);
        command.env("RESTIC_PASSWORD", "bench").current_dir(&self.tree);
        let done = command.stdout(Stdio::null()).status().unwrap();
        assert!(done.success(), "restic {args:?}");
    }
}
