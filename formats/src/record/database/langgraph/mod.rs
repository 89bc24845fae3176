//! Checkpoint databases of LangGraph. A thread becomes a task in the form of `MilepostSaver`, and a
//! graph with this saver continues it.
//!
//! ```text
//! database    the tables, and the order of checkpoints
//! checkpoint  a stored checkpoint, taken apart
//! metadata    its metadata
//! writer      a thread written to the store
//! ```

pub(crate) mod checkpoint;
mod database;
pub(crate) mod metadata;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;

use super::ids::Skip;
use super::tasks::{StoredTask, record_each};
use crate::error::Result;
use crate::format::Format;
use crate::progress::Progress;
use crate::record::{Job, RecordReport, RecordedTask};
pub(super) use database::is_database;
use database::{Database, ThreadRows};
use writer::ThreadWriter;

/// Prefix of the tasks of threads. The saver has the same.
const PREFIX: &str = "lg:";

/// A thread of a database.
type StoredThread = StoredTask<(String, ThreadRows)>;

/// Records the threads of a database. Checkpoints recorded before are not recorded again.
pub(super) fn record(
    job: &Job<'_>,
    path: &Path,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let database = Database::open(path)?;
    let threads = database.threads()?;
    let several = threads.len() > 1;
    let stored = threads.into_iter().map(|(id, rows)| {
        let count = rows.namespaces.values().map(Vec::len).sum();
        let own = id.clone();
        StoredTask::new(job, (PREFIX, &own), several, count, (id, rows))
    });
    let stored: Vec<StoredThread> = stored.collect();
    record_each(job, &stored, progress, |thread, skip| write(job, &database, thread, skip))
}

fn write(
    job: &Job<'_>,
    database: &Database,
    StoredTask { task, content: (id, rows), .. }: &StoredThread,
    skip: Skip<'_>,
) -> Result<RecordedTask> {
    let mut writer = ThreadWriter::new(job.store, database, task, (id, rows));
    let head = writer.write(&job.options.user, skip)?;
    Ok(RecordedTask {
        lineages: writer.lineages(),
        events: writer.events,
        checkpoints: writer.checkpoints,
        task: task.clone(),
        format: Format::LangGraph,
        head,
    })
}
