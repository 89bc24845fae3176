//! Checkpoint databases of LangGraph. Each stored state becomes events and a mark.
//!
//! ```text
//! database    the tables, and the order of checkpoints
//! checkpoint  a stored checkpoint
//! events      the events of a checkpoint and of its writes
//! thread      a thread written to the store
//! ```

pub(crate) mod checkpoint;
mod database;
mod events;
mod thread;

use std::path::Path;

use super::branches::Branches;
use super::database::{self as databases, Skip};
use super::{Job, RecordReport, RecordedTask};
use crate::error::Result;
use crate::format::Format;
use crate::progress::Progress;
pub(super) use database::is_database;
use database::{CheckpointRow, Database, ThreadId};
use databases::tasks::{StoredTask, record_each};
use events::KEY;
use thread::Thread;

/// A thread of a database, and its checkpoints.
type StoredThread = StoredTask<(ThreadId, Vec<CheckpointRow>)>;

/// Records the threads of a database. Checkpoints recorded before are not recorded again.
pub(super) fn record(
    job: &Job<'_>,
    path: Option<&Path>,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let database = Database::open(databases::file(path)?)?;
    let threads = database.threads()?;
    let several = threads.len() > 1;
    let stored = threads.into_iter().map(|(id, entries)| {
        StoredTask::new(job, own_name(&id), several, entries.len(), (id, entries))
    });
    let stored: Vec<StoredThread> = stored.collect();
    record_each(job, &stored, progress, |thread, skip| write(job, &database, thread, skip))
}

fn write(
    job: &Job<'_>,
    database: &Database,
    StoredTask { task, content: (id, entries), .. }: &StoredThread,
    skip: Skip<'_>,
) -> Result<RecordedTask> {
    let branches = Branches::new(job.store, task, &job.options.user, &[KEY])?;
    let mut thread = Thread::new(job.store, database, id, entries, branches);
    thread.write(skip)?;
    let head = thread.finish()?;
    Ok(RecordedTask {
        lineages: thread.lineages(),
        events: thread.events,
        checkpoints: thread.checkpoints,
        task: task.clone(),
        format: Format::LangGraph,
        head,
    })
}

/// Returns the name of a thread's task: its id, and its namespace if it has one.
fn own_name((thread, namespace): &ThreadId) -> String {
    match namespace.as_str() {
        "" => thread.clone(),
        namespace => format!("{thread}-{namespace}"),
    }
}
