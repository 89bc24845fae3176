//! Us and git, each with its tree, taking the same steps in turn.

use std::path::Path;

use milepost::{Engine, Mark, Point, Scope, Task};
use milepost_workspace::{CaptureReport, Choices, Snapshot, Workspace};
use tempfile::TempDir;

use super::super::{folder, store};
use super::options;
use crate::measure::seconds;
use crate::peers::Git;
use crate::trees::{Tree, blocks, settle};

/// A store, and a workspace that is captured into it.
pub(super) struct Ours {
    pub(super) tree: Tree,
    pub(super) engine: Engine,
    task: Task,
    workspace: Workspace,
}

impl Ours {
    pub(super) fn begin(dir: &Path, tree: Tree) -> Self {
        let (engine, task) = store(dir);
        let workspace = Workspace::open(tree.folder(), options()).unwrap();
        Self { tree, engine, task, workspace }
    }

    pub(super) fn capture(&self) -> CaptureReport {
        let report = self.workspace.capture(&self.engine, &self.task, None);
        let report = report.unwrap();
        assert_eq!((report.files, report.skips), (self.tree.files(), 0));
        report
    }

    /// A checkpoint behind the last capture, to go back to.
    pub(super) fn mark(&self, label: &str) -> Point {
        self.task.checkpoint(Mark::new().label(label)).unwrap();
        self.engine.point(&format!("bench@{label}")).unwrap()
    }

    /// Watches the folder from now on: the first capture that does looks at all of it.
    pub(super) fn watch(&mut self) {
        let options = options().watch(true);
        self.workspace = Workspace::open(self.tree.folder(), options).unwrap();
        self.capture();
        assert!(self.workspace.watching().is_some());
    }

    /// Writes the files of a point into an empty folder.
    pub(super) fn write_into(&self, from: &Point, empty: &Path) {
        let snapshot = Snapshot::at(&self.engine, from).unwrap();
        snapshot.restore_into(empty).unwrap();
    }

    pub(super) fn go_back(&mut self, to: &Point) {
        let none = Choices::default();
        let went = self.workspace.restore(&self.engine, to, Scope::All, None, &none);
        let went = went.unwrap();
        assert!(!went.plan.changes.is_empty());
        self.task = went.task;
    }
}

/// Both stores, in a folder that is removed with them.
pub(super) struct Both {
    pub(super) dir: TempDir,
    pub(super) ours: Ours,
    pub(super) git: Git,
    pub(super) theirs: Tree,
}

impl Both {
    pub(super) fn begin(make: impl Fn(&Path) -> Tree) -> Self {
        let dir = folder();
        let place = |name: &str| {
            let place = dir.path().join(name);
            std::fs::create_dir(&place).unwrap();
            place
        };
        let (our_place, their_place) = (place("ours"), place("theirs"));
        let ours = Ours::begin(&our_place, make(&our_place));
        let theirs = make(&their_place);
        let git = Git::init(their_place.join("shadow"), theirs.folder());
        Self { dir, ours, git, theirs }
    }

    pub(super) fn change(&mut self, files: usize) {
        self.ours.tree.change(files);
        self.theirs.change(files);
    }

    pub(super) fn settle(&self) {
        settle(self.dir.path());
    }

    /// Captures and commits; gives what each took, and how many files we read.
    pub(super) fn capture(&self) -> ([f64; 2], u64) {
        self.settle();
        let mut read = 0;
        let ours = seconds(|| read = self.ours.capture().read);
        self.settle();
        let theirs = seconds(|| self.git.snapshot());
        self.git.pack();
        ([ours, theirs], read)
    }

    /// The same right behind a change of each, so that stamps are not older than the clock's grain.
    pub(super) fn change_and_capture(&mut self, files: usize) -> ([f64; 2], u64) {
        self.settle();
        self.ours.tree.change(files);
        let mut read = 0;
        let ours = seconds(|| read = self.ours.capture().read);
        self.settle();
        self.theirs.change(files);
        let theirs = seconds(|| self.git.snapshot());
        self.git.pack();
        ([ours, theirs], read)
    }

    /// Restores the capture before the last one.
    pub(super) fn restore(&mut self, to: &Point) -> [f64; 2] {
        self.settle();
        let ours = seconds(|| self.ours.go_back(to));
        self.settle();
        [ours, seconds(|| self.git.restore("HEAD~1"))]
    }

    /// Writes the capture before the last one into empty folders.
    pub(super) fn restore_into(&self, from: &Point) -> [f64; 2] {
        let [ours, theirs] = ["out-ours", "out-theirs"].map(|name| self.dir.path().join(name));
        std::fs::create_dir(&ours).unwrap();
        std::fs::create_dir(&theirs).unwrap();
        self.settle();
        let our_time = seconds(|| self.ours.write_into(from, &ours));
        self.settle();
        let their_time = seconds(|| self.git.restore_into("HEAD~1", &theirs));
        [our_time, their_time]
    }

    /// Closes the store; returns the disk space of both, git as far as it packs by itself, and the
    /// folder: ext4 makes files more slowly if some were deleted in the last minutes, so the caller
    /// removes it at the end.
    pub(super) fn end(self) -> ([u64; 2], TempDir) {
        self.ours.engine.close().unwrap();
        let store = self.dir.path().join("ours/store");
        ([blocks(&store), blocks(self.git.dir())], self.dir)
    }
}
