//! The chunks that a task needs: bases and their states, captured folders, and bodies cut into
//! chunks by another version.

use std::collections::HashSet;

use milepost_codec::{
    Base, Body, ChunkId, ChunkedBody, Error, Header, LineageId, LogKind, Piece, Result, TaskNo,
    WorkspaceCaptured,
};
use milepost_store::tree_walk;

use super::{Export, ExportBody, ExportChunk, ExportEvent, ExportItem};
use crate::history::base;
use crate::history::contents::read_chunk;

type Give<'a, E> = dyn FnMut(ExportItem<'_>) -> Result<(), E> + 'a;

impl Export {
    /// Gives the chunks of a lineage's base: its states, the keys of trimmed events, and with
    /// `files` the captured folder.
    pub(super) fn give_base<E: From<Error>>(
        &mut self,
        task: TaskNo,
        lineage: LineageId,
        give: &mut Give<'_, E>,
    ) -> Result<(), E> {
        let engine = self.engine.clone();
        let catalog = &engine.inner.catalog;
        let Some(entry) = catalog.base(task, lineage)?.filter(|_| !self.in_store) else {
            return Ok(());
        };
        let Base { states, keys, .. } = base::read(catalog, &entry)?;
        let mut needed: HashSet<ChunkId> = keys.chunks.into_iter().collect();
        needed.insert(entry.chunk);
        for state in states {
            needed.extend(state.state.chunks);
            self.pieces(state.refers, &mut needed)?;
        }
        if self.files
            && let Some(root) = base::workspace(catalog, &entry)?
        {
            self.tree(root, &mut needed)?;
        }
        self.give_chunks(needed, give)
    }

    /// Gives the chunks that an event needs.
    pub(super) fn give_needs<E: From<Error>>(
        &mut self,
        event: &ExportEvent,
        give: &mut Give<'_, E>,
    ) -> Result<(), E> {
        let mut needed = HashSet::new();
        match &event.body {
            _ if self.in_store => {}
            ExportBody::Listed(list) => needed.extend(ChunkedBody::decode(list)?.content.chunks),
            ExportBody::Inline(payload) if self.files => {
                if let Some(root) = captured(event, payload)? {
                    self.tree(root, &mut needed)?;
                }
            }
            _ => {}
        }
        self.give_chunks(needed, give)
    }

    /// Gives the chunks that were not given yet, in the order of their ids, so that the output is
    /// the same from every store.
    fn give_chunks<E: From<Error>>(
        &mut self,
        needed: HashSet<ChunkId>,
        give: &mut Give<'_, E>,
    ) -> Result<(), E> {
        let mut needed: Vec<ChunkId> = needed.into_iter().collect();
        needed.sort_unstable();
        let engine = self.engine.clone();
        let log = engine.inner.catalog.log();
        for id in needed {
            if !self.given.insert(id) {
                continue;
            }
            let chunk =
                ExportChunk { id, pieces: log.lists_pieces(&id)?, content: read_chunk(log, &id)? };
            give(ExportItem::Chunk(&chunk))?;
        }
        Ok(())
    }

    /// Adds the chunks of a captured folder that were not given yet.
    fn tree(&self, root: ChunkId, needed: &mut HashSet<ChunkId>) -> Result<()> {
        let log = self.engine.inner.catalog.log();
        let get = |id: &ChunkId| log.get_chunk(id);
        let unread = tree_walk::follow_beyond([root], &get, &self.given, needed);
        match unread.into_iter().next() {
            Some((_, error)) => Err(error.at(format!("the folder captured as {root}"))),
            None => Ok(()),
        }
    }

    /// Adds pieces of a state, and the pieces that they list.
    fn pieces(&self, pieces: Vec<ChunkId>, needed: &mut HashSet<ChunkId>) -> Result<()> {
        let log = self.engine.inner.catalog.log();
        let mut left = pieces;
        while let Some(id) = left.pop() {
            if !needed.insert(id) || !log.lists_pieces(&id)? {
                continue;
            }
            if let Some(content) = log.get_chunk(&id)? {
                let listed = Piece::decode_list(&content)?;
                left.extend(listed.iter().map(|piece| piece.id));
            }
        }
        Ok(())
    }
}

/// Returns the root of a captured folder, if the event is a capture.
pub(super) fn captured(event: &ExportEvent, payload: &[u8]) -> Result<Option<ChunkId>> {
    if event.log == LogKind::Control
        || Header::decode(&event.header)?.kind != WorkspaceCaptured::KIND
    {
        return Ok(None);
    }
    match Body::decode(WorkspaceCaptured::KIND, payload)? {
        Body::WorkspaceCaptured(captured) => Ok(Some(ChunkId(captured.root.0))),
        _ => Ok(None),
    }
}
