//! Import of tasks, which become visible when they are complete.
//!
//! An import reserves a task number in the store's log, commits the task's events, and ends with
//! one commit that names all tasks. An import that is interrupted before that is deleted, at the
//! latest by the next open of the store.

use milepost_codec::{
    Epoch, Error, ErrorKind, LineageId, LogId, Offset, Origin, Result, TaskNo, TaskOpened,
    TaskPrepared,
};
use milepost_store::index::TaskEntry;
use milepost_store::index::keys::{self, KeyKind};

use super::import_task::TaskImport;
use super::rebase::Rebase;
use super::{ExportChunk, ExportEvent, ExportTask};
use crate::handles::audit::AuditEvent;
use crate::handles::engine::{Engine, check_names};
use crate::handles::task::Task;
use crate::store::ChunkHold;

/// An import of tasks. They are visible after [`Import::finish`]. Dropping it earlier deletes them.
pub struct Import {
    engine: Engine,
    /// Holds chunks that no event names yet.
    _hold: ChunkHold,
    prepared: Vec<Prepared>,
    now: Option<TaskImport>,
    /// Set after an item was refused: the import cannot finish.
    refused: bool,
}

/// An imported task that is not visible yet.
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
    /// Returns the name of the task that has a history, also if it is being imported.
    pub(super) fn name_of_history(&self, origin: Origin) -> Result<Option<String>> {
        let mut found = None;
        self.inner.catalog.log().walk(&keys::all(KeyKind::Task), &mut |_, value| {
            let entry = TaskEntry::decode(value)?;
            let is_there = entry.deleted_us.is_none() || entry.is_prepared();
            if is_there && entry.origin == origin {
                found = Some(entry.name);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Refuses a name or a history that already exists.
    fn check_free(&self, name: &str, origin: Option<Origin>) -> Result<()> {
        let there = |why: String| Err(Error::new(ErrorKind::Conflict, why));
        let found = origin.map(|origin| self.name_of_history(origin)).transpose()?.flatten();
        match found {
            Some(found) => there(format!("this history is there already, as task `{found}`")),
            None if self.inner.catalog.find(name)?.is_some() => {
                there(format!("there is a task `{name}`"))
            }
            None => Ok(()),
        }
    }
}

impl Import {
    pub(super) fn of(engine: &Engine) -> Self {
        Self {
            engine: engine.clone(),
            _hold: engine.store().chunks().hold(),
            prepared: Vec::new(),
            now: None,
            refused: false,
        }
    }

    /// Begins a task that keeps its identity: its origin, and so every hash.
    ///
    /// # Errors
    ///
    /// - `Conflict`: a task of this name exists, or this history under any name.
    /// - `Invalid`: the name or the user is not valid, or the task before is incomplete.
    /// - `Unavailable`: the store is closed.
    pub fn task(&mut self, task: &ExportTask) -> Result<()> {
        self.begin(&task.id, task.origin, task, None)
    }

    /// Begins a task as a copy under this name, with a new origin and new hashes. The first event
    /// of its root names the original.
    ///
    /// # Errors
    ///
    /// As [`Import::task`], and `Invalid`: the task was trimmed. Its bases are bound to the old
    /// origin.
    pub fn copy(&mut self, name: &str, task: &ExportTask) -> Result<()> {
        if let Some(begin) = task.begins.first() {
            return Err(Error::invalid(format!(
                "task `{}` cannot be copied: retention trimmed its lineage {} at offset {}",
                task.id, begin.lineage, begin.head.next
            )));
        }
        self.copy_in_store(name, task, None)
    }

    /// Begins a copy of a task of this store, which may be trimmed: its bases are copied, too. The
    /// first event keeps an idempotency key.
    pub(super) fn copy_in_store(
        &mut self,
        name: &str,
        task: &ExportTask,
        key: Option<String>,
    ) -> Result<()> {
        let inner = &self.engine.inner;
        let origin = Origin(inner.entropy.bytes16());
        let renewal = Rebase::of(task, inner.entropy.seed(), key)?;
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
        check_names(name, &task.user)?;
        let inner = &self.engine.inner;
        let structure = inner.structure()?;
        self.engine.check_free(name, renewal.is_none().then_some(origin))?;
        if self.prepared.iter().any(|before| before.name == name) {
            let twice = format!("there are two tasks `{name}` to be imported");
            return Err(Error::new(ErrorKind::Conflict, twice));
        }
        let no = inner.catalog.next_task()?;
        let prepared = TaskPrepared { task: no, origin, begins: task.begins.clone() };
        let mut append = self.engine.log_append(LogId::STORE, inner.store);
        append.control(&prepared.into(), inner.now_us())?;
        let done = inner.commit(append)?;
        drop(structure);
        self.prepared.push(Prepared {
            no,
            origin,
            opened: done.appended.first().map_or(0, |(first, _)| *first),
            name: name.to_owned(),
            user: task.user.clone(),
            created_us: task.created_us,
            active: task.active,
        });
        self.now = Some(TaskImport::of((no, origin), task, renewal));
        Ok(())
    }

    /// Stores a chunk that following items need.
    ///
    /// # Errors
    ///
    /// - `Invalid`: the chunk has over 1 MiB, or its id is wrong.
    /// - `Unavailable`: the store is closed, or the disk fails.
    pub fn chunk(&mut self, chunk: &ExportChunk) -> Result<()> {
        let log = self.engine.inner.catalog.log();
        let id = log.put_chunk(&chunk.content, chunk.pieces)?;
        if id == chunk.id {
            return Ok(());
        }
        let said = chunk.id;
        Err(Error::invalid(format!("the chunk {said} has the id {id}")))
    }

    /// Imports the next event of the task.
    ///
    /// # Errors
    ///
    /// - `Invalid`: the event is not the next one, or this version does not accept it.
    /// - `Diverged`: its chain hash differs.
    /// - `Unavailable`: the store is closed, or the disk fails.
    /// - `Poisoned`: a write failed.
    pub fn event(&mut self, event: &ExportEvent) -> Result<()> {
        let none = || Error::invalid("an event before any task");
        let now = self.now.as_mut().ok_or_else(none)?;
        let taken = now.take(&self.engine, event);
        self.refused |= taken.is_err();
        taken.map_err(|e| e.at(now.place(event)))
    }

    /// Completes the current task: checks that it has all of its events, and verifies it.
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

    /// Completes the import: all of its tasks become visible at once.
    ///
    /// # Errors
    ///
    /// - `Invalid`: the last task is incomplete.
    /// - `Conflict`: a task of the same name was started during the import.
    /// - `Corrupt`: a task does not verify.
    /// - `Poisoned`: the write failed.
    pub fn finish(mut self) -> Result<Vec<Task>> {
        self.end_task()?;
        let inner = &self.engine.inner;
        let structure = inner.structure()?;
        let mut append = self.engine.log_append(LogId::STORE, inner.store);
        for task in &self.prepared {
            self.engine.check_free(&task.name, None)?;
            let opened = TaskOpened {
                task: task.no,
                name: task.name.clone(),
                user: task.user.clone(),
                origin: task.origin,
            };
            append.control(&opened.into(), task.created_us)?;
        }
        if self.prepared.is_empty() {
            return Ok(Vec::new());
        }
        // Nothing is read after the commit, so that a read error cannot hide a completed import.
        let epochs = self.prepared.iter();
        let epochs = epochs.map(|task| Ok(inner.catalog.active(task.no)?.0));
        let epochs = epochs.collect::<Result<Vec<_>>>()?;
        inner.commit(append)?;
        drop(structure);
        // Clears the leader's caches, which hold the tasks as prepared ones.
        inner.committer.hold(|| ());
        let prepared = std::mem::take(&mut self.prepared);
        let task = |(task, epoch): (&Prepared, Epoch)| {
            AuditEvent::of("task_imported", task.no, task.active).tell(&self.engine);
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
            // If this fails, the next open of the store does it.
            let _ = self.engine.delete_import(task.no, task.opened, task.origin);
        }
    }
}
