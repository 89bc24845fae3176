//! What the last look saw, where the folder is watched: the next one goes only where something
//! happened since.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use milepost_codec::{ChunkId, PathBytes, Skip, SkipReason, TreePath};
use parking_lot::Mutex;

use super::rules::Rules;
use crate::cache::{Cache, Identity};
use crate::chunks::Chunks;
use crate::fs::{Dir, Happened, Watch};
use crate::path_range::{any_below, below, is_below};
use crate::tree::{self, Counts};

/// How many looks rely on the one before, until one is whole again.
const LOOKS: u8 = 63;

/// Skips that are looked for in another tree, at most.
const SKIPS_MAX: usize = 1000;

/// A folder as a look saw it, without the folders in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeenFolder {
    pub(super) identity: Identity,
    pub(super) id: ChunkId,
    pub(super) counts: Counts,
    pub(super) marks: Marks,
}

/// What has to be known of a folder beside what is in it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    /// Something in it may change with no event.
    pub(super) restless: bool,
    /// Something in it was taken though a rule ignores it, since it is recorded.
    pub(super) ignored: bool,
    /// Something in it was taken though it is over a limit, since it is recorded; or its rules have
    /// another name, by which they can change with no event.
    pub(super) limits: bool,
}

/// All that a look saw.
#[derive(Debug)]
pub(crate) struct LastLook {
    pub(crate) tree: ChunkId,
    pub(crate) skips: Vec<Skip>,
    pub(crate) cache: Arc<Cache>,
    pub(super) folders: Folders,
}

/// The folders that a look saw, by their paths.
pub(super) type Folders = BTreeMap<Box<[u8]>, SeenFolder>;

/// What a handle keeps from one look to the next.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<Option<Inner>>);

#[derive(Debug)]
struct Inner {
    watch: Watch,
    last: LastLook,
    /// The capture that the lineage names since.
    capture: ChunkId,
    ground: Ground,
    left: u8,
}

/// What else decides over what a look takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ground {
    /// Of the folder itself.
    identity: Identity,
    /// Of the rules above it, and what is mounted below it.
    digest: [u8; 32],
}

impl Ground {
    fn of(folder: &Path, identity: Identity) -> Option<Self> {
        let mut hasher = blake3::Hasher::new();
        let mounts = std::fs::read("/proc/self/mountinfo").ok()?;
        let folder_shown = shown(folder);
        for line in mounts.split(|byte| *byte == b'\n') {
            let place = line.split(|byte| *byte == b' ').nth(4).unwrap_or_default();
            if is_below(&folder_shown, place) {
                hasher.update(line).update(b"\n");
            }
        }
        hasher.update(&Rules::digest_above(folder));
        Some(Self { identity, digest: *hasher.finalize().as_bytes() })
    }
}

/// A path as the list of mounts shows it: see `proc_pid_mountinfo(5)`.
fn shown(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut shown = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => {
                shown.extend_from_slice(format!("\\{byte:03o}").as_bytes());
            }
            byte => shown.push(*byte),
        }
    }
    shown
}

/// What a look is asked for.
pub(crate) struct Asked<'a> {
    pub(crate) root: &'a Dir,
    pub(crate) folder: &'a Path,
    pub(crate) identity: Identity,
    /// The capture that the lineage names.
    pub(crate) known: Option<ChunkId>,
    /// Trees that say what is recorded, and whether what they have is taken however large it is.
    pub(crate) recorded: &'a [ChunkId],
    pub(crate) without_limits: bool,
    pub(crate) chunks: &'a dyn Chunks,
    /// Where the stat cache is stored. A repair that let go of chunks takes it away.
    pub(crate) stored: Option<&'a Path>,
}

/// One look at a folder that is watched.
pub(crate) struct Watching {
    pub(crate) watch: Watch,
    /// What it may rely on; nothing where it is a whole one.
    pub(crate) since: Option<Since>,
    ground: Ground,
    left: u8,
}

impl Watching {
    /// What is known of files by the last look.
    pub(crate) fn cache(&self) -> Option<Arc<Cache>> {
        let since = self.since.as_ref()?;
        Some(Arc::clone(&since.last.cache))
    }
}

/// The last look, and what happened since.
pub(crate) struct Since {
    pub(super) last: LastLook,
    happened: Happened,
    /// Folders in which something may have happened with no event.
    restless: BTreeSet<Box<[u8]>>,
}

impl Kept {
    /// Begins a look. Nothing is kept until it ends; nothing where the folder cannot be watched.
    pub(crate) fn begin(&self, asked: &Asked<'_>) -> Option<Watching> {
        let inner = self.0.lock().take();
        let ground = Ground::of(asked.folder, asked.identity)?;
        if let Some(inner) = inner.filter(|inner| inner.ground == ground && inner.left > 0) {
            let happened = inner.watch.happened(Rules::is_file);
            if !happened.lost && inner.is_enough(asked) {
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
        let watch = Watch::begin(asked.root);
        watch.map(|watch| Watching { watch, since: None, ground, left: LOOKS })
    }

    /// Keeps what a look saw, which has led to a capture.
    pub(crate) fn end(&self, watching: Watching, last: LastLook, capture: ChunkId) {
        if watching.watch.is_whole() {
            *self.0.lock() = Some(Inner {
                watch: watching.watch,
                last,
                capture,
                ground: watching.ground,
                left: watching.left,
            });
        }
    }

    /// What is known of the files, where a capture is the one that the last look led to.
    pub(crate) fn cache(&self, capture: ChunkId) -> Option<Arc<Cache>> {
        let kept = self.0.lock();
        let inner = kept.as_ref().filter(|inner| inner.capture == capture)?;
        Some(Arc::clone(&inner.last.cache))
    }

    /// How many folders are watched.
    pub(crate) fn folders(&self) -> Option<usize> {
        self.0.lock().as_ref().map(|inner| inner.watch.folders())
    }
}

impl Inner {
    /// Whether what did not change would be taken now as it was then.
    fn is_enough(&self, asked: &Asked<'_>) -> bool {
        let any =
            |mark: fn(&Marks) -> bool| self.last.folders.values().any(|seen| mark(&seen.marks));
        let limited = |skip: &Skip| skip.reason == SkipReason::Limit;
        if asked.known != Some(self.capture)
            || asked.stored.is_some_and(|stored| !stored.exists())
            // What it stands on has to be counted, one by one.
            || asked.chunks.notes_uses()
            || any(|marks| marks.limits)
            || self.last.skips.iter().any(limited)
        {
            return false;
        }
        // What is ignored and was taken is recorded nowhere any more.
        if any(|marks| marks.ignored) && !asked.recorded.contains(&self.last.tree) {
            return false;
        }
        let mut others = asked.recorded.iter().filter(|tree| **tree != self.last.tree);
        !others.any(|tree| any(|marks| marks.ignored) || self.may_have_skipped(tree, asked))
    }

    /// Whether a tree has something that was left out, and would be taken for that.
    fn may_have_skipped(&self, tree: &ChunkId, asked: &Asked<'_>) -> bool {
        let decides = |skip: &&Skip| match skip.reason {
            SkipReason::Ignored => true,
            SkipReason::Large => asked.without_limits,
            _ => false,
        };
        // A whole look says what is wrong with what cannot be read.
        let has = |skip: &Skip| {
            let path = TreePath::new(skip.path.as_bytes());
            !path.is_ok_and(|path| matches!(tree::find(asked.chunks, tree, &path), Ok(None)))
        };
        let mut skips = self.last.skips.iter().filter(decides).enumerate();
        skips.any(|(n, skip)| n >= SKIPS_MAX || has(skip))
    }
}

impl Since {
    /// Whether the last look saw another folder at a path, or none.
    pub(super) fn is_foreign(&self, path: &[u8], identity: Identity) -> bool {
        let seen = self.last.folders.get(path);
        seen.is_none_or(|seen| seen.identity != identity)
    }

    /// Whether something happened in a folder itself.
    pub(super) fn has_changed(&self, path: &[u8]) -> bool {
        self.happened.changed.contains(path)
    }

    /// Whether nothing happened in a folder and below it, which is still the one that was seen.
    /// What was made in its place is another one, or has its number since it was removed, which is
    /// told.
    pub(super) fn is_as_seen(&self, path: &[u8], identity: Identity) -> bool {
        let seen = self.last.folders.get(path);
        seen.is_some_and(|seen| seen.identity == identity)
            && !any_below(&self.restless, path)
            && !any_below(&self.happened.changed, path)
    }
}

impl LastLook {
    /// A folder and all below it.
    pub(super) fn folders_of(&self, path: &[u8]) -> impl Iterator<Item = (&[u8], &SeenFolder)> {
        below(&self.folders, path)
    }

    /// What was left out below a folder.
    pub(super) fn skips_of(&self, path: &[u8]) -> impl Iterator<Item = &Skip> {
        let (path, folder) = (PathBytes::from(path), path.to_vec());
        let from = self.skips.partition_point(|skip| skip.path < path);
        let rest = self.skips.get(from..).unwrap_or_default();
        rest.iter().take_while(move |skip| is_below(&folder, skip.path.as_bytes()))
    }
}

#[cfg(test)]
mod tests;
