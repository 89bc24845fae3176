//! Tasks that go from one store into another: `docs/EXPORT.md`.
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

/// What comes out of one store and goes into another.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExportItem<'a> {
    /// A task begins: what follows is of it.
    Task(&'a ExportTask),
    /// A chunk that what follows needs.
    Chunk(&'a ExportChunk),
    /// An event.
    Event(&'a ExportEvent),
}

/// A task, and where its logs end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportTask {
    /// The caller's id for it.
    pub id: String,
    /// Whose it is.
    pub user: String,
    /// When it was started, in microseconds since the Unix epoch.
    pub created_us: u64,
    /// The origin of its history.
    pub origin: Origin,
    /// The lineage it goes on with.
    pub active: LineageId,
    /// Where each of its logs ends: the control log, then lineages by their numbers.
    pub heads: Vec<(LogKind, Head)>,
    /// Lineages that were trimmed, and where they begin since.
    pub begins: Vec<LineageBegin>,
}

impl ExportTask {
    /// Where the lineage ends that it goes on with.
    pub fn head(&self) -> Option<Head> {
        let active = LogKind::Lineage(self.active);
        let mut heads = self.heads.iter();
        heads.find(|(log, _)| *log == active).map(|(_, head)| *head)
    }
}

/// A chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportChunk {
    /// Its id.
    pub id: ChunkId,
    /// Whether it lists pieces of a state.
    pub pieces: bool,
    /// Its content.
    pub content: Vec<u8>,
}

/// An event as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportEvent {
    /// The log of the task that it is in.
    pub log: LogKind,
    /// Its offset there.
    pub offset: Offset,
    /// Its header as it was hashed.
    pub header: Vec<u8>,
    /// What it says.
    pub body: ExportBody,
    /// The salt of its body's hash; none of an erased one, and none where the body is another one
    /// now.
    pub salt: Option<[u8; 16]>,
    /// The chain hash behind it; none where the body is another one now.
    pub hash: Option<Hash>,
    /// The id of the checkpoint that it marks, if it marks one.
    pub checkpoint: Option<CheckpointId>,
}

/// What an event says, as far as it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportBody {
    /// The payload, which stands in the record.
    Inline(Vec<u8>),
    /// The payload, which stands in chunks that are cut as this version cuts them.
    Chunked(Vec<u8>),
    /// A list of chunks that are cut in another way.
    Listed(Vec<u8>),
    /// It was erased, and this is its hash.
    Erased(Hash),
}
