//! Chunks that events name: the roots from which a compaction finds all chunks to keep.

use std::collections::{HashMap, HashSet};

use milepost_codec::{
    Body, BodyForm, ChunkId, ChunkedBody, Control, Header, LogKind, RecordRef, RestoreBegun,
    RestoreEnded, RestoreId, Result, WorkspaceCaptured,
};

/// The kinds of the beginning and the end of a restore.
const RESTORES: [u16; 2] = [RestoreBegun::KIND, RestoreEnded::KIND];

/// Chunks that events name.
#[derive(Debug, Default)]
pub(crate) struct ReferencedChunks {
    /// Chunks of large bodies.
    chunks: HashSet<ChunkId>,
    /// Roots of captured workspaces: each needs the chunks of its tree.
    roots: HashSet<ChunkId>,
    /// Restores that began, and those that ended: a pending restore keeps its chunks.
    started: HashMap<RestoreId, RestoreBegun>,
    ended: HashSet<RestoreId>,
}

impl ReferencedChunks {
    /// Adds the chunks that an event names.
    pub(crate) fn take(
        &mut self,
        log: LogKind,
        header: &Header,
        record: &RecordRef<'_>,
    ) -> Result<()> {
        match (log, record.form) {
            (_, BodyForm::Chunked) => {
                self.chunks.extend(ChunkedBody::decode(record.payload)?.content.chunks);
            }
            (LogKind::Lineage(_), BodyForm::Inline) if header.kind == WorkspaceCaptured::KIND => {
                if let Body::WorkspaceCaptured(captured) =
                    Body::decode(WorkspaceCaptured::KIND, record.payload)?
                {
                    self.roots.insert(ChunkId(captured.root.0));
                }
            }
            (LogKind::Control, BodyForm::Inline) if RESTORES.contains(&header.kind) => {
                match Control::decode(header.kind, record.payload)? {
                    Control::RestoreBegun(started) => {
                        self.started.insert(started.restore, started);
                    }
                    Control::RestoreEnded(ended) => {
                        self.ended.insert(ended.restore);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds the chunks of another set.
    pub(crate) fn extend(&mut self, other: Self) {
        self.chunks.extend(other.chunks);
        self.roots.extend(other.roots);
        self.started.extend(other.started);
        self.ended.extend(other.ended);
    }

    /// Returns the chunks, and the roots of trees.
    pub(crate) fn into_parts(self) -> (HashSet<ChunkId>, HashSet<ChunkId>) {
        let (mut chunks, mut roots) = (self.chunks, self.roots);
        for (restore, started) in self.started {
            if !self.ended.contains(&restore) {
                for part in started.parts {
                    chunks.extend(part.plan.chunks);
                    roots.extend(part.roots);
                }
            }
        }
        (chunks, roots)
    }
}
