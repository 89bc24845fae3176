//! Copies of a task inside its store: an export and an import of it under another name, event by
//! event. Chunks are shared.

use milepost_codec::{Body, Error, ErrorKind, LineageId, Result};

use super::{Export, ExportItem, ExportTask, Import, Transfer};
use crate::conditions::check_key;
use crate::handles::engine::check_names;
use crate::handles::task::Task;
use crate::handles::view::View;

impl View {
    /// Copies a task under another id. The copy has the lineages, events, checkpoints with their
    /// aliases, attached data, pins, activations and idempotency keys of the original up to its
    /// present heads, and its owner. Ids of checkpoints and hashes are other ones, as of a task
    /// that is imported as a copy. Contents over 256 KiB and captured folders take no space again.
    ///
    /// The events are copied in several commits, and the last one shows the task. If the process
    /// ends before, the next opening of the store deletes the incomplete copy.
    ///
    /// ```
    /// use milepost::events::Message;
    /// use milepost::{Engine, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("essay", "ana")?;
    /// task.append(Message::text("user", "hello"))?;
    /// let copy = engine.copy_task("essay", "another")?;
    /// assert_eq!(copy.head()?.next, task.head()?.next);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - `NotFound`: there is no task to copy.
    /// - `Conflict`: there is a task of the new id.
    /// - `Invalid`: the new id is empty, over 1024 bytes, or has a control character, or the view
    ///   does not show a task of this id.
    /// - `Unavailable`: a restore of the task is pending, or the store is closed.
    pub fn copy_task(&self, from: &str, to: &str) -> Result<Task> {
        self.may_start(to)?;
        let task = self.task(from)?;
        self.engine().transfer().copy(from, to, task.user(), None)
    }
}

impl Transfer<'_> {
    /// Copies a task, as [`View::copy_task`], for another owner. Repeated under the
    /// same idempotency key, it returns the existing copy, unless retention trimmed the first event
    /// of that.
    ///
    /// # Errors
    ///
    /// As [`View::copy_task`]. `Invalid`: the user is empty, over 200 bytes, or has a control
    /// character.
    pub fn copy(&self, from: &str, to: &str, user: &str, key: Option<&str>) -> Result<Task> {
        let engine = self.engine;
        check_names(to, user)?;
        key.map_or(Ok(()), check_key)?;
        if let (Some(key), Ok(there)) = (key, engine.task(to)) {
            let original = engine.task(from)?.lineage().origin();
            let first = engine.inner.catalog.event_of_key(there.no(), LineageId(0), 0, key)?;
            if let Some(Body::LineageOpened(opened)) = first
                && opened.copied_from.is_some_and(|of| of.origin == original)
                && there.user() == user
            {
                return Ok(there);
            }
        }
        if engine.inner.catalog.find(to)?.is_some() {
            return Err(Error::new(ErrorKind::Conflict, format!("there is a task `{to}`")));
        }
        let mut import = Import::of(engine);
        Export::in_store(engine)?.task(from, &mut |item| match item {
            ExportItem::Task(task) => {
                let task = ExportTask { user: user.to_owned(), ..task.clone() };
                import.copy_in_store(to, &task, key.map(str::to_owned))
            }
            ExportItem::Chunk(_) => Ok(()),
            ExportItem::Event(event) => import.event(event),
        })?;
        let nothing = || Error::invalid("a copy of no task");
        import.finish()?.pop().ok_or_else(nothing)
    }
}
