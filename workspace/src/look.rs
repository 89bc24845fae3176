//! Looking at a folder: what it holds now, as a tree.
//!
//! ```text
//! walk.rs       the folders, one after another: what is taken, what is left out
//! rules.rs      what rules ignore                     last.rs    what is recorded stays recorded
//! work.rs       the workers, and what bounds them     jobs.rs    their jobs
//! read.rs       a file, read well                     store.rs   contents on their way to the store
//! again.rs      what was written to meanwhile
//! place.rs      results into their places            assemble.rs   and into directories
//! ```

mod again;
mod assemble;
mod jobs;
mod last;
mod place;
mod read;
mod rules;
mod store;
mod walk;
mod work;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use milepost::Result;
use milepost_codec::{ChunkId, Skip};

use crate::cache::{Cache, CacheBuilder};
use crate::chunks::Chunks;
use crate::fs::{Dir, Probe};
use crate::options::WorkspaceOptions;
use crate::status::Watched;

pub(crate) use read::Content;
pub(crate) use store::Storing;
use work::Grain;

/// What is to be looked at, and how.
pub(crate) struct Looking<'a> {
    /// The folder's descriptor.
    pub(crate) root: Dir,
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
    pub(crate) watched: &'a Watched,
}

/// What a folder holds. All of it is stored, and not synced.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) tree: ChunkId,
    pub(crate) files: u64,
    pub(crate) directories: u64,
    pub(crate) links: u64,
    pub(crate) bytes: u64,
    /// What was left out, in order of paths.
    pub(crate) skips: Vec<Skip>,
    /// Files that were read.
    pub(crate) read: u64,
    /// Contents that were handed to the store.
    pub(crate) stored: u64,
    /// Files that the cache knew.
    pub(crate) known: u64,
    pub(crate) cache: CacheBuilder,
}

/// Looks at a folder.
pub(crate) fn look(looking: Looking<'_>) -> Result<Looked> {
    let now = looking.probe.now()?;
    let found = looking
        .root
        .itself()
        .map_err(|e| crate::error::below("look at", b"", e))?;
    let grain = Grain {
        one_device: looking.probe.is_on(found.device),
        fine: AtomicBool::new(found.stamp.fine()),
    };
    let Looking { chunks, ask, .. } = looking;
    let workers = looking.options.workers;
    std::thread::scope(|scope| {
        let jobs = jobs::Jobs::new(scope, workers, chunks, ask, &grain);
        walk::Walk::new(&looking, jobs, &grain, now, found).all()
    })
}

/// A shared directory.
type SharedDir = Arc<Dir>;
