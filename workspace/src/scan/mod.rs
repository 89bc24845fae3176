//! Scans a folder: its content now, as a tree.
//!
//! ```text
//! walk         the directories in order, and what is left out
//! entry        one name: a file, a symbolic link or a directory
//! rules        what `.gitignore` and `.milepostignore` ignore
//! previous     the recorded trees: what is recorded stays recorded
//! incremental  scans only what changed, where folders are watched
//! queue        batches of files for the workers
//! workers      hash files, within bounds
//! file_reader  reads one file, and sees whether it changed meanwhile
//! rescan       files that changed while they were read
//! upload       new contents on their way to the store
//! slots        the workers' results in the order of the walk
//! assemble     the results as directories, bottom up
//! ```

mod assemble;
mod entry;
mod file_reader;
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
use milepost_codec::{ChunkId, Skip};

use crate::cache::Cache;
use crate::chunks::Chunks;
use crate::fs::{Dir, Grain, Probe, Watch};
use crate::options::WorkspaceOptions;
use crate::status::States;
use crate::tree::Counts;

pub(crate) use file_reader::Content;
use incremental::Folders;
pub(crate) use incremental::{Asked, Kept, LastLook, Since, Watching};
pub(crate) use rules::TreeRules;
pub(crate) use upload::Storing;

/// What is to be looked at, and how.
pub(crate) struct Looking<'a> {
    /// The folder's descriptor.
    pub(crate) root: &'a Dir,
    /// Its path: what is above it has rules too.
    pub(crate) folder: &'a Path,
    pub(crate) options: &'a WorkspaceOptions,
    pub(crate) chunks: &'a dyn Chunks,
    pub(crate) probe: &'a Probe,
    pub(crate) cache: &'a Cache,
    /// Trees that say what is recorded: it is taken though a rule ignores it.
    pub(crate) recorded: &'a [ChunkId],
    /// Whether it is taken however large it is, too.
    pub(crate) without_limits: bool,
    /// Whether something of this folder was stored before.
    pub(crate) ask: bool,
    /// Device and inode of the store's folder.
    pub(crate) store: Option<(u64, u64)>,
    pub(crate) states: &'a States,
    /// Where the folder is watched, and what may be relied on.
    pub(crate) watch: Option<&'a Watch>,
    pub(crate) since: Option<&'a Since>,
}

/// What a folder holds. All of it is stored, and not synced.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) tree: ChunkId,
    pub(crate) counts: Counts,
    /// What was left out, in order of paths.
    pub(crate) skips: Vec<Skip>,
    /// Files that were read.
    pub(crate) read: u64,
    /// Contents that were handed to the store.
    pub(crate) stored: u64,
    /// Files that the cache knew.
    pub(crate) known: u64,
    /// Whether all of the folder was looked at.
    pub(crate) whole: bool,
    pub(crate) cache: Cache,
    folders: Folders,
}

impl Looked {
    /// What it saw, for the next look.
    pub(crate) fn kept(self) -> LastLook {
        LastLook {
            tree: self.tree,
            skips: self.skips,
            cache: Arc::new(self.cache),
            folders: self.folders,
        }
    }
}

/// Looks at a folder.
pub(crate) fn look(looking: &Looking<'_>) -> Result<Looked> {
    let looked = once(looking)?;
    match looked {
        Some(looked) => Ok(looked),
        None => {
            let whole = Looking { since: None, ..*looking };
            let looked = once(&whole)?;
            looked.ok_or_else(|| {
                milepost::Error::corrupt("the look at the workspace", "a tree", "none")
            })
        }
    }
}

/// Looks once; nothing where what was relied on is not enough.
fn once(looking: &Looking<'_>) -> Result<Option<Looked>> {
    let now = looking.probe.now()?;
    let found = looking.root.itself().map_err(|e| crate::error::below("look at", b"", e))?;
    let grain = Grain::new(looking.probe.is_on(found.device));
    grain.see(&found.stamp);
    let Looking { chunks, ask, .. } = *looking;
    let workers = looking.options.workers;
    std::thread::scope(|scope| {
        let jobs = queue::Jobs::new(scope, workers, chunks, ask, &grain);
        walk::Walk::new(looking, jobs, &grain, now, found).all()
    })
}

/// A shared directory.
type SharedDir = Arc<Dir>;
