//! Transfer of tasks between stores, described in `docs/EXPORT.md`.
//!
//! ```text
//! export       streams a task as stored, in commit order
//! chunks       the chunks that a task needs
//! import       writes a task to another store; it is visible when it is complete
//! import_task  checks, chains and commits its events
//! validate     refuses invalid content, whatever its hashes say
//! rebase       imports a copy under a new origin and with new hashes
//! ```

mod chunks;
mod export;
mod import;
mod import_task;
mod rebase;
mod validate;

use milepost_codec::{
    CheckpointId, ChunkId, Hash, Head, LineageBegin, LineageId, LogKind, Offset, Origin,
};

pub use export::Export;
pub use import::Import;

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
    /// The salt of the body's hash; `None` for an erased or a redacted body.
    pub salt: Option<[u8; 16]>,
    /// The chain hash after the event; `None` for a redacted body.
    pub hash: Option<Hash>,
    /// The id of the checkpoint, if the event marks one.
    pub checkpoint: Option<CheckpointId>,
}

/// The body of an exported event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportBody {
    /// The payload, stored inline in the record.
    Inline(Vec<u8>),
    /// The payload, stored in chunks as this version cuts them.
    Chunked(Vec<u8>),
    /// A list of chunks that are cut in another way.
    Listed(Vec<u8>),
    /// The hash of an erased body.
    Erased(Hash),
}
