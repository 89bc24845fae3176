//! Storage of the parts of a state that are too large for memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use milepost_codec::{CHUNK_RAW_MAX, ChunkEntry, ChunkId, Error, Result};

/// Content-addressed storage of chunks. A chunk is available as long as a state that refers to it
/// is kept.
pub trait Chunks: Send + Sync {
    /// Stores a content of at most [`CHUNK_RAW_MAX`] bytes and returns its id. `pieces` is set for
    /// a list of pieces ([`milepost_codec::Piece::encode_list`]): the storage then finds the chunks
    /// that it refers to.
    fn put(&self, content: &[u8], pieces: bool) -> Result<ChunkId>;

    /// Stores a piece of a sequence, given its framed items. A storage that can make the piece
    /// again need not keep them.
    fn put_piece(&self, items: &[u8]) -> Result<ChunkId> {
        self.put(items, false)
    }

    /// Returns the content of `id`, checked against it. Fails with `NotFound` if there is none.
    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>>;
}

/// Chunks in memory, for tests and for small or short folds.
#[derive(Debug, Default)]
pub struct MemoryChunks {
    stored: Mutex<HashMap<ChunkId, Arc<[u8]>>>,
}

impl Chunks for MemoryChunks {
    fn put(&self, content: &[u8], _pieces: bool) -> Result<ChunkId> {
        if content.len() > CHUNK_RAW_MAX {
            let len = content.len();
            return Err(Error::invalid(format!(
                "a chunk has at most {CHUNK_RAW_MAX} bytes, not {len}"
            )));
        }
        let id = ChunkEntry::id_of(content);
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        stored.entry(id).or_insert_with(|| content.into());
        Ok(id)
    }

    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>> {
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        stored.get(id).cloned().ok_or_else(|| Error::not_found(format!("no chunk {id}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use milepost_codec::ErrorKind;

    #[test]
    fn what_was_put_comes_back_and_nothing_else_does() {
        let chunks = MemoryChunks::default();
        let id = chunks.put(b"content", false).unwrap();
        assert_eq!(id, chunks.put(b"content", true).unwrap());
        assert_eq!(&*chunks.get(&id).unwrap(), b"content");
        assert_eq!(chunks.get(&ChunkId([0; 32])).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(chunks.put(&vec![0; CHUNK_RAW_MAX], false).is_ok());
        assert!(chunks.put(&vec![0; CHUNK_RAW_MAX + 1], false).is_err());
    }
}
