//! Storing the content of a folder as a capture.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost::calls::Cancel;
use milepost::events::WorkspaceCaptured;
use milepost::{ErrorKind, Hash, Result};
use milepost_codec::{CHUNK_RAW_MAX, Capture, ChunkId, ChunkList, Node, PathBytes, Skip};

use crate::cache::{self, Cache};
use crate::chunks::Chunks;
use crate::error;
use crate::fs::{Listed, Probe, at_root};
use crate::options::WorkspaceOptions;
use crate::root_checks;
use crate::scan::{ScanInput, ScanRequest, ScanResult, ScanState, Storing, Watching, scan};
use crate::status::States;
use crate::tree;
use crate::workspace::is_gone;

/// Size of a chunk of a list of skips in bytes.
const SKIPS_CHUNK: usize = 256 << 10;

const _: () = assert!(SKIPS_CHUNK <= CHUNK_RAW_MAX);

/// Inputs of a capture.
pub(crate) struct Storage<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) options: &'a WorkspaceOptions,
    pub(crate) states: &'a States,
    pub(crate) chunks: &'a dyn Chunks,
    /// The store's folder for workspaces.
    pub(crate) workspaces_dir: Option<&'a Path>,
    /// The last capture of the folder. What changed since is found by comparing with it.
    pub(crate) known: Option<ChunkId>,
    /// The capture that the lineage names. It must name the one that the folder has.
    pub(crate) named: Option<ChunkId>,
    /// For a present, the target tree of the restore: entries at its paths are captured regardless
    /// of rules and size.
    pub(crate) before: Option<ChunkId>,
    /// `true` if the folder is the captured one, although it was moved since.
    pub(crate) moved: bool,
    /// State between scans, if the folder is watched.
    pub(crate) kept: Option<&'a ScanState>,
    /// Ends the scan early.
    pub(crate) cancel: &'a Cancel,
}

impl<'a> Storage<'a> {
    /// Returns the inputs for a folder that no lineage names.
    pub(crate) fn of(
        folder: &'a Path,
        options: &'a WorkspaceOptions,
        states: &'a States,
        chunks: &'a dyn Chunks,
        workspaces_dir: Option<&'a Path>,
    ) -> Self {
        Self {
            folder,
            options,
            states,
            chunks,
            workspaces_dir,
            known: None,
            named: None,
            before: None,
            moved: false,
            kept: None,
            cancel: &Cancel::NEVER,
        }
    }
}

/// A stored capture, synced if an event has to name it.
pub(crate) struct Stored {
    pub(crate) root: ChunkId,
    pub(crate) tree: ChunkId,
    /// The event to append; `None` if the lineage names an equal capture.
    pub(crate) event: Option<WorkspaceCaptured>,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Number of files read.
    pub(crate) read: u64,
    /// Number of contents given to the store.
    pub(crate) stored: u64,
    /// `true` if the whole folder was scanned.
    pub(crate) whole: bool,
    pub(crate) skips: Vec<Skip>,
}

impl Stored {
    /// Scans a folder, stores its content, and keeps the state for the next scan.
    pub(crate) fn durable(storage: &Storage<'_>) -> Result<Self> {
        let (taken, result) = store(storage)?;
        storage.states.have_read(result.read);
        // If the folder equals the last capture, and the lineage names that one, no event is
        // needed. No present is needed either: an undo restores that capture.
        let same = storage.named == storage.known
            && match (storage.before, taken.last) {
                (Some(_), Some((root, tree))) => tree == result.tree && Some(root) == storage.known,
                (Some(_), None) => false,
                (None, _) => storage.known == Some(taken.root),
            };
        let mut stored = Self {
            root: taken.root,
            tree: result.tree,
            event: None,
            files: result.counts.files,
            bytes: result.counts.bytes,
            read: result.read,
            stored: result.stored,
            whole: result.whole,
            skips: Vec::new(),
        };
        if !same {
            storage.chunks.sync()?;
            stored.event = Some(WorkspaceCaptured {
                root: Hash(taken.root.0),
                files: result.counts.files,
                bytes: result.counts.bytes,
                skipped: result.skips.len() as u64,
            });
        }
        let capture_root = match (same, storage.known) {
            (true, Some(known)) => known,
            _ => taken.root,
        };
        stored.skips = taken.remember(result, capture_root, storage.kept);
        Ok(stored)
    }
}

/// A stored capture that is not synced.
pub(crate) struct CaptureBuild {
    pub(crate) root: ChunkId,
    /// The last capture and its tree.
    pub(crate) last: Option<(ChunkId, ChunkId)>,
    cache: Arc<Cache>,
    watching: Option<Watching>,
    /// Path of the cache file, and identity of the folder.
    place: Option<(PathBuf, cache::Identity)>,
}

impl CaptureBuild {
    /// Writes the cache if it changed. It belongs to `capture_root`, the capture that the lineage
    /// will name. Returns the skips.
    fn remember(
        self,
        mut result: ScanResult,
        capture_root: ChunkId,
        kept: Option<&ScanState>,
    ) -> Vec<Skip> {
        let unchanged = self.cache.capture() == Some(capture_root)
            && result.known == self.cache.files()
            && result.known == result.cache.files();
        result.cache.belongs_to(capture_root);
        if let Some((path, folder)) = self.place.filter(|_| !unchanged) {
            // A failed write only costs the next scan a read of all files.
            let _ = result.cache.write(&path, folder);
        }
        match (self.watching, kept) {
            (Some(watching), Some(kept)) => {
                let skips = result.skips.clone();
                kept.end(watching, result.into_last_scan(), capture_root);
                skips
            }
            _ => result.skips,
        }
    }
}

/// Scans a folder and stores its content.
pub(crate) fn store(storage: &Storage<'_>) -> Result<(CaptureBuild, ScanResult)> {
    let Storage { folder, options, states, chunks, workspaces_dir, .. } = *storage;
    let Storage { known, before, moved, kept, .. } = *storage;
    if options.may_be_gone && is_gone(folder) {
        return store_nothing(storage);
    }
    let root = at_root(folder).map_err(|e| error::io("open", folder, &e.into()))?;
    let itself = root.itself();
    let identity = itself.map_err(|e| error::io("look at", folder, &e.into()))?.identity();
    let store_dir = store_entry(chunks)?;
    if let Some(store) = &store_dir {
        root_checks::check_store(folder, store)?;
    }
    let probe = match workspaces_dir {
        Some(dir) => Probe::in_folder(dir)?,
        None => Probe::in_memory()?,
    };
    let cache_path = workspaces_dir.map(|dir| cache::path_of(dir, identity));
    let last = match known {
        Some(root) => last(chunks, &root, Some(folder).filter(|_| !moved))?,
        None => None,
    };
    let mut recorded: Vec<ChunkId> = last.iter().map(|(_, tree)| *tree).collect();
    recorded.extend(before);
    let watching = kept.and_then(|kept| {
        kept.begin(&ScanRequest {
            root: &root,
            folder,
            identity,
            known,
            recorded: &recorded,
            without_limits: before.is_some(),
            chunks,
            stored: cache_path.as_deref(),
        })
    });
    let cache = match watching.as_ref().and_then(Watching::cache) {
        Some(cache) => cache,
        None => {
            let path = cache_path.as_ref();
            let mut cache = path.and_then(|path| Cache::read(path, identity)).unwrap_or_default();
            cache.rely_on(known, chunks)?;
            Arc::new(cache)
        }
    };
    let mut result = scan(&ScanInput {
        root: &root,
        folder,
        options,
        chunks,
        probe: &probe,
        cache: &cache,
        recorded: &recorded,
        without_limits: before.is_some(),
        check_stored: known.is_some() || cache.files() > 0,
        store: store_dir.map(|dir| dir.identity()),
        states,
        watch: watching.as_ref().map(|watching| &watching.watch),
        since: watching.as_ref().and_then(|watching| watching.since.as_ref()),
        cancel: storage.cancel,
    })?;
    let over = last.filter(|_| before.is_some()).map(|(over, _)| over);
    let root = store_capture(storage, over, &mut result)?;
    let taken = CaptureBuild {
        root,
        last,
        cache,
        watching,
        place: cache_path.map(|path| (path, identity)),
    };
    Ok((taken, result))
}

/// Stores the capture of a folder that does not exist: an empty one.
fn store_nothing(storage: &Storage<'_>) -> Result<(CaptureBuild, ScanResult)> {
    let Storage { folder, chunks, known, before, moved, .. } = *storage;
    let last = match known {
        Some(root) => last(chunks, &root, Some(folder).filter(|_| !moved))?,
        None => None,
    };
    let mut result = ScanResult::empty(chunks)?;
    let over = last.filter(|_| before.is_some()).map(|(over, _)| over);
    let root = store_capture(storage, over, &mut result)?;
    let (cache, watching, place) = (Arc::default(), None, None);
    Ok((CaptureBuild { root, last, cache, watching, place }, result))
}

/// Returns the entry of the store's folder; `None` for a store without one.
fn store_entry(chunks: &dyn Chunks) -> Result<Option<Listed>> {
    let Some(dir) = chunks.folder() else {
        return Ok(None);
    };
    let entry = at_root(dir).and_then(|opened| opened.itself());
    entry.map(Some).map_err(|e| error::io("look at", dir, &e.into()))
}

/// Stores the capture that a scan made. `over` is the capture below a present.
fn store_capture(
    storage: &Storage<'_>,
    over: Option<ChunkId>,
    result: &mut ScanResult,
) -> Result<ChunkId> {
    let mut storing = Storing::new(storage.chunks, true);
    let capture = Capture {
        present: storage.before.is_some(),
        over,
        folder: PathBytes::from(storage.folder.as_os_str().as_bytes()),
        tree: result.tree,
        files: result.counts.files,
        directories: result.counts.directories,
        links: result.counts.links,
        bytes: result.counts.bytes,
        skipped: result.skips.len() as u64,
        skips: skips_stored_by(&result.skips, &mut storing)?,
    };
    let ids = storing.put(&[&Node::Capture(capture).encode()])?;
    result.stored += storing.stored;
    ids.first().copied().ok_or_else(|| {
        milepost::Error::corrupt("the store's answer", "the id of a capture", "none")
    })
}

/// Returns the last capture and its tree; for a present, the capture below it. `None` if that is
/// lost, so that the folder can still be captured.
///
/// Also `None` if the capture belongs to another folder than `folder`: paths recorded there were
/// not recorded here.
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

/// Stores a list of paths that were left out.
pub(crate) fn store_skips(skips: &[Skip], chunks: &dyn Chunks) -> Result<ChunkList> {
    skips_stored_by(skips, &mut Storing::new(chunks, true))
}

fn skips_stored_by(skips: &[Skip], storing: &mut Storing<'_>) -> Result<ChunkList> {
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
