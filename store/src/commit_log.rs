//! The seam: the two traits that the storage of a log implements. Commits and chunks are the
//! primary data; everything in `projection.rs` is derived from them and can be rebuilt.

use milepost_codec::{ChunkId, Result, Seq};

use crate::commit_batch::CommitBatch;
use crate::process::Owner;

/// Commits in one order, each durable when its append returns.
///
/// Only one caller, the committer, appends at a time.
pub trait CommitLog: Send + Sync {
    /// Returns the process that opened the log. In any other process every call fails with
    /// `Unavailable`.
    fn owner(&self) -> &Owner;

    /// Fails with `Unavailable` and [`Detail::ReadOnly`](milepost_codec::Detail) if the log was
    /// opened for reading only. Callers check this before they change anything, here or elsewhere.
    fn check_writable(&self) -> Result<()> {
        Ok(())
    }

    /// Fails with `Unavailable` if the files of a log opened for reading were replaced since.
    fn check_unmoved(&self) -> Result<()> {
        Ok(())
    }

    /// Stores a batch; when this returns, it survives power loss. `batch.seq` follows the last one,
    /// and each log batch follows its log's head; both are asserted, since the committer has
    /// checked them. After an error the outcome is unknown and every later append fails with
    /// `Poisoned` (promise I11), unless [`CommitLog::has_failed`] returns `false`.
    fn append(&self, batch: CommitBatch) -> Result<()>;

    /// Returns `false` after an append that failed before it wrote anything; the next append may
    /// succeed.
    fn has_failed(&self) -> bool {
        true
    }

    /// Returns the number of the last commit.
    fn seq(&self) -> Seq;
}

/// Contents by their hashes, each stored once.
pub trait ChunkStore: Send + Sync {
    /// Stores a chunk, once. The chunk is durable after `sync_chunks`.
    fn put_chunk(&self, content: &[u8], pieces: bool) -> Result<ChunkId>;

    /// Records a content, and returns `true` if an equal one was recorded before. The answer is a
    /// guess by a fingerprint: a wrong one only costs a chunk.
    fn comes_again(&self, _: &[u8]) -> bool {
        false
    }

    /// Stores chunks of at most 1 MiB each that list no pieces, each once. New chunks are stored
    /// together. They are durable after `sync_chunks`.
    fn put_chunks(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        contents.iter().map(|content| self.put_chunk(content, false)).collect()
    }

    /// Returns for each chunk whether it is stored and, as far as known, intact. Each counts as
    /// used from now on.
    fn has_chunks(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        ids.iter().map(|id| self.get_chunk(id).map(|content| content.is_some())).collect()
    }

    /// Marks stored chunks as needed: a running compaction keeps them.
    fn uses_chunks(&self, _ids: &[ChunkId]) {}

    /// Returns `true` while a compaction is running that `uses_chunks` has to inform.
    fn notes_uses(&self) -> bool {
        false
    }

    /// Sorts chunks by their location, so that reading them in turn reads adjacent bytes. Chunks
    /// that are not stored come last.
    fn order_chunks(&self, _ids: &mut [ChunkId]) -> Result<()> {
        Ok(())
    }

    /// Returns a chunk, or `None` if it was never stored.
    fn get_chunk(&self, id: &ChunkId) -> Result<Option<Vec<u8>>>;

    /// Returns `true` if a chunk lists pieces, and `false` if it was never stored.
    fn lists_pieces(&self, id: &ChunkId) -> Result<bool>;

    /// Returns the number of chunks found damaged since the log was opened, and how many of them
    /// have not been stored again.
    fn damaged_chunks(&self) -> (u64, usize);

    /// Announces that chunks are being stored which no event names yet. They are kept until the
    /// returned guard is dropped.
    fn storing(&self) -> Option<Box<dyn std::any::Any + Send>> {
        None
    }

    /// Makes all chunks stored so far durable.
    fn sync_chunks(&self) -> Result<()>;
}
