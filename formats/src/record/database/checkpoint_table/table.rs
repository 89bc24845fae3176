//! The table `checkpoints` of a database, and the order of its rows.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use rusqlite::types::ValueRef;

use super::row::{RawRow, StoredRow, cell};
use crate::error::{Converted, Error, Result};
use crate::record::database::order::{Ordered, parents_first};
use crate::record::database::snapshot::{SqliteSnapshot, text};

const TABLE: &str = "checkpoints";

/// The columns that distinguish the table from one of another program.
const TELLING: [&str; 8] = [
    "task_id",
    "iteration",
    "run_control_state",
    "rule_system",
    "branch_id",
    "lineage_type",
    "checksum",
    "created_at",
];

/// The columns with a meaning, in the order in which they are read.
const COLUMNS: [&str; 15] = [
    "id",
    "task_id",
    "iteration",
    "state",
    "run_control_state",
    "prompt",
    "rule_system",
    "artifacts",
    "user_guidance",
    "branch_id",
    "parent_id",
    "lineage_type",
    "branch_description",
    "checksum",
    "created_at",
];

/// A row, as needed to order it.
#[derive(Debug, PartialEq, Eq)]
pub struct TableRow {
    pub row: i64,
    pub id: String,
    pub branch: String,
    /// Index of its parent in the list: the one it names, or the row before it on its branch.
    pub parent: Option<usize>,
    /// Id of the parent it names, if that is not in the table.
    pub missing_parent: Option<String>,
}

/// The rows of a task.
#[derive(Debug, Default)]
pub struct TaskRows {
    /// The rows, parents first.
    pub entries: Vec<TableRow>,
    /// Index of the newest row.
    pub newest: Option<usize>,
    /// Ids of rows that repeat the id of an earlier one.
    pub repeated: Vec<String>,
}

/// A table, read in one transaction.
pub struct CheckpointTable {
    snapshot: SqliteSnapshot,
    /// The columns without a meaning.
    others: Vec<String>,
}

/// Returns `true` if a file is a database with such a table.
pub fn is_table(path: &Path) -> bool {
    let columns = SqliteSnapshot::open(path).and_then(|snapshot| snapshot.columns(TABLE));
    columns.is_ok_and(|found| TELLING.iter().all(|name| found.iter().any(|column| column == name)))
}

impl CheckpointTable {
    pub fn open(path: &Path) -> Result<Self> {
        let snapshot = SqliteSnapshot::open(path)?;
        snapshot.check_table(TABLE)?;
        let mut others = snapshot.columns(TABLE)?;
        others.retain(|name| !COLUMNS.contains(&name.as_str()));
        Ok(Self { snapshot, others })
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        self.snapshot.failed(error)
    }

    /// Returns the rows of each task.
    pub fn tasks(&self) -> Result<BTreeMap<String, TaskRows>> {
        let sql = "SELECT rowid, task_id, id, branch_id, parent_id, created_at FROM checkpoints";
        let read = || -> rusqlite::Result<_> {
            let mut tasks: BTreeMap<String, Vec<RowLink>> = BTreeMap::new();
            let mut statement = self.snapshot.connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let created_at = match row.get_ref(5)? {
                    ValueRef::Integer(time) => Some(time),
                    _ => None,
                };
                let link = RowLink {
                    row: row.get(0)?,
                    id: text(row, 2)?,
                    branch: text(row, 3)?,
                    parent: Some(text(row, 4)?).filter(|parent| !parent.is_empty()),
                    created_at,
                };
                tasks.entry(text(row, 1)?).or_default().push(link);
            }
            Ok(tasks)
        };
        let tasks = read().map_err(|error| self.failed(&error))?;
        Ok(tasks.into_iter().map(|(task, links)| (task, ordered(links))).collect())
    }

    /// Returns a row, or the reason why it cannot be converted.
    pub fn row(&self, row: i64) -> Converted<StoredRow> {
        let mut sql = format!("SELECT {}", COLUMNS.join(", "));
        for name in &self.others {
            sql.push_str(&format!(", \"{}\"", name.replace('"', "\"\"")));
        }
        sql.push_str(" FROM checkpoints WHERE rowid = ?1");
        let read = || -> rusqlite::Result<RawRow> {
            let mut statement = self.snapshot.connection.prepare_cached(&sql)?;
            statement.query_row([row], |row| {
                let all = COLUMNS.iter().copied().chain(self.others.iter().map(String::as_str));
                let cells = all.enumerate().map(|(at, name)| Ok((name.to_owned(), cell(row, at)?)));
                cells.collect()
            })
        };
        read().map_err(|error| error.to_string())?.into_stored(&self.others)
    }
}

/// The part of a row that places it.
struct RowLink {
    row: i64,
    id: String,
    branch: String,
    parent: Option<String>,
    created_at: Option<i64>,
}

/// Returns the rows of a task by time, each after its parent.
fn ordered(mut links: Vec<RowLink>) -> TaskRows {
    links.sort_by_key(|link| (link.created_at, link.row));
    let mut by_id: HashMap<String, usize> = HashMap::new();
    let mut rows: Vec<RowLink> = Vec::with_capacity(links.len());
    let mut repeated = Vec::new();
    for link in links {
        if by_id.contains_key(&link.id) {
            repeated.push(link.id);
            continue;
        }
        by_id.insert(link.id.clone(), rows.len());
        rows.push(link);
    }
    let named = |link: &RowLink| by_id.get(link.parent.as_deref()?).copied();
    let mut last_of: HashMap<&str, usize> = HashMap::new();
    let mut parents = Vec::with_capacity(rows.len());
    for (at, link) in rows.iter().enumerate() {
        let before = last_of.insert(&link.branch, at);
        parents.push(named(link).or(before));
    }
    let order = parents_first(&parents);
    let last = rows.len().checked_sub(1);
    let newest = order.iter().position(|(at, _)| Some(*at) == last);
    let entry = |(at, parent): Ordered| {
        let link = rows.get(at)?;
        let is_missing = named(link).is_none();
        Some(TableRow {
            row: link.row,
            id: link.id.clone(),
            branch: link.branch.clone(),
            parent,
            missing_parent: link.parent.clone().filter(|_| is_missing),
        })
    };
    TaskRows { entries: order.into_iter().filter_map(entry).collect(), newest, repeated }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as `(id, branch, parent, created_at)`, and each with the id of its parent.
    fn order(links: &[(&str, &str, &str, i64)]) -> Vec<(String, String)> {
        let link = |(row, (id, branch, parent, at)): (usize, &(&str, &str, &str, i64))| RowLink {
            row: i64::try_from(row).unwrap(),
            id: (*id).to_owned(),
            branch: (*branch).to_owned(),
            parent: Some((*parent).to_owned()).filter(|parent| !parent.is_empty()),
            created_at: Some(*at),
        };
        let rows = ordered(links.iter().enumerate().map(link).collect());
        let parent = |row: &TableRow| row.parent.map(|at| rows.entries[at].id.clone());
        let pair = |row: &TableRow| (row.id.clone(), parent(row).unwrap_or_default());
        rows.entries.iter().map(pair).collect()
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(id, parent)| ((*id).to_owned(), (*parent).to_owned())).collect()
    }

    #[test]
    fn rows_are_ordered_by_time_and_follow_their_parent_or_their_branch() {
        let rows = [("c", "b", "", 3), ("a", "b", "", 1), ("x", "o", "a", 2), ("b", "b", "", 1)];
        assert_eq!(order(&rows), pairs(&[("a", ""), ("b", "a"), ("x", "a"), ("c", "b")]));
        let late = [("a", "b", "z", 1), ("z", "b", "", 2)];
        assert_eq!(order(&late), pairs(&[("z", ""), ("a", "z")]));
        let lost = [("a", "b", "gone", 1), ("b", "b", "gone", 2)];
        assert_eq!(order(&lost), pairs(&[("a", ""), ("b", "a")]));
    }

    #[test]
    fn a_repeated_id_is_named_and_left_out() {
        let link = |row, created_at| RowLink {
            row,
            id: "a".into(),
            branch: "b".into(),
            parent: None,
            created_at,
        };
        let rows = ordered(vec![link(1, Some(1)), link(2, None)]);
        assert_eq!((rows.entries.len(), rows.entries[0].row), (1, 2));
        assert_eq!((rows.repeated, rows.newest), (vec!["a".to_owned()], Some(0)));
    }
}
