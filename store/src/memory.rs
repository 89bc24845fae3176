//! A log in memory only: a tail from which nothing is applied.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sync::{Mutex, RwLock};
use milepost_codec::{ChunkEntry, ChunkId, Error, ErrorKind, LogId, Offset, Result, Seq};

use crate::commit_batch::CommitBatch;
use crate::commit_log::{ChunkStore, CommitLog};
use crate::extent::Extent;
use crate::index::Entry;
use crate::index::{LogHead, keys};
use crate::process::Owner;
use crate::projection::{DiskBytes, Index, Maintenance};
use crate::storage_check::StorageCheck;
use crate::tail::Tail;
use crate::tail::merge;

/// A log in memory.
#[derive(Default)]
pub struct MemoryStore {
    tail: RwLock<Tail>,
    notes: RwLock<std::collections::BTreeMap<Vec<u8>, Vec<u8>>>,
    seq: Mutex<Seq>,
    chunks: RwLock<HashMap<ChunkId, Vec<u8>>>,
    /// Chunks that list pieces.
    lists: RwLock<HashSet<ChunkId>>,
    closed: AtomicBool,
    owner: Owner,
}

impl MemoryStore {
    fn check_open(&self) -> Result<()> {
        self.owner.check()?;
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Unavailable, "the store is closed"));
        }
        Ok(())
    }
}

impl CommitLog for MemoryStore {
    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn append(&self, batch: CommitBatch) -> Result<()> {
        self.check_open()?;
        let mut seq = self.seq.lock();
        assert_eq!(batch.seq, *seq + 1, "commits follow each other");
        *seq = batch.seq;
        self.tail.write().keep(batch);
        Ok(())
    }

    fn seq(&self) -> Seq {
        *self.seq.lock()
    }
}

impl ChunkStore for MemoryStore {
    fn put_chunk(&self, content: &[u8], pieces: bool) -> Result<ChunkId> {
        self.check_open()?;
        let id = ChunkEntry::id_of(content);
        if pieces {
            self.lists.write().insert(id);
        }
        self.chunks.write().entry(id).or_insert_with(|| content.to_vec());
        Ok(id)
    }

    fn get_chunk(&self, id: &ChunkId) -> Result<Option<Vec<u8>>> {
        self.check_open()?;
        Ok(self.chunks.read().get(id).cloned())
    }

    fn lists_pieces(&self, id: &ChunkId) -> Result<bool> {
        self.check_open()?;
        Ok(self.lists.read().contains(id))
    }

    fn damaged_chunks(&self) -> (u64, usize) {
        (0, 0)
    }

    fn sync_chunks(&self) -> Result<()> {
        Ok(())
    }
}

impl Index for MemoryStore {
    fn head(&self, log: LogId) -> Result<Option<LogHead>> {
        self.get(&keys::head(log))?.map(|bytes| LogHead::decode(&bytes)).transpose()
    }

    fn extent(&self, log: LogId, offset: Offset) -> Result<Option<Extent>> {
        self.check_open()?;
        Ok(self.tail.read().extent(log, offset))
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.check_open()?;
        match self.tail.read().get(key) {
            Some(value) => Ok(value),
            None => Ok(self.notes.read().get(key).cloned()),
        }
    }

    fn scan(&self, from: &[u8], to: &[u8], backwards: bool, limit: usize) -> Result<Vec<Entry>> {
        self.check_open()?;
        let tail = self.tail.read();
        let waiting = tail.scan(from, to, backwards, limit);
        let notes = self.notes.read();
        let stored = notes.iter().filter(|(key, _)| from <= key.as_slice() && key.as_slice() < to);
        let stored = stored.map(|(key, value)| (key.clone(), value.clone()));
        Ok(merge(waiting, stored, backwards, limit))
    }

    fn put_note(&self, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.check_open()?;
        self.notes.write().insert(key, value);
        Ok(())
    }

    fn drop_note(&self, key: Vec<u8>) -> Result<()> {
        self.check_open()?;
        self.notes.write().remove(&key);
        Ok(())
    }
}

impl Maintenance for MemoryStore {
    fn applied(&self) -> Seq {
        self.seq()
    }

    fn drain(&self) -> Result<()> {
        Ok(())
    }

    fn settle(&self, _: &dyn Fn() -> bool) {}

    fn disk_bytes(&self) -> Result<DiskBytes> {
        Ok(DiskBytes::default())
    }

    fn check_storage(&self, _check: &mut StorageCheck) -> Result<()> {
        Ok(())
    }

    fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        Ok(())
    }
}
