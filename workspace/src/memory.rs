//! Chunks in memory, for tests that need no engine.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use milepost::{Error, Result};
use milepost_codec::{CHUNK_RAW_MAX, ChunkEntry, ChunkId};
use parking_lot::Mutex;

use crate::chunks::Chunks;

/// Chunks in memory; says which were used.
#[derive(Debug, Default)]
pub(crate) struct MemoryChunks {
    pub(crate) all: Mutex<HashMap<ChunkId, Arc<[u8]>>>,
    pub(crate) used: Mutex<HashSet<ChunkId>>,
}

impl Chunks for MemoryChunks {
    fn put(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        let mut all = self.all.lock();
        let put = contents.iter().map(|content| {
            assert!(content.len() <= CHUNK_RAW_MAX);
            let id = ChunkEntry::id_of(content);
            all.entry(id).or_insert_with(|| (*content).into());
            id
        });
        Ok(put.collect())
    }

    fn has(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        let all = self.all.lock();
        Ok(ids.iter().map(|id| all.contains_key(id)).collect())
    }

    fn uses(&self, ids: &[ChunkId]) {
        self.used.lock().extend(ids);
    }

    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>> {
        let found = self.all.lock().get(id).cloned();
        found.ok_or_else(|| Error::not_found(format!("there is no chunk {id}")))
    }

    fn folder(&self) -> Option<&Path> {
        None
    }
}
