//! Transfer of tasks between stores, described in `docs/EXPORT.md`.
//!
//! ```text
//! items        tasks, chunks and events of an export
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
mod items;
mod rebase;
mod validate;
mod withheld;

use milepost_codec::{BodyForm, Control, LogId, Origin, Result, TaskPrepared};

use crate::handles::engine::Engine;
use crate::history::events::Cursor;

pub use export::Export;
pub use import::Import;
pub use items::{ExportBody, ExportChunk, ExportEvent, ExportItem, ExportTask};

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
