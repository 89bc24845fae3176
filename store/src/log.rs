//! A log as the engine sees it: commits, chunks, and the data derived from them.
//!
//! The engine assigns offsets and chains. A log only stores records, orders them and reads them
//! back.

// tidy: one trait
use milepost_codec::Result;

use crate::commit_log::{ChunkStore, CommitLog};
use crate::index::{EntryVisitor, walk};
use crate::liveness::Liveness;
use crate::projection::{Index, Maintenance};

/// The storage of lineages and control logs, the index over them, and chunks.
pub trait Log: CommitLog + ChunkStore + Index + Maintenance {}

impl<T: CommitLog + ChunkStore + Index + Maintenance> Log for T {}

impl dyn Log {
    /// Returns which content of the logs is live, according to the index.
    ///
    /// # Errors
    ///
    /// Errors of reading the index.
    pub fn live(&self) -> Result<Liveness> {
        Liveness::scanned(&|from, to, limit| self.scan(from, to, false, limit))
    }

    /// Passes all entries of the index whose keys begin with `prefix` to `visit`, in order of keys.
    pub fn walk(&self, prefix: &[u8], visit: &mut EntryVisitor<'_>) -> Result<()> {
        walk(prefix, &|from, to, limit| self.scan(from, to, false, limit), visit)
    }
}
