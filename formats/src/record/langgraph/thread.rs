//! Writes a thread to the store: the parent and the lineage of each checkpoint.
//!
//! Checkpoints of an earlier run are found by their keys. A checkpoint's patch starts from the
//! values at the head of its branch, so it is right even if another writer changed them.

use milepost::calls::check_given_up;
use milepost::events::MarkCause;
use milepost::{Append, Engine, ErrorKind, Json, Mark, Offset, Task, Ticket};

use super::checkpoint::{self, Content, content};
use super::database::{CheckpointRow, Database, ThreadId, Write};
use super::events::{bodies, checkpoint_key, write_key, written};
use crate::error::{Error, Remedy, Result};
use crate::json_object::fields_of;
use crate::record::branches::{ACTOR, Branches};
use crate::record::database::tree::{CheckpointTree, Placed};
use crate::record::database::{Converted, Skip, is_name, not_a_name};

/// The values at the end of a branch.
struct BranchEnd {
    branch: usize,
    end: Offset,
    values: Vec<(String, Json)>,
}

/// A thread being written.
pub struct Thread<'a> {
    engine: &'a Engine,
    database: &'a Database,
    id: &'a ThreadId,
    entries: &'a [CheckpointRow],
    tree: CheckpointTree,
    /// The values written last, from which the next checkpoint usually continues.
    branch_end: Option<BranchEnd>,
    pub events: u64,
    pub checkpoints: u64,
}

impl<'a> Thread<'a> {
    pub fn new(
        engine: &'a Engine,
        database: &'a Database,
        id: &'a ThreadId,
        entries: &'a [CheckpointRow],
        branches: Branches,
    ) -> Self {
        let parents: Vec<_> = entries.iter().map(|entry| entry.parent).collect();
        let tree = CheckpointTree::new(branches, &parents, newest(entries));
        let (events, checkpoints) = (0, 0);
        Self { engine, database, id, entries, tree, branch_end: None, events, checkpoints }
    }

    pub fn lineages(&self) -> u64 {
        self.tree.branches.count()
    }

    /// Writes the missing checkpoints. Calls `skip` for each that cannot be written.
    pub fn write(&mut self, skip: Skip<'_>) -> Result<()> {
        self.find()?;
        for (at, entry) in self.entries.iter().enumerate() {
            check_given_up()?;
            let placed = match self.tree.placed(at) {
                Some(placed) => placed,
                None => self.add(at, entry, skip)?,
            };
            match self.database.writes(self.id, &entry.id) {
                Ok(writes) => self.writes(placed.branch, entry, writes, skip)?,
                Err(why) => skip(&entry.id, &format!("its writes: {why}")),
            }
        }
        for (id, count) in self.database.lost_writes(self.id)? {
            skip(&id, &format!("it is not there, and {count} writes of it are"));
        }
        Ok(())
    }

    /// Continues the task at the newest checkpoint, and returns the task's head.
    pub fn finish(&mut self) -> Result<Offset> {
        self.tree.finish(self.events > 0)
    }

    /// Finds the checkpoints that are already recorded.
    fn find(&mut self) -> Result<()> {
        if self.tree.branches.is_new() {
            return Ok(());
        }
        let mut any = false;
        for (at, entry) in self.entries.iter().enumerate() {
            any |= self.tree.find(at, &checkpoint_key(&entry.id))?;
            if let Some(missing_parent) = &entry.missing_parent {
                any |= self.tree.written_under(&checkpoint_key(missing_parent))?.is_some();
            }
        }
        if any || self.tree.is_empty()? || self.has_a_write()? {
            return Ok(());
        }
        Err(Error::conflict("the task exists already, and has the checkpoints of another thread")
            .remedied_by(Remedy::ImportUnderOtherName))
    }

    /// Returns `true` if the task has a write of one of the checkpoints, which may be unreadable.
    fn has_a_write(&mut self) -> Result<bool> {
        for entry in self.entries {
            for write in self.database.writes(self.id, &entry.id).unwrap_or_default() {
                let key = write_key(entry, &write);
                if self.tree.branches.appended_under(&key)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Writes a missing checkpoint, or calls `skip` with the reason.
    fn add(&mut self, at: usize, entry: &CheckpointRow, skip: Skip<'_>) -> Result<Placed> {
        let from = self.from(at, entry)?;
        let offset = match self.checkpoint(entry, from.branch)? {
            Ok(offset) => offset,
            Err(why) => {
                skip(&entry.id, &why);
                from.offset
            }
        };
        let placed = Placed { offset, ..from };
        self.tree.place(at, placed);
        Ok(placed)
    }

    /// Returns the position a checkpoint continues from. If another one continued there before,
    /// opens a branch.
    fn from(&mut self, at: usize, entry: &CheckpointRow) -> Result<Placed> {
        let parent = match (entry.parent, &entry.missing_parent) {
            (Some(parent), _) => self.tree.placed(parent),
            (None, Some(missing_parent)) => {
                self.tree.written_under(&checkpoint_key(missing_parent))?
            }
            (None, None) => None,
        };
        let called = match is_name(&entry.id) {
            true => entry.id.clone(),
            false => format!("checkpoint {at}"),
        };
        self.tree.begin(at, parent.unwrap_or(Placed::BEGINNING), &called, false)
    }

    /// Writes a checkpoint and returns the offset after its events.
    fn checkpoint(&mut self, entry: &CheckpointRow, branch: usize) -> Result<Converted<Offset>> {
        if !is_name(&entry.id) {
            return Ok(Err(not_a_name()));
        }
        let (content, metadata) = match self.read(entry) {
            Ok(read) => read,
            Err(why) => return Ok(Err(why)),
        };
        let branch_end = self.at_the_end(branch)?;
        let converted = bodies(&content, &branch_end.values, &metadata);
        let end = branch_end.end;
        self.branch_end = Some(branch_end);
        let bodies = match converted {
            Ok(bodies) => bodies,
            Err(why) => return Ok(Err(why)),
        };
        let mut mark = Mark::new().cause(MarkCause::Imported).alias(entry.id.as_str()).actor(ACTOR);
        let mut append = Append::batch(bodies).key(checkpoint_key(&entry.id)).actor(ACTOR);
        if checkpoint::is_of_a_mark(&metadata) {
            mark = mark.metadata(metadata);
        }
        if let Some(time_us) = content.time_us {
            mark = mark.time_us(time_us);
            append = append.time_us(time_us);
        }
        match self.tree.branches.on(branch)?.append(append.mark(mark)) {
            Ok(appended) => {
                self.events += u64::from(appended.count);
                self.checkpoints += 1;
                // Events of another writer in between may have changed values.
                self.branch_end = (appended.first == end).then_some(BranchEnd {
                    branch,
                    end: appended.head.next,
                    values: content.values,
                });
                Ok(Ok(appended.first + u64::from(appended.count)))
            }
            Err(error) if error.kind() == ErrorKind::Invalid => Ok(Err(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    fn read(&self, entry: &CheckpointRow) -> Converted<(Content, Json)> {
        let (stored, metadata) = self.database.checkpoint(entry.row)?;
        Ok((content(&stored)?, checkpoint::metadata(metadata)?))
    }

    /// Returns the values at the end of a branch: the cached ones, or those of its state.
    fn at_the_end(&mut self, branch: usize) -> Result<BranchEnd> {
        let lineage = self.tree.branches.on(branch)?.lineage();
        let end = lineage.head()?.next;
        let last = self.branch_end.take();
        if let Some(branch_end) =
            last.filter(|branch_end| (branch_end.branch, branch_end.end) == (branch, end))
        {
            return Ok(branch_end);
        }
        let state = self.engine.run_state(&lineage.point(end)?)?;
        let values = fields_of(&state.variables.text()).ok_or_else(|| {
            Error::conflict("the variables of the task are no object any more")
                .remedied_by(Remedy::ImportUnderOtherName)
        })?;
        Ok(BranchEnd { branch, end, values })
    }

    /// Writes the writes of a checkpoint that are not recorded yet.
    fn writes(
        &mut self,
        branch: usize,
        entry: &CheckpointRow,
        writes: Vec<Write>,
        skip: Skip<'_>,
    ) -> Result<()> {
        let mut tickets: Vec<Ticket> = Vec::new();
        let mut time_us = None;
        for write in writes {
            let key = write_key(entry, &write);
            if !self.tree.branches.is_new() && self.tree.branches.appended_under(&key)?.is_some() {
                continue;
            }
            // A write has no time of its own; it gets that of its checkpoint.
            let time_us = *time_us.get_or_insert_with(|| self.read(entry).ok()?.0.time_us);
            let task = self.tree.branches.on(branch)?;
            match submit(task, entry, &write, key, time_us)? {
                Ok(ticket) => tickets.push(ticket),
                Err(why) => skip(&entry.id, &format!("a write to `{}`: {why}", write.channel)),
            }
        }
        for ticket in tickets {
            let appended = ticket.wait()?;
            self.events += u64::from(appended.count);
            let behind = |branch_end: &&mut BranchEnd| {
                (branch_end.branch, branch_end.end) == (branch, appended.first)
            };
            if let Some(branch_end) = self.branch_end.as_mut().filter(behind) {
                branch_end.end = appended.head.next;
            }
        }
        Ok(())
    }
}

fn newest(entries: &[CheckpointRow]) -> Option<usize> {
    let entries = entries.iter().enumerate();
    let newest = entries.max_by_key(|(_, entry)| &entry.id);
    newest.map(|(at, _)| at)
}

fn submit(
    task: &Task,
    entry: &CheckpointRow,
    write: &Write,
    key: String,
    time_us: Option<u64>,
) -> Result<Converted<Ticket>> {
    if !is_name(&entry.id) || !is_name(&write.task) {
        return Ok(Err(not_a_name()));
    }
    let body = match written(&entry.id, write) {
        Ok(body) => body,
        Err(why) => return Ok(Err(why)),
    };
    let mut append = Append::from(body).key(key).actor(ACTOR);
    if let Some(time_us) = time_us {
        append = append.time_us(time_us);
    }
    match task.submit(append) {
        Ok(ticket) => Ok(Ok(ticket)),
        Err(error) if error.kind() == ErrorKind::Invalid => Ok(Err(error.to_string())),
        Err(error) => Err(error.into()),
    }
}
