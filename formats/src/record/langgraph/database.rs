//! A checkpoint database, opened read-only.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use rusqlite::Row;

use super::checkpoint::Stored;
use crate::error::{Error, Result};
use crate::record::database::order::{Ordered, parents_first};
use crate::record::database::snapshot::{SqliteSnapshot, bytes, text};

/// A thread: its id, and the namespace of its graph.
pub type ThreadId = (String, String);

/// A checkpoint, as needed to order it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointRow {
    pub row: i64,
    pub id: String,
    /// Index of its parent in the list.
    pub parent: Option<usize>,
    /// Id of its parent, if that is not in the database.
    pub missing_parent: Option<String>,
}

/// A value that a task of a graph wrote after a checkpoint.
#[derive(Debug)]
pub struct Write {
    pub task: String,
    pub index: i64,
    pub channel: String,
    pub value: Stored,
}

/// Returns `true` if a file is a database with the tables of a checkpointer.
pub fn is_database(path: &Path) -> bool {
    Database::open(path).is_ok()
}

/// A database, read in one transaction.
pub struct Database(SqliteSnapshot);

impl Database {
    pub fn open(path: &Path) -> Result<Self> {
        let snapshot = SqliteSnapshot::open(path)?;
        for table in ["checkpoints", "writes"] {
            snapshot.check_table(table)?;
        }
        Ok(Self(snapshot))
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        self.0.failed(error)
    }

    /// Returns the checkpoints of each thread, each after its parent, otherwise by id.
    pub fn threads(&self) -> Result<BTreeMap<ThreadId, Vec<CheckpointRow>>> {
        let sql = "SELECT rowid, thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id \
                   FROM checkpoints";
        let read = || -> rusqlite::Result<_> {
            let mut threads: BTreeMap<ThreadId, Vec<Link>> = BTreeMap::new();
            let mut statement = self.0.connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let link = Link {
                    row: row.get(0)?,
                    id: text(row, 3)?,
                    parent: Some(text(row, 4)?).filter(|parent| !parent.is_empty()),
                };
                let thread = (text(row, 1)?, text(row, 2)?);
                threads.entry(thread).or_default().push(link);
            }
            Ok(threads)
        };
        let threads = read().map_err(|error| self.failed(&error))?;
        let ordered = |(thread, links)| (thread, ordered(links));
        Ok(threads.into_iter().map(ordered).collect())
    }

    /// Returns the ids of missing checkpoints that have writes, and the number of those writes.
    pub fn lost_writes(&self, thread: &ThreadId) -> Result<Vec<(String, u64)>> {
        let sql = "SELECT checkpoint_id, count(*) FROM writes w WHERE thread_id = ?1 \
                   AND checkpoint_ns = ?2 AND NOT EXISTS (SELECT 1 FROM checkpoints c \
                   WHERE c.thread_id = w.thread_id AND c.checkpoint_ns = w.checkpoint_ns \
                   AND c.checkpoint_id = w.checkpoint_id) GROUP BY checkpoint_id ORDER BY 1";
        let read = || -> rusqlite::Result<Vec<_>> {
            let mut statement = self.0.connection.prepare(sql)?;
            let rows = statement.query_map([&thread.0, &thread.1], |row| {
                let count: i64 = row.get(1)?;
                Ok((text(row, 0)?, count.unsigned_abs()))
            })?;
            rows.collect()
        };
        read().map_err(|error| self.failed(&error))
    }

    /// Returns the checkpoint in a row, and its metadata.
    pub fn checkpoint(&self, row: i64) -> Result<(Stored, Vec<u8>), String> {
        let sql = "SELECT type, checkpoint, metadata FROM checkpoints WHERE rowid = ?1";
        let read = || -> rusqlite::Result<_> {
            let mut statement = self.0.connection.prepare_cached(sql)?;
            statement.query_row([row], |row| Ok((stored(row, 0, 1)?, bytes(row, 2)?)))
        };
        read().map_err(|error| error.to_string())
    }

    /// Returns the writes after a checkpoint, in order.
    pub fn writes(&self, thread: &ThreadId, id: &str) -> Result<Vec<Write>, String> {
        let sql = "SELECT task_id, idx, channel, type, value FROM writes WHERE thread_id = ?1 \
                   AND checkpoint_ns = ?2 AND checkpoint_id = ?3 ORDER BY rowid";
        let read = || -> rusqlite::Result<_> {
            let mut statement = self.0.connection.prepare_cached(sql)?;
            let rows = statement.query_map([&thread.0, &thread.1, id], |row| {
                Ok(Write {
                    task: text(row, 0)?,
                    index: row.get(1)?,
                    channel: text(row, 2)?,
                    value: stored(row, 3, 4)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|error: rusqlite::Error| error.to_string())
    }
}

fn stored(row: &Row<'_>, kind: usize, value: usize) -> rusqlite::Result<Stored> {
    Ok(Stored {
        kind: Some(text(row, kind)?).filter(|kind| !kind.is_empty()),
        bytes: bytes(row, value)?,
    })
}

struct Link {
    row: i64,
    id: String,
    parent: Option<String>,
}

/// Returns the checkpoints, each after its parent. Ids ascend with time only within one process.
fn ordered(mut links: Vec<Link>) -> Vec<CheckpointRow> {
    links.sort_by(|a, b| (&a.id, a.row).cmp(&(&b.id, b.row)));
    links.dedup_by(|later, first| later.id == first.id);
    let by_id: HashMap<&str, usize> =
        links.iter().enumerate().map(|(at, link)| (link.id.as_str(), at)).collect();
    let parent_of = |link: &Link| by_id.get(link.parent.as_deref()?).copied();
    let parents: Vec<Option<usize>> = links.iter().map(parent_of).collect();
    let entry = |(at, parent): Ordered| {
        let link = links.get(at)?;
        let has_parent = parents.get(at).copied().flatten().is_some();
        Some(CheckpointRow {
            row: link.row,
            id: link.id.clone(),
            parent,
            missing_parent: link.parent.clone().filter(|_| !has_parent),
        })
    };
    parents_first(&parents).into_iter().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(links: &[(&str, &str)]) -> Vec<(String, Option<usize>)> {
        let link = |(row, (id, parent)): (usize, &(&str, &str))| Link {
            row: i64::try_from(row).unwrap(),
            id: (*id).to_owned(),
            parent: Some((*parent).to_owned()).filter(|parent| !parent.is_empty()),
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
