//! Chunks for the crates above: contents by their hashes, stored once, in batches.

use std::path::Path;
use std::sync::Arc;

use milepost_codec::{CHUNK_RAW_MAX, ChunkId, Error, Result};
use milepost_store::Log;

/// The chunks of a store: contents of up to 1 MiB, each identified by its BLAKE3 hash and stored
/// once. Small chunks are compressed together. Cheap to clone, `Send` and `Sync`.
///
/// A chunk is kept as long as the engine knows a reference to it. Until then a [`ChunkHold`] keeps
/// it: take a hold before storing chunks, and drop it when the event that names them is committed.
/// The chunks have to be durable by then: call [`ChunkStore::sync`].
///
/// ```
/// use milepost::{Engine, Options};
///
/// let dir = tempfile::tempdir()?;
/// let engine = Engine::open(dir.path().join("store"), Options::default())?;
/// let chunks = engine.store().chunks();
///
/// let held = chunks.hold();
/// let ids = chunks.put(&[b"fn main() {}", b"a file", b"a file"])?;
/// assert_eq!(ids[1], ids[2]);
/// assert_eq!(chunks.has(&ids)?, [true; 3]);
/// assert_eq!(&*chunks.get(&ids[1])?, b"a file");
/// chunks.sync()?;
/// // Here an event is appended that names them.
/// drop(held);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ChunkStore {
    pub(super) log: Arc<dyn Log>,
}

/// Protection from compaction for chunks that are stored or queried while it exists. A compaction
/// that begins in this time waits until it is dropped, so hold it only briefly.
#[must_use = "chunks that nothing names stay while it is there"]
pub struct ChunkHold {
    _storing: Option<Box<dyn std::any::Any + Send>>,
}

impl ChunkStore {
    /// Protects the chunks that are stored or queried from now on, until the hold is dropped.
    pub fn hold(&self) -> ChunkHold {
        ChunkHold { _storing: self.log.storing() }
    }

    /// Stores new contents and returns the id of each. Contents of one call are compressed
    /// together, up to 512 KiB in the given order, so similar contents should be neighbours. They
    /// survive a kill when this returns, and power loss after [`ChunkStore::sync`].
    ///
    /// # Errors
    ///
    /// `Invalid`: a content has over 1 MiB; nothing is stored. `Unavailable`: the store is closed,
    /// or the disk fails. `Poisoned`: an earlier write failed.
    pub fn put(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        if let Some(long) = contents.iter().find(|c| c.len() > CHUNK_RAW_MAX) {
            let found = long.len();
            return Err(Error::invalid(format!(
                "a chunk has at most {CHUNK_RAW_MAX} bytes, not {found}"
            )));
        }
        self.check_writable()?;
        self.log.put_chunks(contents)
    }

    /// Returns for each chunk, in the given order, if it is stored. The index decides; a chunk
    /// found damaged since the store was opened counts as not stored, and [`ChunkStore::put`]
    /// stores it again.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed, or the disk fails. `Corrupt`: the index is damaged.
    pub fn has(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        self.log.has_chunks(ids)
    }

    /// Marks chunks that existed before the hold as used, without a check that they are stored. A
    /// compaction in progress keeps them.
    pub fn uses(&self, ids: &[ChunkId]) {
        self.log.uses_chunks(ids);
    }

    /// Returns `true` if [`ChunkStore::uses`] has an effect: a compaction is in progress. If the
    /// caller has a [`ChunkHold`], the answer is valid until that is dropped, since a later
    /// compaction waits for it.
    pub fn notes_uses(&self) -> bool {
        self.log.notes_uses()
    }

    /// Returns a chunk's content, checked against its id.
    ///
    /// # Errors
    ///
    /// `NotFound`: it is not stored. `Corrupt`: it is damaged; the error has the pack and the byte.
    /// `Unavailable`: the store is closed, or the disk fails.
    pub fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>> {
        match self.log.get_chunk(id)? {
            Some(content) => Ok(content.into()),
            None => Err(Error::not_found(format!("no chunk {id} in this store"))),
        }
    }

    /// Sorts ids by the location of their chunks, so that a sequence of reads unpacks each group
    /// once. Ids that are not stored come last.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed, or the disk fails. `Corrupt`: the index is damaged.
    pub fn in_order(&self, ids: &mut [ChunkId]) -> Result<()> {
        self.log.order_chunks(ids)
    }

    /// Makes everything stored so far survive power loss.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the disk fails. All later operations are `Poisoned`.
    pub fn sync(&self) -> Result<()> {
        self.log.sync_chunks()
    }

    /// Checks that chunks can be stored: see
    /// [`Store::check_writable`](crate::store::Store::check_writable).
    pub fn check_writable(&self) -> Result<()> {
        self.log.check_writable()
    }

    /// Returns the folder of the store; `None` for a store in memory.
    pub fn folder(&self) -> Option<&Path> {
        self.log.folder()
    }
}

impl std::fmt::Debug for ChunkStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkStore").field("folder", &self.folder()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ChunkHold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkHold").finish_non_exhaustive()
    }
}
