//! One capture, from the lock to the event.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use milepost::{
    Append, CheckpointId, Engine, ErrorKind, Hash, Mark, Offset, Result, Task, WorkspaceCaptured,
};
use milepost_codec::{CHUNK_RAW_MAX, Capture, ChunkId, ChunkList, Node, PathBytes, Skip};

use crate::cache::{self, Cache};
use crate::chunks::Chunks;
use crate::error;
use crate::fs::{Probe, at_root};
use crate::lock::Lock;
use crate::look::{Looked, Looking, Storing, look};
use crate::options::WorkspaceOptions;
use crate::refuse;
use crate::status::Watched;
use crate::tree;

/// The folder in the store where there is something about workspaces.
const BESIDE: &str = "workspace";

/// Bytes of a chunk of a list of skips.
const SKIPS_CHUNK: usize = 256 << 10;

const _: () = assert!(SKIPS_CHUNK <= CHUNK_RAW_MAX);

/// What came of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureReport {
    /// The id of the capture.
    pub root: Hash,
    /// The offset of the event that names it; none where the lineage named it already.
    pub appended: Option<Offset>,
    /// The checkpoint, where one was asked for.
    pub checkpoint: Option<CheckpointId>,
    /// Files in it.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Files that had to be read: the others are as they were when they were read last.
    pub read: u64,
    /// Contents that were given to the store: chunks of files, and nodes. It may have had some of them.
    pub stored: u64,
    /// What was left out.
    pub skips: u64,
}

/// Captures a folder into an engine's store, for a task.
pub(crate) fn take(
    folder: &Path,
    options: &WorkspaceOptions,
    watched: &Watched,
    engine: &Engine,
    task: &Task,
    mark: Option<Mark>,
) -> Result<CaptureReport> {
    let chunks = engine.chunk_store();
    let beside = beside(&chunks)?;
    let _lock = Lock::take(folder, beside.as_deref(), options.wait)?;
    // What is stored from here on stays until the event names it.
    let _hold = chunks.hold();
    let head = task.point(task.head()?.next)?;
    let known = engine
        .run_state(&head)?
        .workspace
        .map(|root| ChunkId(root.0));
    let (taken, looked) = store(&Storage {
        folder,
        options,
        watched,
        chunks: &chunks,
        beside: beside.as_deref(),
        known,
        before: None,
        moved: false,
    })?;
    let mut report = CaptureReport {
        root: Hash(taken.root.0),
        appended: None,
        checkpoint: None,
        files: looked.files,
        bytes: looked.bytes,
        read: looked.read,
        stored: taken.stored,
        skips: looked.skips.len() as u64,
    };
    if known == Some(taken.root) {
        if let Some(mark) = mark {
            report.checkpoint = Some(task.checkpoint(mark)?.id);
        }
    } else {
        chunks.sync()?;
        let captured = WorkspaceCaptured {
            root: report.root,
            files: report.files,
            bytes: report.bytes,
            skipped: report.skips,
        };
        let mut append = Append::from(captured);
        if let Some(mark) = mark {
            append = append.mark(mark);
        }
        let appended = task.append(append)?;
        report.appended = Some(appended.first);
        report.checkpoint = appended.checkpoint;
    }
    taken.remember(looked)?;
    Ok(report)
}

/// A capture that is stored, and not synced.
pub(crate) struct Taken {
    pub(crate) root: ChunkId,
    stored: u64,
    /// Where the cache goes, of which folder, and whether it is as it was.
    cache: Option<(PathBuf, cache::Identity)>,
    unchanged: bool,
}

impl Taken {
    /// Writes the cache for the next time, where that knows something new.
    pub(crate) fn remember(self, looked: Looked) -> Result<()> {
        match self.cache {
            Some((path, folder)) if !self.unchanged => {
                // What cannot be written costs the next look a read of all files, and nothing more.
                let _ = looked.cache.write(&path, folder, self.root);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// What is looked at, and where it is stored.
pub(crate) struct Storage<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) options: &'a WorkspaceOptions,
    pub(crate) watched: &'a Watched,
    pub(crate) chunks: &'a dyn Chunks,
    /// The store's folder for what concerns workspaces.
    pub(crate) beside: Option<&'a Path>,
    /// The capture that the lineage names.
    pub(crate) known: Option<ChunkId>,
    /// Of a present, the tree that will be gone to: what stands in its place is taken whatever it is.
    pub(crate) before: Option<ChunkId>,
    /// Whether the folder is the one that was captured, though it is elsewhere now.
    pub(crate) moved: bool,
}

/// Looks at a folder and stores what it holds.
pub(crate) fn store(storage: &Storage<'_>) -> Result<(Taken, Looked)> {
    let Storage {
        folder,
        options,
        watched,
        chunks,
        beside,
        known,
        before,
        moved,
    } = *storage;
    let root = at_root(folder).map_err(|e| error::io("open", folder, &e.into()))?;
    let itself = root.itself();
    let identity = itself
        .map_err(|e| error::io("look at", folder, &e.into()))?
        .identity();
    let store_dir = match chunks.folder().map(|dir| (dir, at_root(dir))) {
        Some((dir, opened)) => {
            let listed = opened.and_then(|opened| opened.itself());
            Some(listed.map_err(|e| error::io("look at", dir, &e.into()))?)
        }
        None => None,
    };
    if let Some(store) = &store_dir {
        refuse::check_store(folder, store)?;
    }
    let probe = match beside {
        Some(dir) => Probe::in_folder(dir)?,
        None => Probe::in_memory()?,
    };
    let cache_path = beside.map(|dir| cache::path_of(dir, identity));
    let mut cache = match &cache_path {
        Some(path) => Cache::read(path, identity).unwrap_or_default(),
        None => Cache::default(),
    };
    cache.rely_on(known, chunks)?;
    let last = match known {
        Some(root) => last(chunks, &root, Some(folder).filter(|_| !moved))?,
        None => None,
    };
    let mut recorded: Vec<ChunkId> = last.iter().map(|(_, tree)| *tree).collect();
    recorded.extend(before);
    let mut looked = look(Looking {
        root,
        folder,
        options,
        chunks,
        probe: &probe,
        cache: &cache,
        recorded: &recorded,
        without_limits: before.is_some(),
        ask: known.is_some() || cache.files() > 0,
        store: store_dir.map(|dir| dir.identity()),
        watched,
    })?;
    let mut storing = Storing::new(chunks, true);
    let capture = Capture {
        present: before.is_some(),
        over: last.filter(|_| before.is_some()).map(|(over, _)| over),
        folder: PathBytes::from(folder.as_os_str().as_bytes()),
        tree: looked.tree,
        files: looked.files,
        directories: looked.directories,
        links: looked.links,
        bytes: looked.bytes,
        skipped: looked.skips.len() as u64,
        skips: put_skips(&looked.skips, &mut storing)?,
    };
    let ids = storing.put(&[&Node::Capture(capture).encode()])?;
    let root = ids.first().copied().ok_or_else(|| {
        milepost::Error::corrupt("the store's answer", "the id of a capture", "none")
    })?;
    let taken = Taken {
        root,
        stored: looked.stored + storing.stored,
        cache: cache_path.map(|path| (path, identity)),
        unchanged: cache.capture() == Some(root)
            && looked.known == cache.files()
            && looked.known == looked.cache.files(),
    };
    looked.stored = taken.stored;
    Ok((taken, looked))
}

/// The capture that was taken last, and its tree: of a present, the one it was taken over. Nothing where
/// it is lost, so that a folder can be captured whatever became of its past.
///
/// Nothing either where it is of another folder than `folder`: what was recorded there was not recorded here.
pub(crate) fn last(
    chunks: &dyn Chunks,
    root: &ChunkId,
    folder: Option<&Path>,
) -> Result<Option<(ChunkId, ChunkId)>> {
    let here = |capture: &Capture| {
        folder.is_none_or(|folder| capture.folder.as_bytes() == folder.as_os_str().as_bytes())
    };
    let read = |root: &ChunkId| match tree::capture(chunks, root) {
        Ok(capture) => Ok(Some(capture).filter(here)),
        Err(e) if matches!(e.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => Ok(None),
        Err(e) => Err(e),
    };
    Ok(match read(root)? {
        Some(present) if present.present => match present.over {
            Some(over) => read(&over)?.map(|capture| (over, capture.tree)),
            None => None,
        },
        capture => capture.map(|capture| (*root, capture.tree)),
    })
}

fn put_skips(skips: &[Skip], storing: &mut Storing<'_>) -> Result<ChunkList> {
    let mut out = Vec::new();
    let mut list = ChunkList::default();
    let mut put = |out: &mut Vec<u8>| -> Result<()> {
        list.len += out.len() as u64;
        list.chunks.extend(storing.put(&[&*out])?);
        out.clear();
        Ok(())
    };
    for skip in skips {
        skip.encode(&mut out);
        if out.len() >= SKIPS_CHUNK {
            put(&mut out)?;
        }
    }
    if !out.is_empty() {
        put(&mut out)?;
    }
    Ok(list)
}

/// The folder in the store for what concerns workspaces.
pub(crate) fn beside(chunks: &dyn Chunks) -> Result<Option<PathBuf>> {
    let Some(store) = chunks.folder() else {
        return Ok(None);
    };
    let dir = store.join(BESIDE);
    match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(error::io("create", &dir, &e))
        }
        _ => Ok(Some(dir)),
    }
}
