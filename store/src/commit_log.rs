//! The seam: the two traits that the storage of a log implements. Commits and chunks are the truth;
//! everything in `projection.rs` is made of them and can be made anew.

use milepost_codec::{ChunkId, Result, Seq};

use crate::commit_batch::CommitBatch;
use crate::process::Owner;

/// Commits in one order, each durable when its append returns.
///
/// One caller appends at a time (the committer).
pub trait CommitLog: Send + Sync {
    /// The process that opened it: in another one every call fails with `Unavailable`.
    fn owner(&self) -> &Owner;

    /// `Unavailable` with [`Detail::ReadOnly`](milepost_codec::Detail) where the log was opened for
    /// reading only. Callers ask before they change anything, here or elsewhere.
    fn check_writable(&self) -> Result<()> {
        Ok(())
    }

    /// `Unavailable` if the files of a log opened for reading were replaced since.
    fn check_unmoved(&self) -> Result<()> {
        Ok(())
    }

    /// Stores a batch: when this returns, it survives power loss. `batch.seq` follows the last
    /// one, and each group follows its log's head; both are asserted, since the committer has
    /// checked them. After an error the outcome is unknown and every later call to append fails
    /// with `Poisoned` (promise I11), unless [`CommitLog::has_failed`] says otherwise.
    fn append(&self, batch: CommitBatch) -> Result<()>;

    /// Returns `false` after an append that failed before it wrote anything: nothing of it is
    /// there, and the next may succeed.
    fn has_failed(&self) -> bool {
        true
    }

    /// The last commit.
    fn seq(&self) -> Seq;
}

/// Contents by their hashes, each stored once.
pub trait ChunkStore: Send + Sync {
    /// Stores a chunk, once. It is durable after `sync_chunks`.
    fn put_chunk(&self, content: &[u8], pieces: bool) -> Result<ChunkId>;

    /// Stores chunks of at most 1 MiB each that list no pieces, each once; those that are not there
    /// together. They are durable after `sync_chunks`.
    fn put_chunks(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        contents.iter().map(|content| self.put_chunk(content, false)).collect()
    }

    /// Returns for each chunk whether it is stored, and whole as far as is known. Each counts as
    /// used from now on.
    fn has_chunks(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        ids.iter().map(|id| self.get_chunk(id).map(|content| content.is_some())).collect()
    }

    /// Says that chunks which are there are needed: a compaction that is under way keeps them.
    fn uses_chunks(&self, _ids: &[ChunkId]) {}

    /// Returns `true` while a compaction is under way, which `uses_chunks` informs.
    fn notes_uses(&self) -> bool {
        false
    }

    /// Puts chunks into the order in which they lie, so that reading them one after another reads
    /// what is side by side; those that are not stored come last.
    fn order_chunks(&self, _ids: &mut [ChunkId]) -> Result<()> {
        Ok(())
    }

    /// A chunk; nothing where it was never stored.
    fn get_chunk(&self, id: &ChunkId) -> Result<Option<Vec<u8>>>;

    /// Returns `true` if a chunk lists pieces, and `false` if it was never stored.
    fn lists_pieces(&self, id: &ChunkId) -> Result<bool>;

    /// Chunks that were found damaged since the log is open, and how many of them have not been
    /// stored again.
    fn damaged_chunks(&self) -> (u64, usize);

    /// Says that chunks are being stored that nothing names yet: until what it gives is dropped,
    /// they stay.
    fn storing(&self) -> Option<Box<dyn std::any::Any + Send>> {
        None
    }

    /// Makes all chunks stored so far durable.
    fn sync_chunks(&self) -> Result<()>;
}
