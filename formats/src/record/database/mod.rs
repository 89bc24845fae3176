//! Databases of checkpoints, which SQLite reads: opened within bounds, ordered, and placed in the
//! store. A build without the feature `sqlite` has `no_database` in its place.
//!
//! ```text
//! langgraph         checkpoint databases of LangGraph
//! checkpoint_table  tables of an iteration engine's checkpoints
//! tasks     the tasks of a database, one after another
//! tree      the positions of checkpoints in the lineages of a task
//! order     checkpoints after their parents
//! snapshot  a SQLite database, read-only, in one transaction
//! ```

mod checkpoint_table;
pub(crate) mod langgraph;
mod order;
mod snapshot;
mod tasks;
mod tree;

use std::path::Path;

use super::{Job, RecordReport};
use crate::error::{Error, Remedy, Result};
use crate::format::Format;
use crate::progress::Progress;

/// Maximum size of an id that is part of a key or an alias, in bytes.
const ID_MAX: usize = 200;
/// Maximum size of a mark's metadata, in bytes.
const METADATA_MAX: usize = 64 << 10;

/// Callback with the id of a checkpoint that is not written, and the reason.
type Skip<'a> = &'a mut dyn FnMut(&str, &str);

/// Records the tasks of a database. Checkpoints recorded before are not recorded again.
pub(super) fn record(
    job: &Job<'_>,
    format: Format,
    path: Option<&Path>,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let path = file(path)?;
    if format == Format::CheckpointTable {
        checkpoint_table::record(job, path, progress)
    } else {
        langgraph::record(job, path, progress)
    }
}

/// Returns the format of a database; `None` if it has other tables, or cannot be read.
pub(crate) fn format_of(path: &Path) -> Option<Format> {
    if checkpoint_table::is_table(path) {
        return Some(Format::CheckpointTable);
    }
    langgraph::is_database(path).then_some(Format::LangGraph)
}

/// Returns `true` if an id is valid as part of a key and as an alias.
fn is_name(id: &str) -> bool {
    (1..=ID_MAX).contains(&id.len()) && !id.chars().any(char::is_control)
}

/// Returns the reason why an id is invalid as part of a key.
fn not_a_name() -> String {
    format!("an id has 1 to {ID_MAX} bytes, and no control character")
}

/// Returns the path of a database. A stream has none, and SQLite cannot read it.
fn file(path: Option<&Path>) -> Result<&Path> {
    path.ok_or_else(|| {
        Error::invalid("a database is read from a file, not from standard input")
            .remedied_by(Remedy::NameFile)
    })
}
