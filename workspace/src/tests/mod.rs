//! Tests of captures: real folders, real stores.
//!
//! ```text
//! taken.rs     captured entries            left_out.rs   entries left out, and why
//! again.rs     reads of the next scan      moving.rs     files that change during a scan
//! recorded.rs  events of captures          stored.rs     reading stored captures
//! random.rs    random trees                watched.rs    incremental scans
//! going_back.rs  restores: what comes back, and what is named that does not
//! ```

mod again;
mod going_back;
mod left_out;
mod moving;
mod random;
mod recorded;
mod stored;
mod taken;
mod watched;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use milepost::{Engine, Options, Task};
use milepost_codec::SkipReason;

use crate::{CaptureReport, Snapshot, Workspace, WorkspaceOptions};

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Thing {
    File(Vec<u8>, u32),
    Link(Vec<u8>),
    Folder(u32),
    Other,
}

/// Makes a pipe with a name.
pub(super) fn make_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// Returns the entries of a folder.
pub(super) fn things(folder: &Path) -> BTreeMap<Vec<u8>, Thing> {
    fn walk(folder: &Path, within: &[u8], all: &mut BTreeMap<Vec<u8>, Thing>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let mut path = within.to_vec();
            path.extend_from_slice(entry.file_name().as_bytes());
            let meta = entry.path().symlink_metadata().unwrap();
            let mode = meta.mode() & 0o777;
            let thing = if meta.is_file() {
                Thing::File(fs::read(entry.path()).unwrap(), mode)
            } else if meta.is_symlink() {
                let target = fs::read_link(entry.path()).unwrap();
                Thing::Link(target.into_os_string().as_bytes().to_vec())
            } else if meta.is_dir() {
                walk(&entry.path(), &[&path, &b"/"[..]].concat(), all);
                Thing::Folder(mode)
            } else {
                Thing::Other
            };
            all.insert(path, thing);
        }
    }
    let mut all = BTreeMap::new();
    walk(folder, b"", &mut all);
    all
}

/// A store, a task, and the task's folder.
pub(super) struct Scene {
    pub(super) dir: tempfile::TempDir,
    pub(super) engine: Engine,
    pub(super) task: Task,
    pub(super) workspace: Workspace,
}

impl Scene {
    pub(super) fn new() -> Self {
        Self::with(WorkspaceOptions::default())
    }

    pub(super) fn with(options: WorkspaceOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let workspace = Workspace::open(dir.path().join("work"), options).unwrap();
        Self { dir, engine, task, workspace }
    }

    /// Opens the same folder with other options.
    pub(super) fn looked_at(&mut self, options: WorkspaceOptions) {
        self.workspace = Workspace::open(self.folder(), options).unwrap();
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(super) fn path(&self, name: impl AsRef<[u8]>) -> PathBuf {
        self.folder().join(OsStr::from_bytes(name.as_ref()))
    }

    /// Writes a file, and creates its parent folders.
    pub(super) fn write(&self, name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn mode(&self, name: impl AsRef<[u8]>, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(super) fn capture(&self) -> CaptureReport {
        self.workspace.capture(&self.engine, &self.task, None).unwrap()
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.engine, self.capture().root).unwrap()
    }

    /// Captures the folder, and returns the captured paths.
    pub(super) fn paths(&self) -> Vec<String> {
        let entries = self.snapshot().entries();
        entries.map(|entry| entry.unwrap().path.to_string()).collect()
    }

    /// Captures the folder, and returns the skips.
    pub(super) fn skips(&self) -> Vec<(String, SkipReason)> {
        let skips = self.snapshot().skips();
        skips.map(Result::unwrap).map(|skip| (skip.path.to_string(), skip.reason)).collect()
    }

    /// Returns the path of the folder's cache.
    pub(super) fn cache(&self) -> PathBuf {
        let beside = self.dir.path().join("store/workspace");
        let mut caches = fs::read_dir(beside).unwrap().map(|entry| entry.unwrap().path());
        caches.find(|path| path.extension() == Some(OsStr::new("stat"))).unwrap()
    }

    /// Captures the folder, restores it into an empty one, and returns that one's entries.
    pub(super) fn put_back(&self) -> BTreeMap<Vec<u8>, Thing> {
        let empty = tempfile::tempdir().unwrap();
        self.snapshot().restore_into(empty.path()).unwrap();
        things(empty.path())
    }
}
