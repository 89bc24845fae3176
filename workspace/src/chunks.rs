//! Where contents are kept: what a look, a read and a restore need of a store, and no more. Who
//! stores holds the store itself.

use std::path::Path;
use std::sync::Arc;

use milepost::{ChunkStore, Result};
use milepost_codec::ChunkId;

/// Where contents are read from, each by its hash.
pub(crate) trait Contents: Send + Sync {
    /// A content, checked to be of its hash: `NotFound` where it is not stored, `Corrupt` where it
    /// is damaged.
    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>>;

    /// Which are stored, as far as is known. Each counts as used.
    fn has(&self, ids: &[ChunkId]) -> Result<Vec<bool>>;
}

/// A store of contents.
pub(crate) trait Chunks: Contents {
    /// Stores contents, neighbours together.
    fn put(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>>;

    /// Makes what was stored so far survive power loss.
    fn sync(&self) -> Result<()>;

    /// Counts chunks as used that are known to be stored.
    fn uses(&self, ids: &[ChunkId]);

    /// Whether anybody takes note of what is used, as a compaction does that was under way when the
    /// store was held.
    fn notes_uses(&self) -> bool;

    /// The folder of the store, where it has one.
    fn folder(&self) -> Option<&Path>;

    /// Returns `false` for a store that was opened for reading only: nothing is cached in its
    /// folder.
    fn is_writable(&self) -> bool {
        true
    }
}

impl Contents for ChunkStore {
    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>> {
        Self::get(self, id)
    }

    fn has(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        Self::has(self, ids)
    }
}

impl Chunks for ChunkStore {
    fn put(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        Self::put(self, contents)
    }

    fn sync(&self) -> Result<()> {
        Self::sync(self)
    }

    fn uses(&self, ids: &[ChunkId]) {
        Self::uses(self, ids);
    }

    fn notes_uses(&self) -> bool {
        Self::notes_uses(self)
    }

    fn folder(&self) -> Option<&Path> {
        Self::folder(self)
    }

    fn is_writable(&self) -> bool {
        self.check_writable().is_ok()
    }
}
