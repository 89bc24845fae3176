//! A content store for dry runs: contents are hashed, not stored. Tree nodes stay in memory, since
//! they are read again.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use milepost::Result;
use milepost_codec::{ChunkEntry, ChunkId, Node};
use parking_lot::Mutex;

use crate::chunks::{Chunks, Contents};

/// The stored contents, overlaid with the nodes of a dry run.
pub(crate) struct Dry<'a> {
    stored: &'a dyn Chunks,
    nodes: Mutex<HashMap<ChunkId, Arc<[u8]>>>,
}

impl<'a> Dry<'a> {
    pub(crate) fn over(stored: &'a dyn Chunks) -> Self {
        Self { stored, nodes: Mutex::default() }
    }
}

impl Contents for Dry<'_> {
    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>> {
        let node = self.nodes.lock().get(id).cloned();
        node.map_or_else(|| self.stored.get(id), Ok)
    }

    fn has(&self, ids: &[ChunkId]) -> Result<Vec<bool>> {
        let mut present = self.stored.has(ids)?;
        let nodes = self.nodes.lock();
        for (present, id) in present.iter_mut().zip(ids) {
            *present |= nodes.contains_key(id);
        }
        Ok(present)
    }
}

impl Chunks for Dry<'_> {
    fn put(&self, contents: &[&[u8]]) -> Result<Vec<ChunkId>> {
        let mut ids = Vec::with_capacity(contents.len());
        for content in contents {
            let id = ChunkEntry::id_of(content);
            // A file that looks like a node is kept too, which does no harm.
            if Node::decode(content).is_ok() {
                self.nodes.lock().insert(id, Arc::from(*content));
            }
            ids.push(id);
        }
        Ok(ids)
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn uses(&self, ids: &[ChunkId]) {
        self.stored.uses(ids);
    }

    fn notes_uses(&self) -> bool {
        self.stored.notes_uses()
    }

    fn folder(&self) -> Option<&Path> {
        self.stored.folder()
    }

    fn is_writable(&self) -> bool {
        self.stored.is_writable()
    }
}
