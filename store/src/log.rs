//! A log as the engine sees it: commits, chunks, and what is read of them.
//!
//! The engine assigns offsets and chains, so a log needs no knowledge of either: it stores, orders
//! and gives back.

// tidy: one trait
use milepost_codec::Result;

use crate::commit_log::{ChunkStore, CommitLog};
use crate::index::{Shown, walk};
use crate::liveness::Liveness;
use crate::projection::{Index, Maintenance};

/// Where logs are kept: lineages and control logs, the index over them, and chunks.
pub trait Log: CommitLog + ChunkStore + Index + Maintenance {}

impl<T: CommitLog + ChunkStore + Index + Maintenance> Log for T {}

impl dyn Log {
    /// Returns the part of the logs that retention kept, as the index has it.
    ///
    /// # Errors
    ///
    /// Those of reading the index.
    pub fn live(&self) -> Result<Liveness> {
        Liveness::scanned(&|from, to, limit| self.scan(from, to, false, limit))
    }

    /// Shows all entries of the index whose keys begin so, in order of keys.
    pub fn walk(&self, prefix: &[u8], show: &mut Shown<'_>) -> Result<()> {
        walk(prefix, &|from, to, limit| self.scan(from, to, false, limit), show)
    }
}
