//! Checkpoint databases of LangGraph. Each stored state becomes events and a mark.
//!
//! ```text
//! database    the tables, and the order of checkpoints
//! checkpoint  a stored checkpoint
//! msgpack     MessagePack -> JSON
//! events      the events of a checkpoint and of its writes
//! thread      a thread written to the store
//! ```

pub(crate) mod checkpoint;
mod database;
mod events;
pub(crate) mod msgpack;
mod thread;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::branches::Branches;
use super::{Job, RecordReport, RecordedTask};
use crate::error::{Error, Remedy, Result};
use crate::format::Format;
use crate::progress::{Note, Progress, Unit, Work};
use database::{CheckpointRow, Database, ThreadId};
use events::KEY;
use thread::Thread;

/// Maximum number of characters of an id or a reason in a message.
const NAME_CHARS_MAX: usize = 200;

/// Records the threads of a database. Checkpoints recorded before are not recorded again.
pub(super) fn record(
    job: &Job<'_>,
    path: Option<&Path>,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let Some(path) = path else {
        return Err(Error::invalid("a database is read from a file, not from standard input")
            .remedied_by(Remedy::NameFile));
    };
    let database = Database::open(path)?;
    let threads = database.threads()?;
    if threads.is_empty() {
        let name = job.name;
        return Err(Error::invalid(format!("{name}: no checkpoint in it"))
            .remedied_by(Remedy::GiveUsedDatabase));
    }
    let all = threads.values().map(|entries| entries.len() as u64).sum();
    progress.begin(Work { name: job.name, unit: Unit::Checkpoints, total: Some(all) });
    let mut report = RecordReport::default();
    let mut named = HashSet::new();
    for (id, entries) in &threads {
        let task = task_id(job, id, &threads);
        let done = match named.insert(task.clone()) {
            true => thread(job, &database, (id, entries), &task, &mut report, progress),
            false => Err(Error::conflict("another thread has that name, too")
                .remedied_by(Remedy::SeparateThread)),
        };
        progress.advance(entries.len() as u64);
        match done.map_err(|error| error.at(format!("{}: {}", job.name, cut(&task)))) {
            Ok(recorded) => report.tasks.push(recorded),
            Err(error) if threads.len() == 1 => return Err(error),
            Err(error) => {
                progress.note(Note::Failed(&error));
                report.failed.get_or_insert(error);
            }
        }
        if job.options.strict && !report.is_complete() {
            break;
        }
    }
    progress.end();
    Ok(report)
}

fn thread(
    job: &Job<'_>,
    database: &Database,
    (id, entries): (&ThreadId, &[CheckpointRow]),
    task: &str,
    report: &mut RecordReport,
    progress: &mut dyn Progress,
) -> Result<RecordedTask> {
    let mut skip = |checkpoint: &str, why: &str| {
        report.bad_checkpoints += 1;
        let place = format!("{}: {}: checkpoint {}", job.name, cut(task), cut(checkpoint));
        progress.note(Note::Skipped { place: &place, reason: &cut(why) });
    };
    let branches = Branches::new(job.engine, task, &job.options.user, KEY)?;
    let mut thread = Thread::new(job.engine, database, id, entries, branches);
    thread.write(&mut skip)?;
    let head = thread.finish()?;
    Ok(RecordedTask {
        lineages: thread.lineages(),
        events: thread.events,
        checkpoints: thread.checkpoints,
        task: task.to_owned(),
        format: Format::LangGraph,
        head,
    })
}

/// Shortens an id or a reason for a message. In a database they may be of any length.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

/// Returns the task of a thread: its id, and its namespace if it has one.
fn task_id(
    job: &Job<'_>,
    id: &ThreadId,
    threads: &BTreeMap<ThreadId, Vec<CheckpointRow>>,
) -> String {
    let (thread, namespace) = id;
    let own = match namespace.as_str() {
        "" => thread.clone(),
        namespace => format!("{thread}-{namespace}"),
    };
    match &job.options.task {
        None => own,
        Some(named) if threads.len() == 1 => named.clone(),
        Some(named) => format!("{named}-{own}"),
    }
}
