//! Scans a folder: its present content, as a tree.
//!
//! ```text
//! walk         the directories in order, and the paths left out
//! entry        one name: a file, a symbolic link or a directory
//! rules        paths that `.gitignore` and `.milepostignore` ignore
//! git_pattern  what git means by a line of rules
//! git_index    paths that git tracks
//! previous     the recorded trees: recorded paths stay recorded
//! incremental  scans only changes, if folders are watched
//! queue        batches of files for the workers
//! workers      hash files, within bounds
//! file_reader  reads one file, and detects changes during the read
//! rescan       files that changed while they were read
//! upload       new contents on their way to the store
//! slots        the workers' results in the order of the walk
//! assemble     the results as directories, bottom up
//! ```

mod assemble;
mod entry;
mod file_reader;
mod git_index;
mod git_pattern;
mod incremental;
mod previous;
mod queue;
mod rescan;
mod rules;
mod slots;
mod upload;
mod walk;
mod workers;

use std::path::Path;
use std::sync::Arc;

use milepost::Result;
use milepost::calls::Cancel;
use milepost_codec::{ChunkId, Node, Skip, encode_directory};

use crate::cache::Cache;
use crate::chunks::Chunks;
use crate::fs::{Dir, Grain, Probe, Watch};
use crate::options::WorkspaceOptions;
use crate::status::States;
use crate::tree::Counts;

use incremental::Folders;
pub(crate) use incremental::{LastScan, ScanRequest, ScanState, Since, Watching};
pub(crate) use rules::TreeRules;
pub use rules::{DEFAULT_IGNORES, left_out};
pub(crate) use upload::Storing;

/// Inputs of a scan.
pub(crate) struct ScanInput<'a> {
    /// Descriptor of the folder.
    pub(crate) root: &'a Dir,
    /// Path of the folder: its ancestors have rules too.
    pub(crate) folder: &'a Path,
    pub(crate) options: &'a WorkspaceOptions,
    pub(crate) chunks: &'a dyn Chunks,
    pub(crate) probe: &'a Probe,
    pub(crate) cache: &'a Cache,
    /// Trees of recorded paths, which are captured even if a rule ignores them.
    pub(crate) recorded: &'a [ChunkId],
    /// `true` if recorded paths are captured regardless of their size too.
    pub(crate) without_limits: bool,
    /// `true` if contents of this folder were stored before.
    pub(crate) check_stored: bool,
    /// Device and inode of the store's folder.
    pub(crate) store: Option<(u64, u64)>,
    pub(crate) states: &'a States,
    /// Watch of the folder, and the last scan if it is reliable.
    pub(crate) watch: Option<&'a Watch>,
    pub(crate) since: Option<&'a Since>,
    /// Ends the scan early.
    pub(crate) cancel: &'a Cancel,
}

/// Result of a scan. All contents are stored, but not synced.
#[derive(Debug)]
pub(crate) struct ScanResult {
    pub(crate) tree: ChunkId,
    pub(crate) counts: Counts,
    /// Paths left out, in order.
    pub(crate) skips: Vec<Skip>,
    /// Number of files read.
    pub(crate) read: u64,
    /// Number of contents given to the store.
    pub(crate) stored: u64,
    /// Number of files found in the cache.
    pub(crate) known: u64,
    /// `true` if the scan visited the whole folder.
    pub(crate) whole: bool,
    pub(crate) cache: Cache,
    folders: Folders,
}

impl ScanResult {
    /// Returns the result for a folder without contents, whose tree is stored.
    pub(crate) fn empty(chunks: &dyn Chunks) -> Result<Self> {
        let mut storing = Storing::new(chunks, true);
        let tree = encode_directory(&[], &mut |_, _| ());
        storing.put(&[&Node::Directory(Vec::new()).encode()])?;
        Ok(Self {
            tree,
            counts: Counts::default(),
            skips: Vec::new(),
            read: 0,
            stored: storing.stored,
            known: 0,
            whole: true,
            cache: Cache::default(),
            folders: Folders::default(),
        })
    }

    /// Returns the state for the next scan.
    pub(crate) fn into_last_scan(self) -> LastScan {
        LastScan {
            tree: self.tree,
            skips: self.skips,
            cache: Arc::new(self.cache),
            folders: self.folders,
        }
    }
}

/// Scans a folder.
pub(crate) fn scan(input: &ScanInput<'_>) -> Result<ScanResult> {
    let result = once(input)?;
    match result {
        Some(result) => Ok(result),
        None => {
            let whole = ScanInput { since: None, ..*input };
            let result = once(&whole)?;
            result.ok_or_else(|| {
                milepost::Error::corrupt("the look at the workspace", "a tree", "none")
            })
        }
    }
}

/// Scans once. Returns `None` if the last scan turned out to be unreliable.
fn once(input: &ScanInput<'_>) -> Result<Option<ScanResult>> {
    let now = input.probe.now()?;
    let found = input.root.itself().map_err(|e| crate::error::below("look at", b"", e))?;
    let grain = Grain::new(input.probe.is_on(found.device));
    grain.see(&found.stamp);
    let ScanInput { chunks, check_stored, .. } = *input;
    let workers = input.options.workers;
    std::thread::scope(|scope| {
        let jobs = queue::Jobs::new(scope, workers, chunks, check_stored, &grain);
        walk::Walk::new(input, jobs, &grain, now, found).all()
    })
}

/// A shared directory.
type SharedDir = Arc<Dir>;
