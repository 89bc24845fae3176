//! Databases with a table of an iteration engine's checkpoints. Each row becomes events and a mark.
//!
//! ```text
//! writer  the rows of a task written to the store
//! row     a row: the state in it, and the metadata
//! table   the table, and the order of its rows
//! ```

mod row;
mod table;
mod writer;

use std::path::Path;

use super::ids::Skip;
use super::tasks::{StoredTask, record_each};
use crate::error::Result;
use crate::format::Format;
use crate::progress::Progress;
use crate::record::branches::Branches;
use crate::record::iteration::OWN_KEYS;
use crate::record::{Job, RecordReport, RecordedTask};
pub(super) use table::is_table;
use table::{CheckpointTable, TaskRows};
use writer::TableWriter;

/// Records the tasks of a table. Rows recorded before are not recorded again.
pub(super) fn record(
    job: &Job<'_>,
    path: &Path,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let table = CheckpointTable::open(path)?;
    let tasks = table.tasks()?;
    let several = tasks.len() > 1;
    let stored = tasks
        .into_iter()
        .map(|(id, rows)| StoredTask::new(job, ("", &id), several, rows.entries.len(), rows));
    let stored: Vec<StoredTask<TaskRows>> = stored.collect();
    record_each(job, &stored, progress, |task, skip| write(job, &table, task, skip))
}

fn write(
    job: &Job<'_>,
    table: &CheckpointTable,
    StoredTask { task, content, .. }: &StoredTask<TaskRows>,
    skip: Skip<'_>,
) -> Result<RecordedTask> {
    let branches = Branches::new(job.store, task, &job.options.user, &[OWN_KEYS])?;
    let mut writer = TableWriter::new(job.store, table, content, branches);
    let is_renamed = job.options.task.is_some();
    let head = writer.write(is_renamed, skip)?;
    Ok(RecordedTask {
        lineages: writer.lineages(),
        events: writer.events,
        checkpoints: writer.checkpoints,
        task: task.clone(),
        format: Format::CheckpointTable,
        head,
    })
}
