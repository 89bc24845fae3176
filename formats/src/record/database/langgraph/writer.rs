//! Writes a thread to the store, as LangGraph's saver puts it: a checkpoint continues on the
//! lineage of its parent if that one is its newest checkpoint, otherwise on a new lineage.
//!
//! Checkpoints that the task has are found by the aliases of their marks.

use std::collections::{BTreeSet, HashSet};

use milepost::events::{Attachment, Data, MarkCause};
use milepost::query::{CheckpointOrder, CheckpointQuery};
use milepost::{
    Append, Appended, Checkpoint as Marked, CheckpointId, Engine, ErrorKind, LineageId, Mark,
    Offset,
};
use milepost_langgraph::{Checkpoint, Given, Missing, Thread, ThreadReducer, alias, id_in};

use super::checkpoint::{CheckpointParts, parts};
use super::database::{CheckpointRow, Database, ThreadRows, Write};
use super::metadata::{CheckpointMetadata, metadata};
use crate::error::{Converted, Error, Remedy, Result};
use crate::record::branches::{ACTOR, START};
use crate::record::database::ids::Skip;

/// The number of times that something is tried while other writers append to the task.
const TRIES: u32 = 50;

/// A thread being written.
pub struct ThreadWriter<'a> {
    engine: &'a Engine,
    database: &'a Database,
    task: &'a str,
    thread: (&'a str, &'a ThreadRows),
    /// The state at the checkpoint put last, from which the next one usually continues.
    last: Option<(CheckpointId, Thread)>,
    lineages: BTreeSet<LineageId>,
    pub events: u64,
    pub checkpoints: u64,
}

/// A checkpoint that is ready to be put.
struct Putting {
    checkpoint: Checkpoint,
    values: Vec<Given>,
    mark: Mark,
    time_us: Option<u64>,
}

impl<'a> ThreadWriter<'a> {
    pub fn new(
        engine: &'a Engine,
        database: &'a Database,
        task: &'a str,
        thread: (&'a str, &'a ThreadRows),
    ) -> Self {
        let lineages = BTreeSet::new();
        Self { engine, database, task, thread, last: None, lineages, events: 0, checkpoints: 0 }
    }

    /// Returns the number of lineages with checkpoints of the thread.
    pub fn lineages(&self) -> u64 {
        self.lineages.len() as u64
    }

    /// Writes the part that the task does not have, and returns its head. Calls `skip` for each
    /// checkpoint and write that cannot be written. A task without anything of the thread belongs
    /// to another one.
    pub fn write(&mut self, user: &str, skip: Skip<'_>) -> Result<Offset> {
        self.begin(user)?;
        let (_, rows) = self.thread;
        for (namespace, entries) in &rows.namespaces {
            self.namespace(namespace, entries, skip)?;
        }
        for (namespace, id) in &rows.unstored {
            self.engine.cancel().check()?;
            self.attach(namespace, id, skip)?;
        }
        self.finish()
    }

    /// Opens the task, and starts it if missing.
    fn begin(&self, user: &str) -> Result<()> {
        let task = match self.engine.task(self.task) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.engine.start_task(self.task, user)?;
                return Ok(());
            }
            task => task?,
        };
        let is_empty = task.lineages()?.len() == 1 && task.head()?.next <= START;
        if is_empty || self.has_some()? {
            return Ok(());
        }
        Err(Error::conflict("the task exists already, and has nothing of this thread")
            .remedied_by(Remedy::ImportUnderOtherName))
    }

    /// Returns `true` if the task has a checkpoint or a write of the thread.
    fn has_some(&self) -> Result<bool> {
        let (_, rows) = self.thread;
        let task = self.engine.task(self.task)?;
        let stored = rows.namespaces.iter().flat_map(|(namespace, entries)| {
            let ids = entries.iter().flat_map(|entry| [Some(&entry.id), entry.parent_id.as_ref()]);
            ids.flatten().map(|id| alias(namespace, id))
        });
        let unstored = rows.unstored.iter().map(|(namespace, id)| alias(namespace, id));
        for alias in stored.chain(unstored) {
            // An alias that the store does not take has nothing.
            if self.marked(&alias)?.is_some()
                || task.attached(&alias).is_ok_and(|found| !found.is_empty())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes the checkpoints of a namespace, and their writes.
    fn namespace(
        &mut self,
        namespace: &str,
        entries: &[CheckpointRow],
        skip: Skip<'_>,
    ) -> Result<()> {
        // The alias from which the children of each checkpoint continue: for one that cannot be
        // read, that of its parent.
        let mut origins: Vec<Option<String>> = Vec::with_capacity(entries.len());
        for entry in entries {
            self.engine.cancel().check()?;
            let own = alias(namespace, &entry.id);
            let parent = match (entry.parent, &entry.parent_id) {
                (Some(at), _) => origins.get(at).cloned().flatten(),
                // An earlier import may have brought it.
                (None, Some(id)) => Some(alias(namespace, id)),
                (None, None) => None,
            };
            let is_there = match self.add(namespace, entry, (&own, parent.as_deref()))? {
                Ok(()) => true,
                Err(why) => {
                    skip(&entry.id, &why);
                    false
                }
            };
            origins.push(if is_there { Some(own) } else { parent });
            self.attach(namespace, &entry.id, skip)?;
        }
        Ok(())
    }

    /// Writes a checkpoint, unless the task has it.
    fn add(
        &mut self,
        namespace: &str,
        entry: &CheckpointRow,
        (own, parent): (&str, Option<&str>),
    ) -> Result<Converted<()>> {
        let added = retried(|| {
            if let Some(marked) = self.marked(own)? {
                return Ok(Ok((marked.lineage, None)));
            }
            let parent = match parent {
                Some(parent) => self.marked(parent)?,
                None => None,
            };
            match self.read(entry, own) {
                Ok(putting) => self.put(putting, parent, namespace.is_empty()).map(Ok),
                Err(why) => Ok(Err(why)),
            }
        });
        match added {
            Ok(Ok((lineage, appended))) => {
                self.lineages.insert(lineage);
                self.events += appended.map_or(0, u64::from);
                self.checkpoints += u64::from(appended.is_some());
                Ok(Ok(()))
            }
            Ok(Err(why)) => Ok(Err(why)),
            Err(error) => refused(error).map(Err),
        }
    }

    fn read(&self, entry: &CheckpointRow, own: &str) -> Converted<Putting> {
        let (stored, described) = self.database.checkpoint(entry.row)?;
        let CheckpointParts { content, values, time_us } = parts(&stored)?;
        let CheckpointMetadata { stored: metadata, filters, step } = metadata(&described);
        let mut mark = Mark::new().cause(MarkCause::Imported).alias(own).actor(ACTOR);
        if let Some(filters) = filters {
            mark = mark.metadata(filters);
        }
        if let Some(time_us) = time_us {
            mark = mark.time_us(time_us);
        }
        let (id, parent) = (entry.id.clone(), entry.parent_id.clone());
        let checkpoint = Checkpoint { id, parent, content, metadata, step };
        Ok(Putting { checkpoint, values, mark, time_us })
    }

    /// Appends a checkpoint after its parent, or as the first one of a namespace. Returns its
    /// lineage and the number of its events.
    fn put(
        &mut self,
        Putting { checkpoint, values, mark, time_us }: Putting,
        parent: Option<Marked>,
        is_root: bool,
    ) -> Result<(LineageId, Option<u32>)> {
        let mut thread = match &parent {
            Some(parent) => self.state(parent)?,
            None => Thread::default(),
        };
        let bodies = match &parent {
            Some(_) => checkpoint.events(&thread, &values),
            None => checkpoint.first_events(&values),
        };
        let bodies = bodies.map_err(|Missing(_)| Error::bug("a channel without a value"))?;
        bodies.iter().for_each(|body| thread.apply(body));
        let mut append = Append::batch(bodies).actor(ACTOR).mark(mark);
        if let Some(time_us) = time_us {
            append = append.time_us(time_us);
        }
        let (lineage, appended) = self.append(parent.as_ref(), is_root, append)?;
        self.last = appended.checkpoint.map(|id| (id, thread));
        Ok((lineage, Some(appended.count)))
    }

    /// Appends after the parent if that is the newest checkpoint of its lineage, and the first
    /// checkpoint of the root namespace to a lineage without a mark; others to new lineages.
    fn append(
        &self,
        parent: Option<&Marked>,
        is_root: bool,
        append: Append,
    ) -> Result<(LineageId, Appended)> {
        let task = self.engine.task(self.task)?;
        let lineage = match parent {
            Some(parent) => task.lineage_named(parent.lineage)?,
            None => task.lineage().clone(),
        };
        let info = lineage.info()?;
        let newest = lineage.newest_mark()?.map(|(offset, _)| offset);
        let is_end = match parent {
            Some(parent) => newest == Some(parent.mark),
            None => is_root && info.parent.is_none() && newest.is_none(),
        };
        if is_end {
            let append = append.expect_head(info.head.next);
            return Ok((info.id, lineage.append(append)?));
        }
        let point = match parent {
            Some(parent) => self.engine.point(&format!("@{}", parent.id))?,
            None => lineage.point(info.begin.max(START))?,
        };
        let (lineage, appended) = self.engine.branch(&point).append(append)?;
        Ok((lineage.id(), appended))
    }

    /// Returns the state at a checkpoint.
    fn state(&mut self, marked: &Marked) -> Result<Thread> {
        match self.last.take() {
            Some((id, thread)) if id == marked.id => Ok(thread),
            _ => {
                let point = self.engine.point(&format!("@{}", marked.id))?;
                Ok(self.engine.state(&ThreadReducer, &point)?)
            }
        }
    }

    /// Attaches the writes of a checkpoint that are not attached yet.
    fn attach(&mut self, namespace: &str, id: &str, skip: Skip<'_>) -> Result<()> {
        let (thread, _) = self.thread;
        let writes = match self.database.writes(thread, (namespace, id)) {
            Ok(writes) => writes,
            Err(why) => {
                skip(id, &format!("its writes: {why}"));
                return Ok(());
            }
        };
        let alias = alias(namespace, id);
        let attachments: Vec<Attachment> = writes.into_iter().map(attachment).collect();
        if attachments.is_empty() || self.attach_new(&alias, &attachments)?.is_ok() {
            return Ok(());
        }
        // The others of a batch that is refused may be valid.
        for one in &attachments {
            if let Err(why) = self.attach_new(&alias, std::slice::from_ref(one))? {
                skip(id, &format!("a write to `{}`: {why}", one.name));
            }
        }
        Ok(())
    }

    fn attach_new(&mut self, alias: &str, all: &[Attachment]) -> Result<Converted<()>> {
        let attached = retried(|| {
            let task = self.engine.task(self.task)?;
            let attached = task.attached(alias)?;
            // One with a negative index would replace newer data of another writer.
            let known: HashSet<_> = attached.iter().map(|one| (&*one.writer, one.index)).collect();
            let is_new = |one: &&Attachment| !known.contains(&(&*one.writer, one.index));
            Ok(task.attach(alias, all.iter().filter(is_new).cloned())?)
        });
        match attached {
            Ok(count) => {
                self.events += count;
                Ok(Ok(()))
            }
            Err(error) => refused(error).map(Err),
        }
    }

    /// Returns the newest mark with an alias.
    fn marked(&self, alias: &str) -> Result<Option<Marked>> {
        let marks = self.marks(Some(alias), None)?;
        Ok(marks.into_iter().max_by_key(|mark| (mark.lineage, mark.mark)))
    }

    fn marks(&self, alias: Option<&str>, limit: Option<usize>) -> Result<Vec<Marked>> {
        let query = CheckpointQuery {
            task: Some(self.task.to_owned()),
            alias: alias.map(str::to_owned),
            order: CheckpointOrder::Alias,
            limit,
            ..CheckpointQuery::default()
        };
        Ok(self.engine.query().checkpoints(&query)?.items)
    }

    /// Continues the task at the newest checkpoint of the root namespace, from which the graph
    /// continues, and returns the task's head. A task that nothing was added to stays on a lineage
    /// that is not of the thread.
    fn finish(&self) -> Result<Offset> {
        let is_root = |alias: &String| id_in(alias).is_some_and(|(found, _)| found.is_empty());
        let active = self.engine.task(self.task)?.lineage().id();
        if (self.events > 0 || self.lineages.contains(&active))
            && let Some(newest) = self.marks(None, Some(1))?.first()
            && newest.aliases.iter().any(is_root)
        {
            self.engine
                .switch(&self.engine.task(self.task)?.lineage_named(newest.lineage)?)
                .run()?;
        }
        Ok(self.engine.task(self.task)?.head()?.next)
    }
}

/// Returns the attachment of a write: encoding, path of the task, value.
fn attachment(write: Write) -> Attachment {
    let Write { task, index, channel, path, value } = write;
    let bytes = [value.encoding.as_bytes(), path.as_bytes(), &value.bytes].join(&0);
    Attachment::new(task, index, Data::Bytes(bytes)).name(channel)
}

/// Tries something while other writers append to the task.
fn retried<T>(mut once: impl FnMut() -> Result<T>) -> Result<T> {
    let mut tries = TRIES;
    loop {
        match once() {
            Err(error) if tries > 0 && kind(&error) == Some(ErrorKind::Conflict) => tries -= 1,
            done => return done,
        }
    }
}

/// Returns the reason why the store refuses something, or any other error.
fn refused(error: Error) -> Result<String> {
    match kind(&error) {
        Some(ErrorKind::Invalid) => Ok(error.to_string()),
        _ => Err(error),
    }
}

fn kind(error: &Error) -> Option<ErrorKind> {
    error.engine().map(milepost::Error::kind)
}
