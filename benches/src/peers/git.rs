//! A shadow git repository, as agents keep one for their snapshots: a git folder of its own, and
//! the user's files as its work tree.
//!
//! Durability is git's own (`core.fsync` as it comes): only packs are synced, and a snapshot writes
//! none, so an `add` and a `commit` sync nothing. Ours syncs packs and log before a capture
//! returns. A restore of files syncs them with us, and not with git. Git's time has its processes
//! in it, since that is how agents call it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A shadow repository.
#[derive(Debug)]
pub struct Git {
    dir: PathBuf,
    tree: PathBuf,
}

impl Git {
    /// Makes one.
    pub fn init(dir: PathBuf, tree: &Path) -> Self {
        let tree = tree.to_owned();
        let git = Self { dir, tree };
        git.run(&["init", "-q"]);
        for (key, value) in
            [("user.name", "bench"), ("user.email", "bench@localhost"), ("core.autocrlf", "false")]
        {
            git.run(&["config", key, value]);
        }
        git
    }

    /// Returns its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Takes a snapshot. By default git packs after the commit, in the background: this makes the
    /// usual decision and leaves the packing to [`Git::pack`], so that no measurement includes it.
    pub fn snapshot(&self) {
        self.run(&["add", "-A"]);
        self.run(&["-c", "gc.auto=0", "commit", "-q", "-m", "x", "--allow-empty"]);
    }

    /// Writes the files as a tree, as opencode does around its calls.
    pub fn write_tree(&self) {
        self.run(&["add", "-A"]);
        let done = self.command(&self.tree).arg("write-tree").output().unwrap();
        assert!(done.status.success());
    }

    /// Packs where git would by itself, and waits for it.
    pub fn pack(&self) {
        self.run(&["-c", "gc.autoDetach=false", "gc", "--auto", "-q"]);
    }

    /// Packs everything.
    pub fn pack_all(&self) {
        self.run(&["gc", "-q"]);
    }

    /// The last commit.
    pub fn head(&self) -> String {
        let mut command = self.command(&self.tree);
        let output = command.args(["rev-parse", "HEAD"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Brings the files of a commit back.
    pub fn restore(&self, commit: &str) {
        self.run(&["checkout", "-q", "-f", commit, "--", "."]);
    }

    /// Writes the files of a commit into an empty folder, with an index of its own.
    pub fn restore_into(&self, commit: &str, empty: &Path) {
        let mut command = self.command(empty);
        command.env("GIT_INDEX_FILE", empty.with_extension("index"));
        command.args(["checkout", "-q", "-f", commit, "--", "."]);
        assert!(command.status().unwrap().success());
    }

    fn command(&self, tree: &Path) -> Command {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(&self.dir);
        command.arg("--work-tree").arg(tree);
        command.current_dir(tree);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    fn run(&self, args: &[&str]) {
        let done = self.command(&self.tree).args(args).status().unwrap();
        assert!(done.success(), "git {args:?}");
    }
}
