//! Databases of checkpoints: opened within bounds, ordered, and placed in the store.
//!
//! ```text
//! tasks     the tasks of a database, one after another
//! tree      the positions of checkpoints in the lineages of a task
//! order     checkpoints after their parents
//! snapshot  a SQLite database, read-only, in one transaction
//! ```

pub(super) mod order;
pub(super) mod snapshot;
pub(super) mod tasks;
pub(super) mod tree;

use std::path::Path;

use crate::error::{Error, Remedy, Result};

/// Maximum size of an id that is part of a key or an alias, in bytes.
const ID_MAX: usize = 200;
/// Maximum size of a mark's metadata, in bytes.
pub(super) const METADATA_MAX: usize = 64 << 10;

/// A value, or the reason why a checkpoint or a write is not written.
pub(super) type Converted<T> = std::result::Result<T, String>;

/// Callback with the id of a checkpoint that is not written, and the reason.
pub(super) type Skip<'a> = &'a mut dyn FnMut(&str, &str);

/// Returns `true` if an id is valid as part of a key and as an alias.
pub(super) fn is_name(id: &str) -> bool {
    (1..=ID_MAX).contains(&id.len()) && !id.chars().any(char::is_control)
}

/// Returns the reason why an id is invalid as part of a key.
pub(super) fn not_a_name() -> String {
    format!("an id has 1 to {ID_MAX} bytes, and no control character")
}

/// Returns the path of a database. A stream has none, and SQLite cannot read it.
pub(super) fn file(path: Option<&Path>) -> Result<&Path> {
    path.ok_or_else(|| {
        Error::invalid("a database is read from a file, not from standard input")
            .remedied_by(Remedy::NameFile)
    })
}
