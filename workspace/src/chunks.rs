//! Where contents are kept: what a look and a read need of a store, and no more. Who stores holds and
//! syncs the store itself.

use std::path::Path;
use std::sync::Arc;

use milepost::{ChunkStore, Result};
use milepost_codec::ChunkId;

/// A store of contents, each under its hash.
pub(crate) trait Chunks: Send + Sync {
    /// Stores contents, neighbours together.
    fn put(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>>;

    /// Which are stored, as far as is known. Each counts as used.
    fn has(&self, ids: &[ChunkId]) -> Result<Vec<bool>>;

    /// Counts chunks as used that are known to be stored.
    fn uses(&self, ids: &[ChunkId]);

    /// A content, checked. `NotFound` and `Corrupt` where it is not what was stored.
    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>>;

    /// The folder of the store, where it has one.
    fn folder(&self) -> Option<&Path>;
}

impl Chunks for ChunkStore {
    fn put(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        Self::put(self, contents)
    }

    fn has(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        Self::has(self, ids)
    }

    fn uses(&self, ids: &[ChunkId]) {
        Self::uses(self, ids);
    }

    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>> {
        Self::get(self, id)
    }

    fn folder(&self) -> Option<&Path> {
        Self::folder(self)
    }
}
