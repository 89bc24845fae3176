//! Incremental scans of a watched folder: a scan visits only folders that changed since the last
//! one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use milepost_codec::{ChunkId, PathBytes, Skip, SkipReason, TreePath};
use parking_lot::Mutex;

use super::rules::Rules;
use crate::cache::{Cache, Identity};
use crate::chunks::Chunks;
use crate::fs::{Dir, Happened, Watch, mounts_below};
use crate::path_range::{any_below, below, is_below};
use crate::tree::{self, Counts};

/// Number of incremental scans after a complete one.
const LOOKS: u8 = 63;

/// Maximum number of skips that are looked up in another tree.
const SKIPS_MAX: usize = 1000;

/// A scanned folder, without its subfolders.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScannedFolder {
    pub(super) identity: Identity,
    pub(super) id: ChunkId,
    pub(super) counts: Counts,
    pub(super) marks: Marks,
}

/// Properties of a folder's direct entries that limit the reuse of a scan.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    /// An entry may change without an event.
    pub(super) restless: bool,
    /// An entry was captured although a rule ignores it, since it is recorded.
    pub(super) ignored: bool,
    /// An entry was captured although it is over a limit, since it is recorded; or a rule file has
    /// another link, through which it can change without an event.
    pub(super) limits: bool,
}

/// Results of the last scan.
#[derive(Debug)]
pub(crate) struct LastScan {
    pub(crate) tree: ChunkId,
    pub(crate) skips: Vec<Skip>,
    pub(crate) cache: Arc<Cache>,
    pub(super) folders: Folders,
}

/// Scanned folders by path.
pub(super) type Folders = BTreeMap<Box<[u8]>, ScannedFolder>;

/// State that a handle keeps between scans.
#[derive(Debug, Default)]
pub(crate) struct ScanState(Mutex<Option<Inner>>);

#[derive(Debug)]
struct Inner {
    watch: Watch,
    last: LastScan,
    /// The capture that the lineage has named since.
    capture: ChunkId,
    ground: Ground,
    left: u8,
}

/// Conditions of a scan besides the folder's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ground {
    /// Identity of the folder.
    identity: Identity,
    /// Digest of the rules above the folder and the mounts below it.
    digest: [u8; 32],
}

impl Ground {
    fn of(folder: &Path, identity: Identity) -> Option<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&mounts_below(folder)?);
        hasher.update(&Rules::digest_above(folder));
        Some(Self { identity, digest: *hasher.finalize().as_bytes() })
    }
}

/// Inputs for the decision on a scan.
pub(crate) struct ScanRequest<'a> {
    pub(crate) root: &'a Dir,
    pub(crate) folder: &'a Path,
    pub(crate) identity: Identity,
    /// The capture that the lineage names.
    pub(crate) known: Option<ChunkId>,
    /// Trees of recorded paths, and whether these are captured regardless of their size.
    pub(crate) recorded: &'a [ChunkId],
    pub(crate) without_limits: bool,
    pub(crate) chunks: &'a dyn Chunks,
    /// Path of the stored stat cache. A repair that drops chunks removes it.
    pub(crate) stored: Option<&'a Path>,
}

/// One scan of a watched folder.
pub(crate) struct Watching {
    pub(crate) watch: Watch,
    /// The last scan to reuse; `None` for a complete scan.
    pub(crate) since: Option<Since>,
    ground: Ground,
    left: u8,
}

impl Watching {
    /// Returns the cache of the last scan.
    pub(crate) fn cache(&self) -> Option<Arc<Cache>> {
        let since = self.since.as_ref()?;
        Some(Arc::clone(&since.last.cache))
    }
}

/// The last scan, and the changes since.
pub(crate) struct Since {
    pub(super) last: LastScan,
    happened: Happened,
    /// Folders that may have changed without an event.
    restless: BTreeSet<Box<[u8]>>,
}

impl ScanState {
    /// Begins a scan, and removes the kept state until the scan ends. Returns `None` if the folder
    /// cannot be watched.
    pub(crate) fn begin(&self, request: &ScanRequest<'_>) -> Option<Watching> {
        let inner = self.0.lock().take();
        let ground = Ground::of(request.folder, request.identity)?;
        if let Some(inner) = inner.filter(|inner| inner.ground == ground && inner.left > 0) {
            let happened = inner.watch.happened(Rules::is_file);
            if !happened.lost && inner.is_enough(request) {
                let folders = inner.last.folders.iter();
                let restless = folders.filter(|(_, seen)| seen.marks.restless);
                let restless = restless.map(|(path, _)| path.clone()).collect();
                let since = Since { last: inner.last, happened, restless };
                return Some(Watching {
                    watch: inner.watch,
                    since: Some(since),
                    ground,
                    left: inner.left - 1,
                });
            }
        }
        let watch = Watch::begin(request.root);
        watch.map(|watch| Watching { watch, since: None, ground, left: LOOKS })
    }

    /// Keeps the results of a scan that led to a capture.
    pub(crate) fn end(&self, watching: Watching, last: LastScan, capture: ChunkId) {
        if watching.watch.is_complete() {
            *self.0.lock() = Some(Inner {
                watch: watching.watch,
                last,
                capture,
                ground: watching.ground,
                left: watching.left,
            });
        }
    }

    /// Returns the cache of the last scan, if that led to this capture.
    pub(crate) fn cache(&self, capture: ChunkId) -> Option<Arc<Cache>> {
        let kept = self.0.lock();
        let inner = kept.as_ref().filter(|inner| inner.capture == capture)?;
        Some(Arc::clone(&inner.last.cache))
    }

    /// Returns the number of watched folders.
    pub(crate) fn folders(&self) -> Option<usize> {
        self.0.lock().as_ref().map(|inner| inner.watch.folders())
    }
}

impl Inner {
    /// Returns `true` if unchanged entries would be captured as in the last scan.
    fn is_enough(&self, request: &ScanRequest<'_>) -> bool {
        let any =
            |mark: fn(&Marks) -> bool| self.last.folders.values().any(|seen| mark(&seen.marks));
        let limited = |skip: &Skip| skip.reason == SkipReason::Limit;
        if request.known != Some(self.capture)
            || request.stored.is_some_and(|stored| !stored.exists())
            // A compaction needs each used chunk marked one by one.
            || request.chunks.notes_uses()
            || any(|marks| marks.limits)
            || self.last.skips.iter().any(limited)
        {
            return false;
        }
        // Entries captured despite a rule are no longer recorded.
        if any(|marks| marks.ignored) && !request.recorded.contains(&self.last.tree) {
            return false;
        }
        let mut others = request.recorded.iter().filter(|tree| **tree != self.last.tree);
        !others.any(|tree| any(|marks| marks.ignored) || self.may_have_skipped(tree, request))
    }

    /// Returns `true` if a tree records a path that was left out and would be captured now.
    fn may_have_skipped(&self, tree: &ChunkId, request: &ScanRequest<'_>) -> bool {
        let decides = |skip: &&Skip| match skip.reason {
            SkipReason::Ignored | SkipReason::Default => true,
            SkipReason::Large => request.without_limits,
            _ => false,
        };
        // A complete scan reports errors of unreadable trees.
        let has = |skip: &Skip| {
            let path = TreePath::new(skip.path.as_bytes());
            !path.is_ok_and(|path| matches!(tree::find(request.chunks, tree, &path), Ok(None)))
        };
        let mut skips = self.last.skips.iter().filter(decides).enumerate();
        skips.any(|(n, skip)| n >= SKIPS_MAX || has(skip))
    }
}

impl Since {
    /// Returns `true` if the last scan saw another folder at a path, or none.
    pub(super) fn is_foreign(&self, path: &[u8], identity: Identity) -> bool {
        let seen = self.last.folders.get(path);
        seen.is_none_or(|seen| seen.identity != identity)
    }

    /// Returns `true` if a folder itself changed.
    pub(super) fn has_changed(&self, path: &[u8]) -> bool {
        self.happened.changed.contains(path)
    }

    /// Returns `true` if a folder is still the same, and nothing changed in it and below. A new
    /// folder in its place has another identity, or the same inode after a removal, which is
    /// reported.
    pub(super) fn is_unchanged(&self, path: &[u8], identity: Identity) -> bool {
        let seen = self.last.folders.get(path);
        seen.is_some_and(|seen| seen.identity == identity)
            && !any_below(&self.restless, path)
            && !any_below(&self.happened.changed, path)
    }
}

impl LastScan {
    /// Returns a folder and all folders below it.
    pub(super) fn folders_of(&self, path: &[u8]) -> impl Iterator<Item = (&[u8], &ScannedFolder)> {
        below(&self.folders, path)
    }

    /// Returns the skips below a folder.
    pub(super) fn skips_of(&self, path: &[u8]) -> impl Iterator<Item = &Skip> {
        let (path, folder) = (PathBytes::from(path), path.to_vec());
        let from = self.skips.partition_point(|skip| skip.path < path);
        let rest = self.skips.get(from..).unwrap_or_default();
        rest.iter().take_while(move |skip| is_below(&folder, skip.path.as_bytes()))
    }
}

// Each case needs a watched folder.
#[cfg(all(test, target_os = "linux", not(milepost_portable)))]
mod tests;
