//! Index entries of records. The same function runs at a commit and in a rebuild of the index, so
//! that both give the same entries.

use std::collections::HashMap;

use milepost_codec::{
    Body, CheckpointMarked, Control, DataAttached, Deleted, Hash, Head, Header, LineageId, LogId,
    LogKind, Offset, Origin, RemovedMark, Result, Seq, TaskNo, TaskOpened, TaskPrepared,
    WorkspaceCaptured, checkpoint_id, wire,
};

use crate::index::IndexPut;
use crate::index::keys::{self, KeyKind};
use crate::index::{
    ActivationEntry, BaseEntry, KeyEntry, LineageEntry, MarkEntry, MarkPlace, PendingEntry,
    PinEntry, Tally, TaskEntry,
};

/// The maximum size of a mark whose metadata is in its entry. Larger metadata is read from the log.
const MARK_INLINE_MAX: usize = 1024;

/// Returns `true` if events of a kind have index entries even without an idempotency key.
pub fn is_indexed(kind: u16) -> bool {
    matches!(kind, WorkspaceCaptured::KIND | CheckpointMarked::KIND | DataAttached::KIND)
}

/// A record to be indexed, with its location.
pub struct IndexInput<'a> {
    /// The log.
    pub log: LogId,
    /// The task's origin.
    pub origin: Origin,
    /// The offset in the log.
    pub offset: Offset,
    /// The chain hash before it.
    pub before: Hash,
    /// The commit.
    pub seq: Seq,
    /// The header.
    pub header: &'a Header,
    /// The inline payload; `None` if the body is in chunks or erased.
    pub payload: Option<&'a [u8]>,
}

/// A function that reads an entry of the index.
pub type Lookup<'a> = dyn Fn(&[u8]) -> Result<Option<Vec<u8>>> + 'a;

/// The index before a record is applied: some records change earlier entries.
pub struct PriorIndex<'a> {
    /// Reads an entry of an earlier commit.
    pub entry: &'a Lookup<'a>,
    /// Known tallies of tasks, including this commit's changes.
    pub tallies: &'a mut dyn Tallies,
}

/// Tallies of tasks that need no read of the index.
pub trait Tallies {
    /// Returns a task's tally, if it is known.
    fn tally(&self, task: TaskNo) -> Option<Tally>;
    /// Sets a task's tally.
    fn put(&mut self, task: TaskNo, tally: Tally);
}

impl Tallies for HashMap<TaskNo, Tally> {
    fn tally(&self, task: TaskNo) -> Option<Tally> {
        self.get(&task).copied()
    }

    fn put(&mut self, task: TaskNo, tally: Tally) {
        self.insert(task, tally);
    }
}

impl PriorIndex<'_> {
    /// Changes the tally of a task.
    fn count(
        &mut self,
        task: TaskNo,
        change: impl FnOnce(&mut Tally),
        puts: &mut Vec<IndexPut>,
    ) -> Result<()> {
        let key = keys::tally(task);
        let mut tally = match self.tallies.tally(task) {
            Some(tally_before) => tally_before,
            None => match (self.entry)(&key)? {
                Some(entry) => Tally::decode(&entry)?,
                None => Tally::default(),
            },
        };
        change(&mut tally);
        self.tallies.put(task, tally);
        puts.push((key, Some(tally.encode())));
        Ok(())
    }
}

/// Adds the index entries that follow from a record.
pub fn index_record(
    record: &IndexInput<'_>,
    before: &mut PriorIndex<'_>,
    puts: &mut Vec<IndexPut>,
) -> Result<()> {
    match record.log.kind {
        LogKind::Control => index_control(record, before, puts),
        LogKind::Lineage(lineage) => {
            let task = record.log.task;
            if let Some(key) = &record.header.key {
                let entry =
                    KeyEntry { first: record.offset, count: record.header.batch, seq: record.seq };
                puts.push((keys::idempotency(task, lineage, key), Some(entry.encode())));
            }
            if record.header.kind == DataAttached::KIND {
                // The body may be in chunks: its alias is in the header.
                if let Some(alias) = &record.header.correlation {
                    let [at, by] = attached_keys((task, lineage, record.offset), alias);
                    puts.push((at, Some(alias.clone().into_bytes())));
                    puts.push((by, Some(record.seq.to_be_bytes().to_vec())));
                }
                return Ok(());
            }
            let Some(payload) = record.payload else {
                return Ok(());
            };
            if record.header.kind == WorkspaceCaptured::KIND {
                return before.count(task, |tally| tally.captured = true, puts);
            }
            if record.header.kind != CheckpointMarked::KIND {
                return Ok(());
            }
            if let Body::CheckpointMarked(mark) = Body::decode(record.header.kind, payload)? {
                index_mark(record, mark, payload.len(), puts);
                before.count(task, |tally| tally.marks += 1, puts)?;
            }
            Ok(())
        }
    }
}

fn index_mark(
    record: &IndexInput<'_>,
    mut mark: CheckpointMarked,
    size: usize,
    puts: &mut Vec<IndexPut>,
) {
    let LogKind::Lineage(lineage) = record.log.kind else {
        return;
    };
    let head = Head { next: record.offset, hash: record.before };
    let id = checkpoint_id(record.origin, lineage, head, record.header.time_us, &mark);
    let elided = size > MARK_INLINE_MAX;
    if elided {
        mark.metadata = None;
    }
    let entry = MarkEntry {
        id,
        time_us: record.header.time_us,
        seq: record.seq,
        hash: record.before,
        body: mark,
        elided,
    };
    let place = MarkPlace { task: record.log.task, lineage, offset: record.offset };
    puts.extend(mark_puts(place, &entry));
}

/// Returns the keys of attached data: by its location, and by the alias.
fn attached_keys(
    (task, lineage, offset): (TaskNo, LineageId, Offset),
    alias: &str,
) -> [Vec<u8>; 2] {
    let by = keys::named_mark(KeyKind::AttachedBy, task, alias, lineage, offset);
    [keys::attached(task, lineage, offset), by]
}

/// Returns the entries of a checkpoint.
fn mark_puts(place: MarkPlace, entry: &MarkEntry) -> Vec<IndexPut> {
    let MarkPlace { task, lineage, offset } = place;
    let name_key = |kind, name: &String| keys::named_mark(kind, task, name, lineage, offset);
    let label = entry.body.label.iter().map(|l| name_key(KeyKind::MarkLabel, l));
    let aliases = entry.body.aliases.iter();
    let names = label.chain(aliases.map(|alias| name_key(KeyKind::MarkAlias, alias)));
    let mut puts: Vec<IndexPut> = names.map(|key| (key, Some(Vec::new()))).collect();
    puts.push((keys::mark(task, lineage, offset), Some(entry.encode())));
    let by_commit = [
        keys::task_mark(task, entry.seq, lineage, offset),
        keys::store_mark(entry.seq, task, lineage, offset),
    ];
    puts.extend(by_commit.map(|key| (key, Some(Vec::new()))));
    puts.push((keys::mark_id(&entry.id), Some(place.encode())));
    puts
}

fn index_control(
    record: &IndexInput<'_>,
    before: &mut PriorIndex<'_>,
    puts: &mut Vec<IndexPut>,
) -> Result<()> {
    let Some(payload) = record.payload else {
        return Ok(());
    };
    let (task, time_us) = (record.log.task, record.header.time_us);
    let mut put = |key: Vec<u8>, value: Vec<u8>| puts.push((key, Some(value)));
    match Control::decode(record.header.kind, payload)? {
        Control::TaskOpened(opened) if task == TaskNo::STORE => {
            open_task(opened, record, before, puts)?;
        }
        Control::TaskPrepared(prepared) if task == TaskNo::STORE => {
            prepare_task(&prepared, record, puts);
        }
        Control::Deleted(deleted) if task == TaskNo::STORE => {
            bury(&deleted, time_us, before, puts)?;
        }
        Control::LineageRegistered(opened) => {
            let entry = LineageEntry {
                lineage_type: opened.lineage_type,
                description: opened.description,
                parent: opened.parent,
                opened_us: time_us,
                dropped: false,
            };
            put(keys::lineage(task, opened.lineage), entry.encode());
        }
        Control::Activated(activated) => {
            let entry =
                ActivationEntry { lineage: activated.lineage, back: activated.back, time_us };
            put(keys::activation(task, activated.epoch), entry.encode());
        }
        Control::Pinned(pinned) => {
            let reason = pinned.reason;
            let entry = PinEntry { time_us, reason };
            put(keys::pin(task, &pinned.checkpoint), entry.encode());
        }
        Control::Unpinned(unpinned) => puts.push((keys::pin(task, &unpinned.checkpoint), None)),
        Control::Retained(retained) => remove_marks(task, &retained.removed, before, puts)?,
        Control::Trimmed(trimmed) => {
            let entry = BaseEntry {
                head: Head { next: trimmed.offset, hash: trimmed.hash },
                chunk: trimmed.base,
            };
            put(keys::base(task, trimmed.lineage), entry.encode());
        }
        Control::Dropped(dropped) => drop_lineage(task, dropped.lineage, before, puts)?,
        Control::RestoreBegun(begun) => {
            let entry = PendingEntry { restore: begun.restore, begun: record.offset, time_us };
            put(keys::pending(task), entry.encode());
        }
        Control::RestoreEnded(_) => puts.push((keys::pending(task), None)),
        Control::FilesKept(kept) => put(keys::files_kept(task), wire::encode(&kept)),
        Control::Erased(erased) => {
            put(keys::erased(task, erased.lineage, erased.offset), erased.body_hash.0.to_vec())
        }
        _ => {}
    }
    Ok(())
}

/// Indexes a task, and ends its preparation if it was imported.
fn open_task(
    opened: TaskOpened,
    record: &IndexInput<'_>,
    before: &mut PriorIndex<'_>,
    puts: &mut Vec<IndexPut>,
) -> Result<()> {
    let number = opened.task.0.to_be_bytes().to_vec();
    puts.push((keys::task_name(&opened.name), Some(number)));
    let entry = TaskEntry {
        name: opened.name,
        user: opened.user,
        origin: opened.origin,
        created_us: record.header.time_us,
        opened: record.offset,
        deleted_us: None,
    };
    puts.push((keys::task(opened.task), Some(entry.encode())));
    if (before.entry)(&keys::prepared(opened.task))?.is_some() {
        puts.push((keys::prepared(opened.task), None));
    }
    Ok(())
}

/// Indexes the task of an import that has not ended.
fn prepare_task(prepared: &TaskPrepared, record: &IndexInput<'_>, puts: &mut Vec<IndexPut>) {
    let entry = TaskEntry {
        name: String::new(),
        user: String::new(),
        origin: prepared.origin,
        created_us: record.header.time_us,
        opened: record.offset,
        deleted_us: Some(TaskEntry::NOT_YET),
    };
    puts.push((keys::task(prepared.task), Some(entry.encode())));
    let offset = record.offset.to_be_bytes().to_vec();
    puts.push((keys::prepared(prepared.task), Some(offset)));
}

/// Turns a task's entry into a tombstone without names.
fn bury(
    deleted: &Deleted,
    time_us: u64,
    before: &PriorIndex<'_>,
    puts: &mut Vec<IndexPut>,
) -> Result<()> {
    let key = keys::task(deleted.task);
    let mut created_us = 0;
    if let Some(entry) = (before.entry)(&key)? {
        let entry = TaskEntry::decode(&entry)?;
        if entry.is_prepared() {
            created_us = TaskEntry::NOT_YET;
        }
        let name = keys::task_name(&entry.name);
        // The name may belong to a later incarnation.
        let number = deleted.task.0.to_be_bytes();
        if (before.entry)(&name)?.is_some_and(|found| found == number) {
            puts.push((name, None));
        }
    }
    let tombstone = TaskEntry {
        name: String::new(),
        user: String::new(),
        origin: deleted.origin,
        created_us,
        opened: deleted.opened,
        deleted_us: Some(time_us),
    };
    puts.push((key, Some(tombstone.encode())));
    if (before.entry)(&keys::prepared(deleted.task))?.is_some() {
        puts.push((keys::prepared(deleted.task), None));
    }
    Ok(())
}

fn remove_marks(
    task: TaskNo,
    removed: &[RemovedMark],
    before: &mut PriorIndex<'_>,
    puts: &mut Vec<IndexPut>,
) -> Result<()> {
    let mut count = 0;
    for mark in removed {
        let place = MarkPlace { task, lineage: mark.lineage, offset: mark.offset };
        let key = keys::mark(task, mark.lineage, mark.offset);
        // A mark that was trimmed and compacted has no entry any more.
        if let Some(entry) = (before.entry)(&key)? {
            let entry = MarkEntry::decode(&entry)?;
            puts.extend(mark_puts(place, &entry).into_iter().map(|(key, _)| (key, None)));
            count += 1;
        } else if let Some(alias) =
            (before.entry)(&keys::attached(task, mark.lineage, mark.offset))?
        {
            let place = (task, mark.lineage, mark.offset);
            let alias = String::from_utf8_lossy(&alias);
            puts.extend(attached_keys(place, &alias).map(|key| (key, None)));
        }
    }
    let remove = |tally: &mut Tally| {
        tally.marks = tally.marks.saturating_sub(count);
        tally.retained = true;
    };
    before.count(task, remove, puts)
}

fn drop_lineage(
    task: TaskNo,
    lineage: LineageId,
    before: &mut PriorIndex<'_>,
    puts: &mut Vec<IndexPut>,
) -> Result<()> {
    before.count(task, |tally| tally.dropped += 1, puts)?;
    puts.push((keys::base(task, lineage), None));
    let key = keys::lineage(task, lineage);
    if let Some(entry) = (before.entry)(&key)? {
        let dropped =
            LineageEntry { dropped: true, description: None, ..LineageEntry::decode(&entry)? };
        puts.push((key, Some(dropped.encode())));
    }
    Ok(())
}
