//! Databases of checkpoints, which SQLite reads: opened within bounds, ordered, and placed in the
//! store. A build without the feature `sqlite` has `no_database` in its place.
//!
//! ```text
//! langgraph         checkpoint databases of LangGraph
//! checkpoint_table  tables of an iteration engine's checkpoints
//! tasks             the tasks of a database, one after another
//! tree              the positions of checkpoints in the lineages of a task
//! order             checkpoints after their parents
//! snapshot          a SQLite database, read-only, in one transaction
//! ids               the ids of checkpoints, and what is told of those that are not written
//! ```

mod checkpoint_table;
mod ids;
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

/// Returns the path of a database. A stream has none, and SQLite cannot read it.
fn file(path: Option<&Path>) -> Result<&Path> {
    path.ok_or_else(|| {
        Error::invalid("a database is read from a file, not from standard input")
            .remedied_by(Remedy::NameFile)
    })
}
