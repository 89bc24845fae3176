//! The items of an export: tasks, chunks and events, as they are stored.

use std::ops::Range;

use milepost_codec::{
    BodyForm, CheckpointId, ChunkId, Hash, Head, LineageBegin, LineageId, LogKind, Offset, Origin,
    body_hash,
};
use milepost_store::chunked;

/// One item of an export.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExportItem<'a> {
    /// A task. The following items belong to it.
    Task(&'a ExportTask),
    /// A chunk that following items need.
    Chunk(&'a ExportChunk),
    /// An event.
    Event(&'a ExportEvent),
}

/// A task, and the heads of its logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportTask {
    /// The caller's id for the task.
    pub id: String,
    /// The owner.
    pub user: String,
    /// The time of its start, in microseconds since the Unix epoch.
    pub created_us: u64,
    /// The origin of its history.
    pub origin: Origin,
    /// The active lineage.
    pub active: LineageId,
    /// The head of each log: the control log, then lineages by number.
    pub heads: Vec<(LogKind, Head)>,
    /// The beginnings of trimmed lineages.
    pub begins: Vec<LineageBegin>,
}

impl ExportTask {
    /// Returns the head of the active lineage.
    pub fn head(&self) -> Option<Head> {
        let active = LogKind::Lineage(self.active);
        let mut heads = self.heads.iter();
        heads.find(|(log, _)| *log == active).map(|(_, head)| *head)
    }
}

/// A chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportChunk {
    /// The chunk's id.
    pub id: ChunkId,
    /// Set if the chunk lists pieces of a state.
    pub pieces: bool,
    /// The chunk's content.
    pub content: Vec<u8>,
}

/// An event as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportEvent {
    /// The kind of its log.
    pub log: LogKind,
    /// The offset in its log.
    pub offset: Offset,
    /// The header as it was hashed.
    pub header: Vec<u8>,
    /// The body.
    pub body: ExportBody,
    /// The salt of the body's hash; `None` for an erased, a withheld or a redacted body.
    pub salt: Option<[u8; 16]>,
    /// The chain hash after the event; `None` for a redacted body.
    pub hash: Option<Hash>,
    /// The id of the checkpoint, if the event marks one.
    pub checkpoint: Option<CheckpointId>,
}

impl ExportEvent {
    /// Returns the hash of the body, which the chain commits to; `None` for a redacted body.
    pub fn body_hash(&self) -> Option<Hash> {
        let salted = |form, payload: &[u8]| Some(body_hash(&self.salt?, form, payload));
        match &self.body {
            ExportBody::Inline(payload) => salted(BodyForm::Inline, payload),
            ExportBody::Chunked { payload, ends } => {
                salted(BodyForm::Chunked, &chunked(payload, &between(payload, *ends)).encode())
            }
            ExportBody::Listed(list) => salted(BodyForm::Chunked, list),
            ExportBody::Erased(hash) => Some(*hash),
            ExportBody::Withheld { hash, .. } => *hash,
        }
    }
}

/// Returns the part of a payload between its ends, which meet if they are longer than it.
pub(super) fn between(payload: &[u8], [before, after]: [usize; 2]) -> Range<usize> {
    let before = before.min(payload.len());
    before..payload.len().saturating_sub(after).max(before)
}

/// The body of an exported event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportBody {
    /// The payload, stored inline in the record.
    Inline(Vec<u8>),
    /// A payload whose middle is stored in chunks as this version cuts them.
    Chunked {
        /// The whole payload.
        payload: Vec<u8>,
        /// The bytes at its beginning and at its end that the record has inline.
        ends: [usize; 2],
    },
    /// The payload of a record whose chunks are cut in another way.
    Listed(Vec<u8>),
    /// The hash of an erased body.
    Erased(Hash),
    /// A body that is not in the file. An export never gives it.
    Withheld {
        /// The hash of the body; `None` if the header is redacted, so that only a copy has the
        /// event.
        hash: Option<Hash>,
        /// The payload that a copy has instead; `None` if nothing of the body is shown.
        shown: Option<Vec<u8>>,
    },
}
