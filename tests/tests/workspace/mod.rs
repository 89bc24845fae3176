//! Restores with a workspace: `docs/WORKSPACE.md`.

mod authors;
mod crash;
mod failures;
mod model;
mod power;
mod together;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use milepost::{CheckpointId, Engine, Mark, Options, Point, Task};
use milepost_workspace::{Choices, TreePath, Workspace, WorkspaceOptions};

/// A store next to a folder, and a task that works on it.
pub struct Scene {
    pub dir: tempfile::TempDir,
    pub engine: Engine,
    pub task: Task,
    pub workspace: Workspace,
}

impl Scene {
    pub fn begin() -> Self {
        Self::with(Options::default())
    }

    pub fn with(options: Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let engine = Engine::open(dir.path().join("store"), options).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let workspace =
            Workspace::open(dir.path().join("work"), WorkspaceOptions::default()).unwrap();
        Self { dir, engine, task, workspace }
    }

    pub fn folder(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder().join(path)
    }

    pub fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    pub fn capture(&self, label: &str) -> CheckpointId {
        let task = self.engine.task("t").unwrap();
        let mark = Mark::new().label(label);
        let captured = self.workspace.capture(&self.engine, &task, Some(mark));
        captured.unwrap().checkpoint.unwrap()
    }

    pub fn point(&self, label: &str) -> Point {
        self.engine.point(&format!("t@{label}")).unwrap()
    }

    pub fn assert_clean(&self) {
        let report = self.engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{report:?}");
    }
}

pub fn none() -> Choices {
    Choices::default()
}

pub fn at(path: &str) -> TreePath {
    TreePath::new(path.as_bytes()).unwrap()
}

/// Returns the content of a folder: each path with its bits, and its content or its target.
pub fn content(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let bytes = if meta.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                target.into_os_string().into_encoded_bytes()
            } else if meta.is_dir() {
                left.push(path.clone());
                Vec::new()
            } else {
                std::fs::read(&path).unwrap()
            };
            let path = path.strip_prefix(folder).unwrap().to_owned();
            all.insert(path, (meta.permissions().mode(), bytes));
        }
    }
    all
}
