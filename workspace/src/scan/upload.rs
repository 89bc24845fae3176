//! Upload of contents to the store: contents that are stored already are not packed again.

use milepost::Result;
use milepost_codec::{ChunkEntry, ChunkId};

use crate::chunks::Chunks;

/// Content writer of one thread.
pub(crate) struct Storing<'a> {
    chunks: &'a dyn Chunks,
    /// `true` if contents may be stored already, so that a query pays off.
    check_stored: bool,
    /// Number of contents given to the store.
    pub(crate) stored: u64,
}

impl<'a> Storing<'a> {
    pub(crate) fn new(chunks: &'a dyn Chunks, check_stored: bool) -> Self {
        Self { chunks, check_stored, stored: 0 }
    }

    /// Stores contents. Returns their ids.
    pub(crate) fn put(&mut self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        if contents.is_empty() {
            return Ok(Vec::new());
        }
        if !self.check_stored {
            self.stored += contents.len() as u64;
            return self.chunks.put(contents);
        }
        let ids: Vec<ChunkId> = contents.iter().map(|c| ChunkEntry::id_of(c)).collect();
        let present = self.chunks.has(&ids)?;
        let missing = contents.iter().zip(present).filter(|(_, present)| !present);
        let missing: Vec<&[u8]> = missing.map(|(content, _)| *content).collect();
        if !missing.is_empty() {
            self.stored += missing.len() as u64;
            self.chunks.put(&missing)?;
        }
        Ok(ids)
    }
}
