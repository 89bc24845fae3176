//! Captures of a folder compared with a shadow git repository.
//!
//! Both have a tree of their own, with the same files and the same changes, written right before,
//! so both are in the page cache. Each step is taken by us and then by git, and between them all is
//! synced.

mod both;
mod restic;

use std::path::Path;
use std::process::Command;

use milepost::{Engine, Options};
use milepost_workspace::{Workspace, WorkspaceOptions};

use self::both::Both;
pub use self::restic::beside_restic;
use super::{folder, store};
use crate::measure::{median, peak_mib, row};
use crate::trees::{Tree, blocks, settle};

/// Files that change between two captures.
const CHANGES: usize = 5;

/// The factor by which a row should be faster than git.
const FASTER: f64 = 2.0;

/// Size of a tree.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    files: usize,
    bytes: u64,
}

impl Size {
    /// Returns the size of a tree of this many files, with their average content: 32 MB of 3,000, 1
    /// GB of 50,000.
    pub const fn of(files: usize) -> Self {
        let each = if files > 10_000 { 21_475 } else { 11_185 };
        Self { files, bytes: files as u64 * each }
    }

    fn shown(self) -> String {
        format!("{} files, {:.0} MB", self.files, self.bytes as f64 / 1e6)
    }
}

/// The measurements of both, round by round.
struct Step {
    name: &'static str,
    peer: &'static str,
    figures: [Vec<f64>; 2],
    read: Option<u64>,
}

impl Step {
    fn new(name: &'static str, peer: &'static str) -> Self {
        Self { name, peer, figures: Default::default(), read: None }
    }

    fn took(&mut self, took: [f64; 2]) {
        for (figures, took) in self.figures.iter_mut().zip(took) {
            figures.push(took);
        }
    }

    /// Adds the figures of a capture, and the most files read in any round.
    fn captured(&mut self, (took, read): ([f64; 2], u64)) {
        self.took(took);
        self.read = self.read.max(Some(read));
    }

    fn print(self) {
        let [ours, theirs] = self.figures.map(median);
        let name = match self.read {
            Some(read) => format!("{} ({read} files read)", self.name),
            None => self.name.to_owned(),
        };
        let peer = format!("{} {}", self.peer, ms(theirs));
        row(&name, ms(ours), peer, theirs / ours, FASTER, false);
    }
}

fn options() -> WorkspaceOptions {
    WorkspaceOptions::default().max_file(1 << 30)
}

fn ms(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1e3)
}

fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Captures, restores and writing elsewhere, of a tree of many files.
pub fn files(rounds: usize, size: Size) {
    println!("a workspace of {}", size.shown());
    let [
        mut first,
        mut nothing,
        mut settled,
        mut behind,
        mut back,
        mut into,
        mut nothing_watched,
        mut settled_watched,
        mut behind_watched,
        mut back_watched,
    ] = [
        "first snapshot",
        "nothing changed",
        "5 files changed",
        "right behind the change",
        "restore of 5 changed files",
        "all files into an empty folder",
        "watched: nothing changed",
        "watched: 5 files changed",
        "watched: right behind the change",
        "watched: restore of 5 changed files",
    ]
    .map(|name| Step::new(name, "git"));
    let (mut disk, mut dirs) = ([Vec::new(), Vec::new()], Vec::new());
    for _ in 0..rounds {
        let mut both = Both::begin(|place| Tree::make(place, size.files, size.bytes));
        first.captured(both.capture());
        nothing.captured(both.capture());
        both.change(CHANGES);
        settled.captured(both.capture());
        let to = both.ours.mark("back");
        behind.captured(both.change_and_capture(CHANGES));
        back.took(both.restore(&to));
        into.took(both.restore_into(&to));
        both.ours.watch();
        nothing_watched.captured(both.capture());
        both.change(CHANGES);
        settled_watched.captured(both.capture());
        let to = both.ours.mark("watched");
        behind_watched.captured(both.change_and_capture(CHANGES));
        back_watched.took(both.restore(&to));
        let (bytes, dir) = both.end();
        for (figures, bytes) in disk.iter_mut().zip(bytes) {
            figures.push(bytes as f64);
        }
        dirs.push(dir);
    }
    let looked = [first, nothing, settled, behind, back, into];
    let watched = [nothing_watched, settled_watched, behind_watched, back_watched];
    for step in looked.into_iter().chain(watched) {
        step.print();
    }
    let [ours, theirs] = disk.map(|figures| median(figures) as u64);
    disk_row("disk of these snapshots", ours, theirs);
}

/// Measures a new line in a file of this many bytes.
pub fn one_file(rounds: usize, bytes: u64) {
    println!("a workspace of one file, {}", mb(bytes));
    let [mut first, mut line, mut behind] =
        ["first snapshot", "one line changed", "right behind the change"]
            .map(|name| Step::new(name, "git"));
    let mut dirs = Vec::new();
    for _ in 0..rounds {
        let mut both = Both::begin(|place| Tree::of_one(place, bytes));
        first.captured(both.capture());
        both.change(1);
        line.captured(both.capture());
        behind.captured(both.change_and_capture(1));
        dirs.push(both.end().1);
    }
    for step in [first, line, behind] {
        step.print();
    }
}

/// Measures the disk space of this many captures with 5 changes each.
pub fn disk(size: Size, snapshots: usize) {
    let mut both = Both::begin(|place| Tree::make(place, size.files, size.bytes));
    both.ours.capture();
    both.git.snapshot();
    for _ in 0..snapshots {
        both.change(CHANGES);
        both.ours.capture();
        both.git.snapshot();
        both.git.pack();
    }
    let Both { dir, ours, git, .. } = both;
    let store = dir.path().join("ours/store");
    ours.engine.close().unwrap();
    let name = format!("disk after {snapshots} snapshots");
    disk_row(&name, blocks(&store), blocks(git.dir()));
    for (part, bytes) in parts(&store) {
        println!("    of it {part}: {}", mb(bytes));
    }
    let engine = Engine::open(&store, Options::default()).unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    engine.close().unwrap();
    git.pack_all();
    let name = "the same, compacted; after git gc";
    disk_row(name, blocks(&store), blocks(git.dir()));
}

fn disk_row(name: &str, ours: u64, theirs: u64) {
    let (ratio, peer) = (ours as f64 / theirs as f64, format!("git {}", mb(theirs)));
    row(name, mb(ours), peer, ratio, 1.0, true);
}

/// Returns the sizes of the folders in a store.
fn parts(store: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(store).unwrap();
    let folders = entries.map(|entry| entry.unwrap().path());
    folders
        .filter(|path| path.is_dir())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, blocks(&path))
        })
        .collect()
}

/// The most memory that a process holds whose first capture is of a tree of this size.
pub fn memory_of_capture(size: Size) {
    let dir = folder();
    let tree = Tree::make(dir.path(), size.files, size.bytes);
    settle(dir.path());
    let out = Command::new(std::env::current_exe().unwrap())
        .args([PEAK.as_ref(), dir.path(), tree.folder()])
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    let out = String::from_utf8(out.stdout).unwrap();
    let mut figures = out.split_whitespace().map(|n| n.parse::<f64>().unwrap());
    let (before, peak) = (figures.next().unwrap(), figures.next().unwrap());
    let name = format!("memory of a first capture, {} files, MiB", size.files);
    let peer = format!("open store {before:.0}");
    row(&name, format!("{peak:.0}"), peer, peak, 200.0, true);
}

/// The first argument of the process that [`memory_of_capture`] starts.
pub const PEAK: &str = "peak-of-capture";

/// Captures a folder into a fresh store, and prints the most memory that was held before and after.
pub fn peak_of_capture(dir: &Path, tree: &Path) {
    let (engine, task) = store(dir);
    let before = peak_mib();
    let workspace = Workspace::open(tree, options()).unwrap();
    workspace.capture(&engine, &task, None).unwrap();
    println!("{before} {}", peak_mib());
    engine.close().unwrap();
}
