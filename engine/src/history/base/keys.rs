//! Idempotency keys of a base: lists in chunks, and a table in memory for lookups.
//!
//! The index has no entries for these keys: one commit makes a base, which may have a million of
//! them. The table takes 16 bytes for each key. It is read before an append with a key is queued,
//! so that the leader finds it in memory.

use std::collections::HashMap;
use std::sync::Arc;

use milepost_codec::{BaseKey, ChunkId, ChunkList, Result};
use milepost_store::Log;
use parking_lot::Mutex;

use crate::history::contents::read_chunk;

/// Maximum number of keys in all cached tables. Beyond it the cache is cleared.
const CACHED_MAX: usize = 4 << 20;

/// Size of a table in addition to its keys, for `CACHED_MAX`.
const TABLE_MIN: usize = 64;

/// One list of keys in a base.
#[derive(Debug)]
pub(crate) struct KeyList {
    /// The chunk that holds the list. A base of an earlier version has one list in several chunks.
    pub(crate) chunks: Vec<ChunkId>,
    /// The encoded size in bytes.
    pub(crate) bytes: u64,
    /// The number of keys.
    pub(crate) count: usize,
}

impl KeyList {
    /// Reads the keys of the list, in the order of their offsets.
    pub(crate) fn read(&self, log: &Arc<dyn Log>) -> Result<Vec<BaseKey>> {
        BaseKey::decode_list(&content(log, &self.chunks)?)
    }
}

/// The newest keys of a base.
#[derive(Debug)]
pub(crate) struct BaseKeys {
    /// The lists that hold the keys, newest first.
    pub(crate) lists: Vec<KeyList>,
    /// The fingerprint of each key and the index of its list, sorted.
    table: Vec<(u64, u32)>,
}

impl BaseKeys {
    /// Reads lists, newest first, until they have `window` keys.
    ///
    /// # Errors
    ///
    /// `Corrupt`: a chunk is damaged or missing.
    fn load(log: &Arc<dyn Log>, keys: &ChunkList, window: usize) -> Result<Self> {
        let (mut lists, mut table) = (Vec::new(), Vec::new());
        for chunks in split(log, keys)?.into_iter().rev() {
            if table.len() >= window {
                break;
            }
            let content = content(log, &chunks)?;
            let keys = BaseKey::decode_list(&content)?;
            let number = lists.len() as u32;
            table.extend(keys.iter().map(|key| (fingerprint(&key.key), number)));
            lists.push(KeyList { chunks, bytes: content.len() as u64, count: keys.len() });
        }
        table.shrink_to_fit();
        table.sort_unstable();
        Ok(Self { lists, table })
    }

    /// Returns the newest use of a key. Reads only lists that have a key with the same fingerprint.
    pub(crate) fn find(&self, log: &Arc<dyn Log>, key: &str) -> Result<Option<BaseKey>> {
        let wanted = fingerprint(key);
        let from = self.table.partition_point(|(found, _)| *found < wanted);
        let entries = self.table.iter().skip(from);
        for (_, number) in entries.take_while(|(found, _)| *found == wanted) {
            let Some(list) = self.lists.get(*number as usize) else {
                continue;
            };
            let keys = list.read(log)?;
            if let Some(found) = keys.into_iter().rev().find(|found| found.key == key) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// Cached tables, by the chunks of the bases.
pub(crate) struct KnownKeys {
    window: usize,
    tables: Mutex<HashMap<ChunkId, Arc<BaseKeys>>>,
}

impl KnownKeys {
    /// Creates an empty cache. Each table is to have the newest `window` keys, and the rest of the
    /// list that holds the oldest of them.
    pub(crate) fn new(window: usize) -> Self {
        Self { window, tables: Mutex::default() }
    }

    /// Returns the minimum number of keys that a base keeps.
    pub(crate) fn window(&self) -> usize {
        self.window
    }

    /// Returns the table of the base in a chunk. `keys` returns the lists if the table is not
    /// cached.
    pub(crate) fn get(
        &self,
        log: &Arc<dyn Log>,
        base: ChunkId,
        keys: impl FnOnce() -> Result<ChunkList>,
    ) -> Result<Arc<BaseKeys>> {
        if let Some(known) = self.tables.lock().get(&base) {
            return Ok(Arc::clone(known));
        }
        let read = Arc::new(BaseKeys::load(log, &keys()?, self.window)?);
        let mut tables = self.tables.lock();
        let size = |keys: &BaseKeys| keys.table.len() + TABLE_MIN;
        let all: usize = tables.values().map(|keys| size(keys)).sum();
        if all + size(&read) > CACHED_MAX {
            tables.clear();
        }
        tables.insert(base, Arc::clone(&read));
        Ok(read)
    }

    /// Drops the table of a replaced base.
    pub(crate) fn forget(&self, base: ChunkId) {
        self.tables.lock().remove(&base);
    }
}

/// Reads all keys of a base, one list at a time.
pub(crate) fn check(log: &Arc<dyn Log>, keys: &ChunkList) -> Result<()> {
    for chunks in split(log, keys)? {
        BaseKey::decode_list(&content(log, &chunks)?)?;
    }
    Ok(())
}

/// Returns the chunks of each list, oldest first. Each chunk is a list, except in a base of an
/// earlier version: there one list is split into chunks, so that the first chunk is not a whole
/// list.
fn split(log: &Arc<dyn Log>, keys: &ChunkList) -> Result<Vec<Vec<ChunkId>>> {
    let lists = || keys.chunks.iter().map(|chunk| vec![*chunk]).collect();
    match keys.chunks.as_slice() {
        [] => Ok(Vec::new()),
        [_] => Ok(lists()),
        [first, ..] => match BaseKey::decode_list(&read_chunk(log, first)?) {
            Ok(_) => Ok(lists()),
            Err(_) => Ok(vec![keys.chunks.clone()]),
        },
    }
}

fn content(log: &Arc<dyn Log>, chunks: &[ChunkId]) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    for chunk in chunks {
        content.extend(read_chunk(log, chunk)?);
    }
    Ok(content)
}

/// Returns the first 8 bytes of the BLAKE3 hash of a key.
fn fingerprint(key: &str) -> u64 {
    let hash = blake3::hash(key.as_bytes());
    let first = hash.as_bytes().first_chunk::<8>();
    first.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use milepost_codec::Hash;

    use super::*;
    use milepost_store::MemoryStore;
    use milepost_store::put_content;

    fn keys(numbers: std::ops::Range<u64>) -> Vec<BaseKey> {
        let key = |first| BaseKey {
            key: format!("request-{first}"),
            first,
            count: 1,
            salt: [7; 16],
            digest: Hash([9; 32]),
        };
        numbers.map(key).collect()
    }

    fn finds(log: &Arc<dyn Log>, known: &BaseKeys, key: u64) -> bool {
        let found = known.find(log, &format!("request-{key}")).unwrap();
        assert!(found.iter().all(|found| found.first == key));
        found.is_some()
    }

    #[test]
    fn keys_are_found_in_lists_and_in_the_one_list_of_an_earlier_version() {
        let log: Arc<dyn Log> = Arc::new(MemoryStore::default());
        let content = BaseKey::encode_list(&keys(0..9000));
        let cut = put_content(&log, &content).unwrap();
        let mut lists = ChunkList::default();
        for first in [0, 3000, 6000] {
            let content = BaseKey::encode_list(&keys(first..first + 3000));
            lists.chunks.push(log.put_chunk(&content, false).unwrap());
            lists.len += content.len() as u64;
        }
        assert_eq!((cut.chunks.len(), lists.chunks.len()), (3, 3));
        for (list, count) in [(&cut, 1), (&lists, 3)] {
            check(&log, list).unwrap();
            let known = BaseKeys::load(&log, list, usize::MAX).unwrap();
            assert_eq!(known.lists.len(), count);
            assert!((0..9000).step_by(7).all(|key| finds(&log, &known, key)));
            assert!(!finds(&log, &known, 9000));
        }
    }

    #[test]
    fn only_lists_of_the_window_are_read() {
        let log: Arc<dyn Log> = Arc::new(MemoryStore::default());
        let list = |keys: Vec<_>| BaseKey::encode_list(&keys);
        let (old, new) = (list(keys(0..100)), list(keys(100..200)));
        let chunks = [old, new].map(|list| log.put_chunk(&list, false).unwrap());
        let lists = ChunkList { len: 0, chunks: chunks.to_vec() };
        let known = BaseKeys::load(&log, &lists, 50).unwrap();
        assert!(finds(&log, &known, 150) && !finds(&log, &known, 50));
        let known = BaseKeys::load(&log, &lists, 101).unwrap();
        assert!(finds(&log, &known, 150) && finds(&log, &known, 50));
    }
}
