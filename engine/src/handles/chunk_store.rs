//! Chunks for the crates above: contents by their hashes, stored once, many at a time.

use std::path::Path;
use std::sync::Arc;

use milepost_codec::{CHUNK_RAW_MAX, ChunkId, Error, Result};
use milepost_store::Log;

use crate::handles::engine::Engine;

/// The chunks of a store: pieces of up to 1 MiB, each known by the BLAKE3 hash of its content and
/// stored once. Small ones are compressed together. Cheap to clone, `Send` and `Sync`.
///
/// A chunk stays as long as something names it that the engine knows of. Until then it stays while
/// a [`ChunkHold`] does: so whoever stores chunks takes one first, and lets go of it when the event
/// that names them is committed. Chunks have to be durable by then, which [`ChunkStore::sync`]
/// makes them.
///
/// ```
/// use milepost::{Engine, Options};
///
/// let dir = tempfile::tempdir()?;
/// let engine = Engine::open(dir.path().join("store"), Options::default())?;
/// let chunks = engine.chunk_store();
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
    log: Arc<dyn Log>,
}

/// While it is there, a compaction takes away no chunk that was stored, or asked for, since it is:
/// one that begins meanwhile waits for it. So it is not for long.
#[must_use = "chunks that nothing names stay while it is there"]
pub struct ChunkHold {
    _storing: Option<Box<dyn std::any::Any + Send>>,
}

impl Engine {
    /// The chunks of the store.
    pub fn chunk_store(&self) -> ChunkStore {
        ChunkStore { log: Arc::clone(self.inner.catalog.log()) }
    }
}

impl ChunkStore {
    /// Keeps what is stored or asked for from now on, until it is dropped.
    pub fn hold(&self) -> ChunkHold {
        ChunkHold { _storing: self.log.storing() }
    }

    /// Stores contents that are not there yet, and gives the id of each. Those that are stored at
    /// once are compressed together, up to 512 KiB in the order that they are in: so what is alike
    /// goes side by side. They survive a kill when this returns, and power loss after
    /// [`ChunkStore::sync`].
    ///
    /// # Errors
    ///
    /// `Invalid`: one has over 1 MiB; none is stored then. `Unavailable`: the store is closed, or
    /// the disk fails. `Poisoned`: an earlier write failed.
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

    /// Which chunks are stored, in the order that was asked. The index is believed; a chunk that
    /// was found damaged since the store was opened counts as not stored, and is stored again by
    /// [`ChunkStore::put`].
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed, or the disk fails. `Corrupt`: the index is damaged.
    pub fn has(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        self.log.has_chunks(ids)
    }

    /// Says that chunks are needed that were there before the hold was taken, without a look
    /// whether they are: a compaction that is under way keeps them.
    pub fn uses(&self, ids: &[ChunkId]) {
        self.log.uses_chunks(ids);
    }

    /// Whether [`ChunkStore::uses`] says something to anybody: to a compaction that is under way.
    /// Asked behind a [`ChunkHold`], the answer is good for as long as that is held: a compaction
    /// that begins later waits for it.
    pub fn notes_uses(&self) -> bool {
        self.log.notes_uses()
    }

    /// A chunk's content, checked against its id.
    ///
    /// # Errors
    ///
    /// `NotFound`: it is not stored. `Corrupt`: it is damaged, with pack and byte. `Unavailable`:
    /// the store is closed, or the disk fails.
    pub fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>> {
        match self.log.get_chunk(id)? {
            Some(content) => Ok(content.into()),
            None => Err(Error::not_found(format!("no chunk {id} in this store"))),
        }
    }

    /// Puts ids into the order in which their chunks lie, so that many are read with each group
    /// unpacked once; those that are not stored come last.
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
    /// `Unavailable`: the disk fails; from then on everything is `Poisoned`.
    pub fn sync(&self) -> Result<()> {
        self.log.sync_chunks()
    }

    /// Whether chunks can be stored: see [`Engine::check_writable`](crate::Engine::check_writable).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn check_writable(&self) -> Result<()> {
        self.log.check_writable()
    }

    /// The folder of the store; nothing where it is in memory.
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
