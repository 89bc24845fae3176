//! A checkpoint database, opened read-only.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use super::checkpoint::Stored;
use crate::error::{Error, Remedy, Result};

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

/// Maximum size of a value, in bytes: that of an event.
const LENGTH_MAX: i32 = 64 << 20;

/// Maximum length of a prepared statement. The statements here have a few dozen operations.
const OPERATIONS_MAX: i32 = 25_000;

/// Maximum heap size of SQLite, in bytes.
const HEAP_MAX: u32 = 256 << 20;

/// A database, read in one transaction.
pub struct Database {
    connection: Connection,
    name: String,
}

impl Database {
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(path, flags).map_err(|error| failed(&name, &error))?;
        for (limit, most) in [
            (Limit::SQLITE_LIMIT_LENGTH, LENGTH_MAX),
            (Limit::SQLITE_LIMIT_VDBE_OP, OPERATIONS_MAX),
        ] {
            let set = connection.set_limit(limit, most);
            set.map_err(|error| failed(&name, &error))?;
        }
        let database = Self { connection, name };
        database.begin()?;
        database.check()?;
        Ok(database)
    }

    /// Begins a transaction, so that all reads see one snapshot while a graph may be writing.
    fn begin(&self) -> Result<()> {
        let settings = format!(
            "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; \
             PRAGMA hard_heap_limit = {HEAP_MAX}; BEGIN;"
        );
        let result = self.connection.execute_batch(&settings);
        result.map_err(|error| self.failed(&error))
    }

    /// Checks that the tables exist and that their columns are stored: the size and the time of a
    /// computed column have no bound.
    fn check(&self) -> Result<()> {
        for table in ["checkpoints", "writes"] {
            let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1 \
                       AND sql LIKE 'CREATE TABLE%'";
            let found: i64 = self
                .connection
                .query_row(sql, [table], |row| row.get(0))
                .map_err(|error| self.failed(&error))?;
            if found == 0 {
                let name = &self.name;
                return Err(Error::invalid(format!("{name}: there is no table `{table}`"))
                    .remedied_by(Remedy::GiveDatabase));
            }
            let sql = "SELECT count(*) FROM pragma_table_xinfo(?1) WHERE hidden <> 0";
            let computed: i64 = self
                .connection
                .query_row(sql, [table], |row| row.get(0))
                .map_err(|error| self.failed(&error))?;
            if computed > 0 {
                let name = &self.name;
                return Err(Error::corrupt(format!(
                    "{name}: the table `{table}` has columns that are computed and not stored"
                ))
                .remedied_by(Remedy::GiveOrdinaryDatabase));
            }
        }
        Ok(())
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        failed(&self.name, error)
    }

    /// Returns the checkpoints of each thread, each after its parent, otherwise by id.
    pub fn threads(&self) -> Result<BTreeMap<ThreadId, Vec<CheckpointRow>>> {
        let sql = "SELECT rowid, thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id \
                   FROM checkpoints";
        let read = || -> rusqlite::Result<_> {
            let mut threads: BTreeMap<ThreadId, Vec<Link>> = BTreeMap::new();
            let mut statement = self.connection.prepare(sql)?;
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
            let mut statement = self.connection.prepare(sql)?;
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
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_row([row], |row| Ok((stored(row, 0, 1)?, bytes(row, 2)?)))
        };
        read().map_err(|error| error.to_string())
    }

    /// Returns the writes after a checkpoint, in order.
    pub fn writes(&self, thread: &ThreadId, id: &str) -> Result<Vec<Write>, String> {
        let sql = "SELECT task_id, idx, channel, type, value FROM writes WHERE thread_id = ?1 \
                   AND checkpoint_ns = ?2 AND checkpoint_id = ?3 ORDER BY rowid";
        let read = || -> rusqlite::Result<_> {
            let mut statement = self.connection.prepare_cached(sql)?;
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

fn failed(name: &str, error: &rusqlite::Error) -> Error {
    Error::corrupt(format!("{name}: {error}")).remedied_by(Remedy::CheckDatabase)
}

fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
    })
}

fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_owned(),
        _ => Vec::new(),
    })
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

/// Returns the checkpoints, each after its parent. Ids ascend with time only within one process,
/// and a database may be edited by hand: a cycle of parents is cut where it closes.
fn ordered(mut links: Vec<Link>) -> Vec<CheckpointRow> {
    links.sort_by(|a, b| (&a.id, a.row).cmp(&(&b.id, b.row)));
    links.dedup_by(|later, first| later.id == first.id);
    let by_id: HashMap<&str, usize> =
        links.iter().enumerate().map(|(at, link)| (link.id.as_str(), at)).collect();
    let parent_of = |link: &Link| by_id.get(link.parent.as_deref()?).copied();
    let parents: Vec<Option<usize>> = links.iter().map(parent_of).collect();
    // Index of each checkpoint in the list; `None` until it is placed.
    let mut places: Vec<Option<usize>> = vec![None; links.len()];
    let mut entries: Vec<CheckpointRow> = Vec::with_capacity(links.len());
    let mut visiting = vec![false; links.len()];
    for first in 0..links.len() {
        let mut chain = Vec::new();
        let mut next = Some(first);
        while let Some(at) = next {
            let placed = places.get(at).copied().flatten().is_some();
            let Some(visited) = visiting.get_mut(at).filter(|visited| !placed && !**visited) else {
                break;
            };
            *visited = true;
            chain.push(at);
            next = parents.get(at).copied().flatten();
        }
        while let Some(at) = chain.pop() {
            let parent = parents.get(at).copied().flatten();
            let has_parent = parent.is_some();
            let parent = parent.and_then(|parent| places.get(parent).copied().flatten());
            if let (Some(place), Some(link)) = (places.get_mut(at), links.get(at)) {
                *place = Some(entries.len());
                entries.push(CheckpointRow {
                    row: link.row,
                    id: link.id.clone(),
                    parent,
                    missing_parent: link.parent.clone().filter(|_| !has_parent),
                });
            }
        }
    }
    entries
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
    fn each_checkpoint_stands_behind_its_parent() {
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
