//! Transfer of tasks between stores, described in `docs/EXPORT.md`.
//!
//! ```text
//! export       streams a task as stored, in commit order
//! chunks       the chunks that a task needs
//! import       writes a task to another store; it is visible when it is complete
//! import_task  checks, chains and commits its events
//! withheld     events whose bodies a file does not have
//! validate     refuses invalid content, whatever its hashes say
//! rebase       imports a copy under a new origin and with new hashes
//! copy         copies a task inside its store
//! ```

mod chunks;
mod copy;
mod export;
mod import;
mod import_task;
mod rebase;
mod validate;
mod withheld;

use std::ops::Range;

use milepost_codec::{
    BodyForm, CheckpointId, ChunkId, Control, Hash, Head, LineageBegin, LineageId, LogId, LogKind,
    Offset, Origin, Result, TaskPrepared, body_hash,
};
use milepost_store::chunked;

use crate::handles::engine::Engine;
use crate::history::events::Cursor;

pub use export::Export;
pub use import::Import;

/// Export and import of tasks: see [`Engine::transfer`].
#[derive(Debug, Clone, Copy)]
pub struct Transfer<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// Returns the operations that export tasks of this store, and import tasks of other stores.
    pub fn transfer(&self) -> Transfer<'_> {
        Transfer { engine: self }
    }
}

impl Transfer<'_> {
    /// Begins an export of tasks as they are stored, with or without captured files.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn export(&self, files: bool) -> Result<Export> {
        Export::of(self.engine, files)
    }

    /// Begins an import of tasks from an [`Export`].
    ///
    /// ```
    /// use milepost::events::Message;
    /// use milepost::transfer::ExportItem;
    /// use milepost::{Engine, Error, Options};
    ///
    /// let from = Engine::in_memory(Options::default())?;
    /// let task = from.start_task("essay", "ana")?;
    /// task.append(Message::text("user", "hello"))?;
    /// let to = Engine::in_memory(Options::default())?;
    /// let mut import = to.transfer().import();
    /// from.transfer().export(false)?.task("essay", &mut |carried| match carried {
    ///     ExportItem::Task(task) => import.task(task),
    ///     ExportItem::Chunk(chunk) => import.chunk(chunk),
    ///     ExportItem::Event(event) => import.event(event),
    ///     _ => Ok::<(), Error>(()),
    /// })?;
    /// import.finish()?;
    /// assert_eq!(to.task("essay")?.head()?, task.head()?); // the same hash, too
    /// # Ok::<(), milepost::Error>(())
    /// ```
    pub fn import(&self) -> Import {
        Import::of(self.engine)
    }

    /// Returns the id of the task that has the history of this origin: an import that keeps
    /// identity is refused then.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn task_of_history(&self, origin: Origin) -> Result<Option<String>> {
        self.engine.name_of_history(origin)
    }

    /// Returns `true` if a task was imported or is a copy, so that not all of its events were
    /// recorded in this store.
    ///
    /// # Errors
    ///
    /// - `NotFound`: the task does not exist.
    /// - `Corrupt`: the store's control log cannot be read.
    pub fn is_imported(&self, task: &str) -> Result<bool> {
        let (no, log) = (self.engine.task(task)?.no(), self.engine.inner.catalog.log());
        let start = log.head(LogId::STORE)?.map_or(0, |head| head.start);
        let mut cursor = Cursor::new(log, LogId::STORE, start);
        while let Some(found) = cursor.next_record(|_, record| {
            let kind = record.header()?.kind;
            if record.form != BodyForm::Inline || kind != TaskPrepared::KIND {
                return Ok(false);
            }
            let control = Control::decode(kind, record.payload)?;
            Ok(matches!(control, Control::TaskPrepared(prepared) if prepared.task == no))
        })? {
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

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
fn between(payload: &[u8], [before, after]: [usize; 2]) -> Range<usize> {
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
