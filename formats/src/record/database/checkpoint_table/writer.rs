//! Writes the rows of a task to the store: the parent and the lineage of each row.
//!
//! The events of a row start from the state at the head of its lineage, so they are right even if
//! another writer changed it.

use milepost::events::{Application, Data, MarkCause};
use milepost::query::CheckpointQuery;
use milepost::{Append, Body, Engine, ErrorKind, Json, Mark, Offset, RunState};

use super::row::StoredRow;
use super::table::{CheckpointTable, TableRow, TaskRows};
use crate::error::{Converted, Error, Remedy, Result};
use crate::record::branches::{ACTOR, Branches};
use crate::record::database::ids::{Skip, is_name, not_a_name};
use crate::record::database::tree::{CheckpointTree, Placed};

/// Name of the application event for columns without a meaning.
const EXTRA_EVENT: &str = "checkpoint_table";
/// Maximum size of a description of a branch that becomes that of a lineage, in bytes.
const DESCRIPTION_MAX: usize = 500;

/// The state at the end of a branch.
struct LastState {
    branch: usize,
    end: Offset,
    state: RunState,
}

/// A row that another one continues from.
struct Origin {
    placed: Placed,
    /// Index of the row, if it is in the table.
    row: Option<usize>,
    /// True if it has the same `branch_id`.
    is_same: bool,
}

/// The rows of a task being written.
pub struct TableWriter<'a> {
    engine: &'a Engine,
    table: &'a CheckpointTable,
    rows: &'a TaskRows,
    tree: CheckpointTree,
    /// Index of the row whose branch each row is on: its own, or for an unreadable row that of its
    /// parent.
    owners: Vec<usize>,
    last: Option<LastState>,
    pub events: u64,
    pub checkpoints: u64,
}

/// Returns the key of a row.
fn key(id: &str) -> String {
    format!("checkpoints:{id}")
}

impl<'a> TableWriter<'a> {
    pub fn new(
        engine: &'a Engine,
        table: &'a CheckpointTable,
        rows: &'a TaskRows,
        branches: Branches,
    ) -> Self {
        let parents: Vec<_> = rows.entries.iter().map(|entry| entry.parent).collect();
        let tree = CheckpointTree::new(branches, &parents, rows.newest);
        let owners = (0..parents.len()).collect();
        Self { engine, table, rows, tree, owners, last: None, events: 0, checkpoints: 0 }
    }

    pub fn lineages(&self) -> u64 {
        self.tree.branches.count()
    }

    /// Writes the missing rows, and returns the task's head. Calls `skip` for each row that cannot
    /// be written.
    pub fn write(&mut self, is_renamed: bool, skip: Skip<'_>) -> Result<Offset> {
        self.find(is_renamed)?;
        for id in &self.rows.repeated {
            skip(id, "an earlier row has the same id");
        }
        for (at, entry) in self.rows.entries.iter().enumerate() {
            self.engine.cancel().check()?;
            if self.tree.placed(at).is_none() {
                self.add(at, entry, skip)?;
            }
        }
        self.tree.finish(self.events > 0)
    }

    /// Finds the rows that are already recorded. A task under another name than its own may belong
    /// to another table.
    fn find(&mut self, is_renamed: bool) -> Result<()> {
        if self.tree.branches.is_new() {
            return Ok(());
        }
        let mut any = false;
        for (at, entry) in self.rows.entries.iter().enumerate() {
            any |= self.tree.find(at, &key(&entry.id))?;
            if let Some(missing_parent) = &entry.missing_parent {
                any |= self.tree.written_under(&key(missing_parent))?.is_some();
            }
        }
        if any || !is_renamed || self.tree.is_empty()? {
            return Ok(());
        }
        Err(Error::conflict("the task exists already, and has the checkpoints of another task")
            .remedied_by(Remedy::ImportUnderOtherName))
    }

    /// Writes a missing row, or calls `skip` with the reason.
    fn add(&mut self, at: usize, entry: &TableRow, skip: Skip<'_>) -> Result<()> {
        let origin = self.origin(entry)?;
        let row = match is_name(&entry.id) {
            true => self.table.row(entry.row),
            false => Err(not_a_name()),
        };
        let row = match row {
            Ok(row) => row,
            Err(why) => {
                skip(&entry.id, &why);
                let parent = origin.row.and_then(|row| self.owners.get(row).copied());
                if let (Some(owner), Some(parent)) = (self.owners.get_mut(at), parent) {
                    *owner = parent;
                }
                self.tree.stand_in(at, origin.placed);
                return Ok(());
            }
        };
        let called = match &row.description {
            Some(text) if (1..=DESCRIPTION_MAX).contains(&text.len()) => {
                format!("{text} {}", entry.id)
            }
            _ => entry.id.clone(),
        };
        let from = self.tree.begin(at, origin.placed, &called, !origin.is_same)?;
        let offset = match self.append(entry, row, from.branch)? {
            Ok(offset) => offset,
            Err(why) => {
                skip(&entry.id, &why);
                from.offset
            }
        };
        self.tree.place(at, Placed { offset, ..from });
        Ok(())
    }

    /// Returns the row that a row continues from.
    fn origin(&mut self, entry: &TableRow) -> Result<Origin> {
        if let Some(missing_parent) = &entry.missing_parent
            && let Some(placed) = self.tree.written_under(&key(missing_parent))?
        {
            let is_same = self.newest_on(&entry.branch)?.is_some();
            return Ok(Origin { placed, row: None, is_same });
        }
        if let Some(parent) = entry.parent {
            let owner = self.owners.get(parent).and_then(|owner| self.rows.entries.get(*owner));
            let is_same = owner.is_some_and(|owner| owner.branch == entry.branch);
            let placed = self.tree.placed(parent).unwrap_or(Placed::BEGINNING);
            return Ok(Origin { placed, row: Some(parent), is_same });
        }
        let placed = self.newest_on(&entry.branch)?.unwrap_or(Placed::BEGINNING);
        Ok(Origin { placed, row: None, is_same: true })
    }

    /// Returns the position of the newest checkpoint with a `branch_id` that an earlier run wrote.
    fn newest_on(&mut self, branch: &str) -> Result<Option<Placed>> {
        if self.tree.branches.is_new() {
            return Ok(None);
        }
        let query = CheckpointQuery {
            task: Some(self.tree.branches.on(0)?.id().to_owned()),
            filter: vec![("branch_id".to_owned(), branch.into())],
            limit: Some(1),
            ..CheckpointQuery::default()
        };
        let page = self.engine.query().checkpoints(&query)?;
        for alias in page.items.iter().flat_map(|checkpoint| &checkpoint.aliases) {
            if let Some(placed) = self.tree.written_under(&key(alias))? {
                return Ok(Some(placed));
            }
        }
        Ok(None)
    }

    /// Appends a row to a branch, and returns the offset after its events.
    fn append(
        &mut self,
        entry: &TableRow,
        row: StoredRow,
        branch: usize,
    ) -> Result<Converted<Offset>> {
        let mut last = self.at_the_end(branch)?;
        let bodies = match bodies(&row, &mut last.state) {
            Ok(bodies) => bodies,
            Err(why) => return Ok(Err(why)),
        };
        let mut mark = Mark::new()
            .cause(MarkCause::Imported)
            .alias(entry.id.as_str())
            .actor(ACTOR)
            .time_us(row.time_us);
        if let Some(metadata) = row.metadata {
            mark = mark.metadata(metadata);
        }
        let append = Append::batch(bodies).key(key(&entry.id)).actor(ACTOR).time_us(row.time_us);
        match self.tree.branches.on(branch)?.append(append.mark(mark)) {
            Ok(appended) => {
                self.events += u64::from(appended.count);
                self.checkpoints += 1;
                // Events of another writer in between may have changed the state.
                let is_alone = appended.first == last.end;
                self.last = is_alone.then_some(LastState { end: appended.head.next, ..last });
                Ok(Ok(appended.first + u64::from(appended.count)))
            }
            Err(error) if error.kind() == ErrorKind::Invalid => Ok(Err(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the state at the end of a branch.
    fn at_the_end(&mut self, branch: usize) -> Result<LastState> {
        let lineage = self.tree.branches.on(branch)?.lineage();
        let end = lineage.head()?.next;
        if let Some(last) = self.last.take()
            && (last.branch, last.end) == (branch, end)
        {
            return Ok(last);
        }
        let state = self.engine.run_state(&lineage.point(end)?)?;
        Ok(LastState { branch, end, state })
    }
}

/// Returns the events of a row that follows a state, which becomes the state after them.
fn bodies(row: &StoredRow, now: &mut RunState) -> Converted<Vec<Body>> {
    let mut bodies = row.target.reach(now)?;
    if !row.rest.is_empty() {
        let data = Json::from_value(&row.rest).map_err(|error| error.to_string())?;
        let (name, data) = (EXTRA_EVENT.to_owned(), Data::Json(data));
        bodies.push(Application { name, data }.into());
    }
    Ok(bodies)
}
