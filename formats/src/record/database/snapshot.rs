//! A SQLite database that another program may be writing, and that may be hostile.

use std::path::Path;

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::error::{Error, Remedy, Result};

/// Maximum size of a value, in bytes: that of an event.
const LENGTH_MAX: i32 = 64 << 20;

/// Maximum length of a prepared statement. The statements here have a few dozen operations.
const OPERATIONS_MAX: i32 = 25_000;

/// Maximum heap size of SQLite, in bytes.
const HEAP_MAX: u32 = 256 << 20;

/// A database, opened read-only and read in one transaction.
pub struct SqliteSnapshot {
    pub connection: Connection,
    name: String,
}

impl SqliteSnapshot {
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
        let snapshot = Self { connection, name };
        snapshot.begin()?;
        Ok(snapshot)
    }

    /// Begins a transaction, so that all reads see one snapshot while another program may be
    /// writing.
    fn begin(&self) -> Result<()> {
        let settings = format!(
            "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; \
             PRAGMA hard_heap_limit = {HEAP_MAX}; BEGIN;"
        );
        let result = self.connection.execute_batch(&settings);
        result.map_err(|error| self.failed(&error))
    }

    /// Checks that a table exists and that its columns are stored: the size and the time of a
    /// computed column have no bound.
    pub fn check_table(&self, table: &str) -> Result<()> {
        if !self.has_table(table)? {
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
        Ok(())
    }

    fn has_table(&self, table: &str) -> Result<bool> {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1 \
                   AND sql LIKE 'CREATE TABLE%'";
        let found: i64 = self
            .connection
            .query_row(sql, [table], |row| row.get(0))
            .map_err(|error| self.failed(&error))?;
        Ok(found > 0)
    }

    /// Returns the names of a table's columns, or none for a missing table.
    pub fn columns(&self, table: &str) -> Result<Vec<String>> {
        if !self.has_table(table)? {
            return Ok(Vec::new());
        }
        let read = || -> rusqlite::Result<Vec<_>> {
            let mut statement =
                self.connection.prepare("SELECT name FROM pragma_table_xinfo(?1)")?;
            let names = statement.query_map([table], |row| text(row, 0))?;
            names.collect()
        };
        read().map_err(|error| self.failed(&error))
    }

    pub fn failed(&self, error: &rusqlite::Error) -> Error {
        failed(&self.name, error)
    }
}

fn failed(name: &str, error: &rusqlite::Error) -> Error {
    Error::corrupt(format!("{name}: {error}")).remedied_by(Remedy::CheckDatabase)
}

/// Returns a value of any type as text. Text that is not UTF-8 is replaced in part.
pub fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
    })
}

/// Returns the bytes of text and of a blob; no other value has any.
pub fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_owned(),
        _ => Vec::new(),
    })
}
