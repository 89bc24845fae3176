//! The tasks of a database, recorded one after another.

use std::borrow::Cow;

use super::ids::Skip;
use crate::error::{Error, Remedy, Result};
use crate::progress::{Note, Progress, Unit, Work};
use crate::record::exclusive::Exclusive;
use crate::record::{Job, RecordReport, RecordedTask};

/// Maximum number of characters of an id or a reason in a message.
const NAME_CHARS_MAX: usize = 200;

/// A task of a database: its name in the store, and its checkpoints.
pub struct StoredTask<T> {
    pub task: String,
    pub count: u64,
    pub content: T,
}

impl<T> StoredTask<T> {
    /// Creates a task, named by its `own` id. With a name for the recording, it is that one, or its
    /// prefix if the database has `several` tasks.
    pub fn new(
        job: &Job<'_>,
        (prefix, own): (&str, &str),
        several: bool,
        count: usize,
        content: T,
    ) -> Self {
        let task = match &job.options.task {
            None => format!("{prefix}{own}"),
            Some(named) if several => format!("{named}-{own}"),
            Some(named) => named.clone(),
        };
        Self { task, count: count as u64, content }
    }
}

/// Records each task by `write`. A task that fails does not prevent the others.
pub fn record_each<T>(
    job: &Job<'_>,
    tasks: &[StoredTask<T>],
    progress: &mut dyn Progress,
    mut write: impl FnMut(&StoredTask<T>, Skip<'_>) -> Result<RecordedTask>,
) -> Result<RecordReport> {
    if tasks.is_empty() {
        let name = job.name;
        return Err(Error::invalid(format!("{name}: no checkpoint in it"))
            .remedied_by(Remedy::GiveUsedDatabase));
    }
    let all = tasks.iter().map(|task| task.count).sum();
    progress.begin(Work { name: job.name, unit: Unit::Checkpoints, total: Some(all) });
    let mut report = RecordReport::default();
    for task in tasks {
        let id = &task.task;
        let mut skip = |checkpoint: &str, why: &str| {
            report.bad_checkpoints += 1;
            let place = format!("{}: {}: checkpoint {}", job.name, cut(id), cut(checkpoint));
            progress.note(Note::Skipped { place: &place, reason: &cut(why) });
        };
        let alone = Exclusive::wait(job.store, id)?;
        let done = write(task, &mut skip);
        drop(alone);
        // The others would end in the same way. A task that was written to its end is imported.
        if done.is_err() {
            job.store.cancel().check()?;
        }
        progress.advance(task.count);
        match done.map_err(|error| error.at(format!("{}: {}", job.name, cut(id)))) {
            Ok(recorded) => report.tasks.push(recorded),
            Err(error) if tasks.len() == 1 => return Err(error),
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

/// Shortens an id or a reason for a message. In a database they may be of any length.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}
