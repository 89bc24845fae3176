//! A task into a store, where nobody sees it until all of it is there.
//!
//! A number is prepared for it in the store's log, what is in it is committed in between, and one
//! commit with the names of all tasks ends it. What was cut short before that is deleted, at the
//! latest when the store is opened again.

use milepost_codec::{
    BodyForm, Control, Deleted, Epoch, Error, ErrorKind, LineageId, LogId, Offset, Origin, Result,
    TaskNo, TaskOpened, TaskPrepared,
};
use milepost_store::index::TaskEntry;
use milepost_store::index::keys::{self, KeyKind};

use super::import_task::TaskImport;
use super::rebase::Rebase;
use super::{ExportChunk, ExportEvent, ExportTask};
use crate::ChunkHold;
use crate::commit::committer::Request;
use crate::handles::audit::AuditEvent;
use crate::handles::engine::{Engine, check_name};
use crate::handles::task::Task;
use crate::history::events::Cursor;

/// Tasks on their way in. Nobody sees them before [`Import::finish`]; dropped before that, they are
/// given up.
pub struct Import {
    engine: Engine,
    /// Chunks stay that nothing names yet.
    _hold: ChunkHold,
    prepared: Vec<Prepared>,
    now: Option<TaskImport>,
    /// Something was refused: nothing of it will be there.
    refused: bool,
}

/// A task that is not seen yet.
struct Prepared {
    no: TaskNo,
    origin: Origin,
    opened: Offset,
    name: String,
    user: String,
    created_us: u64,
    active: LineageId,
}

impl std::fmt::Debug for Import {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Import").field("tasks", &self.prepared.len()).finish_non_exhaustive()
    }
}

impl Engine {
    /// Begins to import tasks that an [`Export`](super::Export) gave.
    ///
    /// ```
    /// use milepost::{ExportItem, Engine, Error, Message, Options};
    ///
    /// let from = Engine::in_memory(Options::default())?;
    /// let task = from.start_task("essay", "ana")?;
    /// task.append(Message::text("user", "hello"))?;
    /// let to = Engine::in_memory(Options::default())?;
    /// let mut import = to.import();
    /// from.export(false)?.task("essay", &mut |carried| match carried {
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
        Import {
            engine: self.clone(),
            _hold: self.chunk_store().hold(),
            prepared: Vec::new(),
            now: None,
            refused: false,
        }
    }

    /// Returns `true` if a task came by an import, or is a copy of another one: what it says was
    /// not all said here.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such task; `Corrupt` where the store's control log cannot be
    /// read.
    pub fn is_imported(&self, task: &str) -> Result<bool> {
        let (no, log) = (self.task(task)?.no(), self.inner.catalog.log());
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

    /// Deletes what imports left that were cut short.
    pub(crate) fn give_up_imports(&self) -> Result<()> {
        let mut left = Vec::new();
        let log = self.inner.catalog.log();
        log.walk(&keys::all(KeyKind::Prepared), &mut |key, _| {
            left.push(TaskNo(keys::first_u64(key)));
            Ok(())
        })?;
        for no in left {
            let TaskEntry { opened, origin, .. } = self.inner.catalog.task_ever(no)?;
            match self.give_up_import(no, opened, origin) {
                // The disk is full: nobody sees it all the same, and the next time will do.
                Err(error) if error.kind() == ErrorKind::Unavailable => {}
                given_up => given_up?,
            }
        }
        Ok(())
    }

    fn give_up_import(&self, task: TaskNo, opened: Offset, origin: Origin) -> Result<()> {
        let inner = &self.inner;
        let mut part = inner.part(LogId::STORE, inner.store);
        let deleted = Deleted { task, opened, origin };
        part.control(&deleted.into(), inner.now_us())?;
        inner.commit(Request::one(part.finish()).deleting(task))?;
        inner.withdraw(task);
        Ok(())
    }

    /// Refuses a name or a history that is there already.
    fn check_free(&self, name: &str, origin: Option<Origin>) -> Result<()> {
        let catalog = &self.inner.catalog;
        let there = |why: String| Err(Error::new(ErrorKind::Conflict, why));
        let mut found = None;
        if let Some(origin) = origin {
            let log = catalog.log();
            log.walk(&keys::all(KeyKind::Task), &mut |_, value| {
                let entry = TaskEntry::decode(value)?;
                let is_there = entry.deleted_us.is_none() || entry.is_prepared();
                if is_there && entry.origin == origin {
                    found = Some(entry.name);
                }
                Ok(())
            })?;
        }
        match found {
            Some(found) => there(format!("this history is there already, as task `{found}`")),
            None if catalog.find(name)?.is_some() => there(format!("there is a task `{name}`")),
            None => Ok(()),
        }
    }
}

impl Import {
    /// Begins with a task, which is to be the same here: its origin, and so every hash.
    ///
    /// # Errors
    ///
    /// `Conflict`: a task of this name, or this history under any name, is there. `Invalid`: the
    /// name or the user is none; the task before has not all of its events. `Unavailable`: the
    /// store is closed.
    pub fn task(&mut self, task: &ExportTask) -> Result<()> {
        self.begin(&task.id, task.origin, task, None)
    }

    /// Begins with a task that is to be a copy, under this name: with an origin and hashes of its
    /// own. The first event of its root says where it comes from.
    ///
    /// # Errors
    ///
    /// As [`Import::task`]; `Invalid` too where it was trimmed: what stands for its beginning is of
    /// its origin.
    pub fn copy(&mut self, name: &str, task: &ExportTask) -> Result<()> {
        if let Some(begin) = task.begins.first() {
            return Err(Error::invalid(format!(
                "task `{}` cannot be copied: retention trimmed its lineage {} at offset {}",
                task.id, begin.lineage, begin.head.next
            )));
        }
        let inner = &self.engine.inner;
        let origin = Origin(inner.entropy.bytes16());
        let renewal = Rebase::of(task, inner.entropy.seed())?;
        self.begin(name, origin, task, Some(renewal))
    }

    fn begin(
        &mut self,
        name: &str,
        origin: Origin,
        task: &ExportTask,
        renewal: Option<Rebase>,
    ) -> Result<()> {
        self.end_task()?;
        check_name("task id", name)?;
        check_name("user", &task.user)?;
        let inner = &self.engine.inner;
        let structure = inner.structure()?;
        self.engine.check_free(name, renewal.is_none().then_some(origin))?;
        if self.prepared.iter().any(|before| before.name == name) {
            let twice = format!("there are two tasks `{name}` to be imported");
            return Err(Error::new(ErrorKind::Conflict, twice));
        }
        let no = inner.catalog.next_task()?;
        let prepared = TaskPrepared { task: no, origin, begins: task.begins.clone() };
        let mut part = inner.part(LogId::STORE, inner.store);
        part.control(&prepared.into(), inner.now_us())?;
        let done = inner.commit(Request::one(part.finish()))?;
        drop(structure);
        self.prepared.push(Prepared {
            no,
            origin,
            opened: done.parts.first().map_or(0, |(first, _)| *first),
            name: name.to_owned(),
            user: task.user.clone(),
            created_us: task.created_us,
            active: task.active,
        });
        self.now = Some(TaskImport::of((no, origin), task, renewal));
        Ok(())
    }

    /// Stores a chunk that what follows needs.
    ///
    /// # Errors
    ///
    /// `Invalid`: it has over 1 MiB, or another id than it says. `Unavailable`: the store is
    /// closed, or the disk fails.
    pub fn chunk(&mut self, chunk: &ExportChunk) -> Result<()> {
        let log = self.engine.inner.catalog.log();
        let id = log.put_chunk(&chunk.content, chunk.pieces)?;
        if id == chunk.id {
            return Ok(());
        }
        let said = chunk.id;
        Err(Error::invalid(format!("the chunk {said} has the id {id}")))
    }

    /// Takes the next event of the task.
    ///
    /// # Errors
    ///
    /// `Invalid`: it does not follow, or is none that this version takes. `Diverged`: its chain
    /// hash is another one. `Unavailable`: the store is closed, or the disk fails. `Poisoned`: a
    /// write failed.
    pub fn event(&mut self, event: &ExportEvent) -> Result<()> {
        let none = || Error::invalid("an event before any task");
        let now = self.now.as_mut().ok_or_else(none)?;
        let taken = now.take(&self.engine, event);
        self.refused |= taken.is_err();
        taken.map_err(|e| e.at(now.place(event)))
    }

    /// Ends the task that is taken: all of it is there, and verifies.
    fn end_task(&mut self) -> Result<()> {
        if self.refused {
            return Err(Error::invalid("something of it was refused"));
        }
        let Some(mut now) = self.now.take() else {
            return Ok(());
        };
        let ended = now.end(&self.engine);
        self.refused |= ended.is_err();
        ended.map_err(|e| e.at(format!("task `{}`", now.task.id)))
    }

    /// Ends the import: from here on its tasks are there, all of them.
    ///
    /// # Errors
    ///
    /// `Invalid`: the last task has not all of its events. `Conflict`: somebody started a task of
    /// one of the names meanwhile. `Corrupt`: a task does not verify. `Poisoned`: the write failed.
    pub fn finish(mut self) -> Result<Vec<Task>> {
        self.end_task()?;
        let inner = &self.engine.inner;
        let structure = inner.structure()?;
        let mut part = inner.part(LogId::STORE, inner.store);
        for task in &self.prepared {
            self.engine.check_free(&task.name, None)?;
            let opened = TaskOpened {
                task: task.no,
                name: task.name.clone(),
                user: task.user.clone(),
                origin: task.origin,
            };
            part.control(&opened.into(), task.created_us)?;
        }
        if self.prepared.is_empty() {
            return Ok(Vec::new());
        }
        // Behind the commit nothing is read: what is done is answered so.
        let epochs = self.prepared.iter();
        let epochs = epochs.map(|task| Ok(inner.catalog.active(task.no)?.0));
        let epochs = epochs.collect::<Result<Vec<_>>>()?;
        inner.commit(Request::one(part.finish()))?;
        drop(structure);
        // What is known of them was known of tasks that nobody saw.
        inner.committer.hold(|| ());
        let prepared = std::mem::take(&mut self.prepared);
        let task = |(task, epoch): (&Prepared, Epoch)| {
            AuditEvent::of("task_imported", task.no, task.active).tell(inner);
            let entry = TaskEntry {
                name: task.name.clone(),
                user: task.user.clone(),
                origin: task.origin,
                created_us: task.created_us,
                opened: task.opened,
                deleted_us: None,
            };
            Task::made(&self.engine, (task.no, &entry), task.active, epoch)
        };
        Ok(prepared.iter().zip(epochs).map(task).collect())
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        for task in std::mem::take(&mut self.prepared) {
            // Where it cannot be done now, it is done when the store is opened again.
            let _ = self.engine.give_up_import(task.no, task.opened, task.origin);
        }
    }
}
