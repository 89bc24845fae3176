//! Traits of the content store, as far as a scan, a read and a restore need it. Writers hold the
//! store (`ChunkHold`) themselves.

use std::path::Path;
use std::sync::Arc;

use milepost::Result;
use milepost::store::ChunkStore;
use milepost_codec::ChunkId;

/// Read access to contents by hash.
pub(crate) trait Contents: Send + Sync {
    /// Returns a content, checked against its hash. `NotFound`: it is not stored. `Corrupt`: it is
    /// damaged.
    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>>;

    /// Returns for each id whether it is stored, as far as known. Marks each as used.
    fn has(&self, ids: &[ChunkId]) -> Result<Vec<bool>>;
}

/// A content store.
pub(crate) trait Chunks: Contents {
    /// Stores contents, adjacent ones together.
    fn put(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>>;

    /// Makes the contents stored so far survive power loss.
    fn sync(&self) -> Result<()>;

    /// Marks chunks that are known to be stored as used.
    fn uses(&self, ids: &[ChunkId]);

    /// Returns `true` if `uses` has an effect: a compaction was under way when the hold was taken.
    fn notes_uses(&self) -> bool;

    /// Returns the store's folder, if it has one.
    fn folder(&self) -> Option<&Path>;

    /// Returns `false` if the store is open for reading only: nothing is cached in its folder.
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
