//! Reading a stored capture, file by file, without restoring it.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use milepost::{Engine, Error, Hash, Point, Result};
use milepost_codec::{
    Capture, ChunkId, Entry, EntryKind, Item, PathBytes, Skip, TreePath, printable,
};

use crate::checkout::{fill, processors};
use crate::chunks::Chunks;
use crate::error;
use crate::fs::at_root;
use crate::tree::{self, Budget, FileReader};

/// Summary of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureInfo {
    /// Id of the capture.
    pub root: Hash,
    /// Absolute path of the captured folder.
    pub folder: PathBytes,
    /// `true` if a restore took it, so that an undo can bring the files back.
    pub present: bool,
    /// Number of files.
    pub files: u64,
    /// Number of directories, without the folder itself.
    pub directories: u64,
    /// Number of symlinks.
    pub links: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Number of paths left out: see [`Snapshot::skips`].
    pub skipped: u64,
}

/// One path of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotEntry {
    /// Path below the folder.
    pub path: TreePath,
    /// File, directory or symlink at the path.
    pub item: Item,
}

/// A stored capture. Reading its files touches no folder. Cheap to clone.
///
/// Contents are checked against their hashes. No stored path leads outside of a folder.
///
/// ```
/// use milepost::{Engine, Options};
/// use milepost_workspace::{Snapshot, Workspace, WorkspaceOptions};
///
/// # let dir = tempfile::tempdir()?;
/// # let (folder, elsewhere) = (dir.path().join("work"), dir.path().join("elsewhere"));
/// # std::fs::create_dir_all(folder.join("src"))?;
/// # std::fs::create_dir(&elsewhere)?;
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("essay", "ana")?;
/// std::fs::write(folder.join("src/main.rs"), "fn main() {}")?;
/// let workspace = Workspace::open(&folder, WorkspaceOptions::default())?;
/// let report = workspace.capture(&engine, &task, None)?;
///
/// let snapshot = Snapshot::of(&engine, report.root)?;
/// let mut paths = Vec::new();
/// for entry in snapshot.entries() {
///     paths.push(entry?.path.to_string());
/// }
/// assert_eq!(paths, ["src", "src/main.rs"]);
/// snapshot.restore_into(&elsewhere)?;
/// assert_eq!(std::fs::read_to_string(elsewhere.join("src/main.rs"))?, "fn main() {}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Snapshot {
    chunks: Arc<dyn Chunks>,
    capture: Arc<Capture>,
    info: CaptureInfo,
}

impl Snapshot {
    /// Opens the last capture before a point.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no capture before the point. `Corrupt`: the capture, or an event before
    /// the point, cannot be read.
    pub fn at(engine: &Engine, point: &Point) -> Result<Self> {
        match engine.run_state(point)?.workspace {
            Some(root) => Self::of(engine, root),
            None => Err(Error::not_found(format!("no capture of a workspace before {point}"))),
        }
    }

    /// Opens the capture with an id, as `workspace_captured` names it.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such capture. `Corrupt`: it cannot be read, or is not a capture.
    pub fn of(engine: &Engine, root: Hash) -> Result<Self> {
        Self::stored(Arc::new(engine.store().chunks()), root)
    }

    pub(crate) fn stored(chunks: Arc<dyn Chunks>, root: Hash) -> Result<Self> {
        let capture = tree::capture(&*chunks, &ChunkId(root.0))?;
        let info = CaptureInfo {
            root,
            folder: capture.folder.clone(),
            present: capture.present,
            files: capture.files,
            directories: capture.directories,
            links: capture.links,
            bytes: capture.bytes,
            skipped: capture.skipped,
        };
        Ok(Self { chunks, capture: Arc::new(capture), info })
    }

    /// Returns the summary of the capture.
    pub fn info(&self) -> &CaptureInfo {
        &self.info
    }

    pub(crate) fn chunks(&self) -> &Arc<dyn Chunks> {
        &self.chunks
    }

    pub(crate) fn budget(&self) -> Budget {
        Budget::of(&self.capture)
    }

    pub(crate) fn tree(&self) -> ChunkId {
        self.capture.tree
    }

    /// Returns all paths in order, a folder before its contents. Folders are read lazily; the
    /// iteration ends after an error.
    pub fn entries(&self) -> Entries {
        Entries {
            chunks: Arc::clone(&self.chunks),
            root: Some(self.capture.tree),
            budget: Budget::of(&self.capture),
            stack: Vec::new(),
        }
    }

    /// Returns the paths left out, in order. The iteration ends after an error.
    pub fn skips(&self) -> Skips {
        Skips {
            chunks: Arc::clone(&self.chunks),
            capture: Some(Arc::clone(&self.capture)),
            skips: VecDeque::new(),
        }
    }

    /// Returns the entry at a path, if there is one.
    ///
    /// # Errors
    ///
    /// `NotFound` and `Corrupt`: a folder on the way cannot be read.
    pub fn entry(&self, path: &TreePath) -> Result<Option<SnapshotEntry>> {
        let found = tree::find(&*self.chunks, &self.capture.tree, path)?;
        Ok(found.map(|entry| SnapshotEntry { path: path.clone(), item: entry.item }))
    }

    /// Opens the content of a file for reading from the beginning.
    ///
    /// # Errors
    ///
    /// `NotFound`: nothing is at the path. `Invalid`: the path is a folder or a symlink. `Corrupt`:
    /// as with [`Snapshot::entry`]. Reading fails with an error that wraps one of these if a chunk
    /// cannot be read, or the content does not match its entry.
    pub fn read(&self, path: &TreePath) -> Result<Content> {
        let found = self.entry(path)?;
        let entry =
            found.ok_or_else(|| Error::not_found(format!("{path} is not in the capture")))?;
        match FileReader::open(Arc::clone(&self.chunks), &entry.item.kind) {
            Some(reader) => Ok(Content(reader)),
            None => {
                let what = match entry.item.kind {
                    EntryKind::Directory { .. } => "a folder",
                    _ => "a symlink",
                };
                Err(Error::invalid(format!("{path} is {what}, and no file")))
            }
        }
    }

    /// Writes the capture into an empty folder, which is created if it is missing. Nothing is
    /// recorded, and files are not synced.
    ///
    /// # Errors
    ///
    /// `Invalid`: the folder is not empty. `Unavailable`: it cannot be written to. `NotFound` and
    /// `Corrupt`: the capture cannot be read; the error names the path, and files written before
    /// stay.
    pub fn restore_into(&self, empty: impl AsRef<Path>) -> Result<()> {
        let folder = empty.as_ref();
        match std::fs::create_dir(folder) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error::io("create", folder, &e));
            }
            _ => {}
        }
        let opened = folder.canonicalize().map_err(|e| error::io("open", folder, &e))?;
        let dir = at_root(&opened).map_err(|e| error::io("open", folder, &e.into()))?;
        let names = dir.names(0).map_err(|e| error::io("list", folder, &e.into()))?;
        if !names.is_empty() {
            let display = printable(folder.as_os_str().as_bytes());
            return Err(Error::invalid(format!("{display} is not empty")));
        }
        fill(&self.chunks, (&self.capture.tree, self.budget()), dir, processors())
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("info", &self.info).finish_non_exhaustive()
    }
}

/// The content of a file in a capture.
#[derive(Debug)]
pub struct Content(FileReader);

impl Read for Content {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

/// Iterator over the paths of a capture.
pub struct Entries {
    chunks: Arc<dyn Chunks>,
    root: Option<ChunkId>,
    /// Limit from the counts in the capture.
    budget: Budget,
    /// Stack of open folders, each with its remaining entries.
    stack: Vec<(Option<TreePath>, std::vec::IntoIter<Entry>)>,
}

impl Entries {
    fn enter(&mut self, path: Option<TreePath>, id: &ChunkId) -> Result<()> {
        let entries = tree::entries(&*self.chunks, id);
        let entries = entries.map_err(|e| match &path {
            Some(path) => e.at(path),
            None => e,
        })?;
        self.stack.push((path, entries.into_iter()));
        Ok(())
    }

    fn step(&mut self) -> Result<Option<SnapshotEntry>> {
        if let Some(root) = self.root.take() {
            self.enter(None, &root)?;
        }
        while let Some((within, entries)) = self.stack.last_mut() {
            let Some(Entry { name, item }) = entries.next() else {
                self.stack.pop();
                continue;
            };
            let path = match within {
                Some(within) => within.join(&name)?,
                None => TreePath::from(name),
            };
            self.budget.take(&item)?;
            if let EntryKind::Directory { id } = &item.kind {
                self.enter(Some(path.clone()), id)?;
            }
            return Ok(Some(SnapshotEntry { path, item }));
        }
        Ok(None)
    }
}

impl Iterator for Entries {
    type Item = Result<SnapshotEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.step();
        if next.is_err() {
            self.stack.clear();
        }
        next.transpose()
    }
}

/// Iterator over the paths that a capture left out.
pub struct Skips {
    chunks: Arc<dyn Chunks>,
    /// The capture, until its list of skips is read.
    capture: Option<Arc<Capture>>,
    skips: VecDeque<Result<Skip>>,
}

impl Iterator for Skips {
    type Item = Result<Skip>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(capture) = self.capture.take() {
            match tree::skips_of(&*self.chunks, &capture) {
                Ok(skips) => self.skips = skips.into(),
                Err(e) => return Some(Err(e)),
            }
        }
        self.skips.pop_front()
    }
}

macro_rules! debug {
    ($($name:ident)*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}
debug!(Entries Skips);
