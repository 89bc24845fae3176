//! Chunks in memory, for tests that need no engine.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use milepost::{Error, Result};
use milepost_codec::{CHUNK_RAW_MAX, ChunkEntry, ChunkId};
use parking_lot::Mutex;

use crate::chunks::{Chunks, Contents};

/// Chunks in memory, with a record of the used ones.
#[derive(Debug, Default)]
pub(crate) struct MemoryChunks {
    pub(crate) all: Mutex<HashMap<ChunkId, Arc<[u8]>>>,
    pub(crate) used: Mutex<HashSet<ChunkId>>,
    /// Disables the notes of used chunks.
    pub(crate) quiet: bool,
}

impl MemoryChunks {
    /// Returns a callback that stores nodes.
    pub(crate) fn keep(&self) -> impl FnMut(ChunkId, Vec<u8>) {
        |_, content| {
            self.hold(content);
        }
    }

    /// Stores a content.
    pub(crate) fn hold(&self, content: Vec<u8>) -> ChunkId {
        assert!(content.len() <= CHUNK_RAW_MAX);
        let id = ChunkEntry::id_of(&content);
        self.all.lock().entry(id).or_insert_with(|| content.into());
        id
    }
}

impl Contents for MemoryChunks {
    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>> {
        let found = self.all.lock().get(id).cloned();
        let found = found.ok_or_else(|| Error::not_found(format!("there is no chunk {id}")))?;
        match ChunkEntry::id_of(&found) {
            its if its == *id => Ok(found),
            its => Err(Error::corrupt("memory", id, its)),
        }
    }

    fn has(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        let all = self.all.lock();
        Ok(ids.iter().map(|id| all.contains_key(id)).collect())
    }
}

impl Chunks for MemoryChunks {
    fn put(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        Ok(contents.iter().map(|content| self.hold(content.to_vec())).collect())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn uses(&self, ids: &[ChunkId]) {
        self.used.lock().extend(ids);
    }

    fn notes_uses(&self) -> bool {
        !self.quiet
    }

    fn folder(&self) -> Option<&Path> {
        None
    }
}
