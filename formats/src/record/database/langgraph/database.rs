//! A checkpoint database, opened read-only.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use milepost_langgraph::Typed;
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::error::{Error, Result};
use crate::record::database::order::{Ordered, parents_first};
use crate::record::database::snapshot::{SqliteSnapshot, bytes, text};

/// A namespace of a thread, and the id of a checkpoint in it.
pub type CheckpointPlace = (String, String);

/// The rows of a thread.
#[derive(Debug, Default)]
pub struct ThreadRows {
    /// The checkpoints of each namespace, each after its parent, otherwise by id.
    pub namespaces: BTreeMap<String, Vec<CheckpointRow>>,
    /// Checkpoints that have writes only.
    pub unstored: Vec<CheckpointPlace>,
}

/// A checkpoint, as needed to order it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointRow {
    pub row: i64,
    pub id: String,
    /// Id of its parent.
    pub parent_id: Option<String>,
    /// Index of its parent in the list, if that is before it.
    pub parent: Option<usize>,
}

/// A value that a task of a graph wrote after a checkpoint.
#[derive(Debug)]
pub struct Write {
    pub task: String,
    pub index: i64,
    pub channel: String,
    pub path: String,
    pub value: Typed,
}

/// Returns `true` if a file is a database with the tables of a checkpointer.
pub fn is_database(path: &Path) -> bool {
    Database::open(path).is_ok()
}

/// A database, read in one transaction.
pub struct Database {
    snapshot: SqliteSnapshot,
    /// The expression for the path of a write's task, which older databases do not have.
    path: &'static str,
}

impl Database {
    pub fn open(path: &Path) -> Result<Self> {
        let snapshot = SqliteSnapshot::open(path)?;
        for table in ["checkpoints", "writes"] {
            snapshot.check_table(table)?;
        }
        let has_path = snapshot.columns("writes")?.iter().any(|name| name == "task_path");
        Ok(Self { snapshot, path: if has_path { "task_path" } else { "''" } })
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        self.snapshot.failed(error)
    }

    /// Returns the rows of each thread.
    pub fn threads(&self) -> Result<BTreeMap<String, ThreadRows>> {
        let sql = "SELECT rowid, thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id \
                   FROM checkpoints";
        let unstored = "SELECT thread_id, checkpoint_ns, checkpoint_id FROM writes \
                        EXCEPT SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints";
        let read = || -> rusqlite::Result<_> {
            let mut threads: BTreeMap<String, ThreadRows> = BTreeMap::new();
            let mut statement = self.snapshot.connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let checkpoint = CheckpointRow {
                    row: row.get(0)?,
                    id: text(row, 3)?,
                    parent_id: Some(text(row, 4)?).filter(|parent| !parent.is_empty()),
                    parent: None,
                };
                let namespaces = &mut threads.entry(text(row, 1)?).or_default().namespaces;
                namespaces.entry(text(row, 2)?).or_default().push(checkpoint);
            }
            let mut statement = self.snapshot.connection.prepare(unstored)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let place = (text(row, 1)?, text(row, 2)?);
                threads.entry(text(row, 0)?).or_default().unstored.push(place);
            }
            Ok(threads)
        };
        let mut threads = read().map_err(|error| self.failed(&error))?;
        for rows in threads.values_mut().flat_map(|thread| thread.namespaces.values_mut()) {
            *rows = ordered(std::mem::take(rows));
        }
        Ok(threads)
    }

    /// Returns the checkpoint in a row, and its metadata.
    pub fn checkpoint(&self, row: i64) -> Result<(Typed, Vec<u8>), String> {
        let sql = "SELECT type, checkpoint, metadata FROM checkpoints WHERE rowid = ?1";
        let read = || -> rusqlite::Result<_> {
            let mut statement = self.snapshot.connection.prepare_cached(sql)?;
            statement.query_row([row], |row| Ok((stored(row, 0, 1)?, bytes(row, 2)?)))
        };
        read().map_err(|error| error.to_string())
    }

    /// Returns the writes after a checkpoint, in order.
    pub fn writes(
        &self,
        thread: &str,
        (namespace, id): (&str, &str),
    ) -> Result<Vec<Write>, String> {
        let path = self.path;
        let sql = format!(
            "SELECT task_id, idx, channel, type, value, {path} FROM writes WHERE thread_id = ?1 \
             AND checkpoint_ns = ?2 AND checkpoint_id = ?3 ORDER BY rowid"
        );
        let read = || -> rusqlite::Result<_> {
            let mut statement = self.snapshot.connection.prepare_cached(&sql)?;
            let rows = statement.query_map([thread, namespace, id], |row| {
                Ok(Write {
                    task: text(row, 0)?,
                    index: row.get(1)?,
                    channel: text(row, 2)?,
                    path: text(row, 5)?,
                    value: stored(row, 3, 4)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|error: rusqlite::Error| error.to_string())
    }
}

/// Returns a value and its encoding. Old databases have JSON without a type.
fn stored(row: &Row<'_>, kind: usize, value: usize) -> rusqlite::Result<Typed> {
    let kind = Some(text(row, kind)?).filter(|kind| !kind.is_empty());
    let bytes = match row.get_ref(value)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        _ => &[],
    };
    Ok(Typed::new(kind.as_deref().unwrap_or("json"), bytes))
}

/// Returns the checkpoints, each after its parent. Ids ascend with time only within one process.
fn ordered(mut rows: Vec<CheckpointRow>) -> Vec<CheckpointRow> {
    rows.sort_by(|a, b| (&a.id, a.row).cmp(&(&b.id, b.row)));
    rows.dedup_by(|later, first| later.id == first.id);
    let by_id: HashMap<&str, usize> =
        rows.iter().enumerate().map(|(at, row)| (row.id.as_str(), at)).collect();
    let parent_of = |row: &CheckpointRow| by_id.get(row.parent_id.as_deref()?).copied();
    let parents: Vec<Option<usize>> = rows.iter().map(parent_of).collect();
    let entry = |(at, parent): Ordered| Some(CheckpointRow { parent, ..rows.get(at)?.clone() });
    parents_first(&parents).into_iter().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(links: &[(&str, &str)]) -> Vec<(String, Option<usize>)> {
        let link = |(row, (id, parent)): (usize, &(&str, &str))| CheckpointRow {
            row: i64::try_from(row).unwrap(),
            id: (*id).to_owned(),
            parent_id: Some((*parent).to_owned()).filter(|parent| !parent.is_empty()),
            parent: None,
        };
        let entries = ordered(links.iter().enumerate().map(link).collect());
        entries.into_iter().map(|entry| (entry.id, entry.parent)).collect()
    }

    fn entry(id: &str, parent: Option<usize>) -> (String, Option<usize>) {
        (id.to_owned(), parent)
    }

    #[test]
    fn checkpoints_are_ordered_by_id_behind_their_parents() {
        assert_eq!(
            order(&[("3", "1"), ("2", "9"), ("1", ""), ("9", "1"), ("4", "lost")]),
            [
                entry("1", None),
                entry("9", Some(0)),
                entry("2", Some(1)),
                entry("3", Some(0)),
                entry("4", None)
            ]
        );
    }

    #[test]
    fn circles_end() {
        let circle = order(&[("1", "3"), ("2", "1"), ("3", "2"), ("4", "4"), ("2", "1")]);
        let expected =
            [entry("2", None), entry("3", Some(0)), entry("1", Some(1)), entry("4", None)];
        assert_eq!(circle, expected);
    }
}
