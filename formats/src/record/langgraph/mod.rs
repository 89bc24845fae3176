//! Checkpoint databases of LangGraph. Each stored state becomes events and a mark.
//!
//! ```text
//! database    the tables, and the order of checkpoints
//! checkpoint  a stored checkpoint
//! msgpack     MessagePack -> JSON
//! events      the events of a checkpoint and of its writes
//! thread      a thread written to the store
//! ```

mod checkpoint;
mod database;
mod events;
mod msgpack;
mod thread;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write as _};
use std::path::Path;

use indicatif::ProgressBar;

use super::branches::Branches;
use super::{Format, Input, Outcome, Recorded};
use crate::error::{Failure, Result};
use crate::output::{Out, bar, printable};
use database::{Database, Entry, ThreadId};
use events::KEY;
use thread::Thread;

/// Maximum number of characters of an id or a reason in a message.
const SHOWN: usize = 200;

/// Minimum number of checkpoints for a progress bar.
const LONG: u64 = 500;

/// Records the threads of a database. Checkpoints recorded before are not recorded again.
pub fn record(input: &Input<'_>, path: &Path, out: &mut Out) -> Result<Outcome> {
    if input.stem.is_none() {
        return Err(Failure::new("a database is read from a file, not from standard input")
            .hint("name the file"));
    }
    let database = Database::open(path)?;
    let threads = database.threads()?;
    if threads.is_empty() {
        let name = &input.name;
        return Err(Failure::new(format!("{name}: no checkpoint in it"))
            .hint("give the database of a graph that ran"));
    }
    let all = threads.values().map(|entries| entries.len() as u64).sum();
    let bar = bar(all, &input.name, all >= LONG && !out.json, false);
    let mut outcome = Outcome::default();
    let mut named = HashSet::new();
    for (id, entries) in &threads {
        let task = task_id(input, id, &threads);
        let done = match named.insert(task.clone()) {
            true => thread(input, &database, (id, entries), &task, &mut outcome, &bar),
            false => Err(Failure::conflict("another thread has that name, too")
                .hint("import it with --as, from a database that has it alone")),
        };
        bar.inc(entries.len() as u64);
        match done.map_err(|failure| failure.at(format!("{}: {}", input.name, cut(&task)))) {
            Ok(recorded) => outcome.recorded.push(recorded),
            Err(failure) if threads.len() == 1 => return Err(failure),
            Err(failure) => {
                // The failure is printed here, and the other threads are recorded.
                bar.suspend(|| failure.print(out.colors_stderr()));
                let said = Failure::said(failure.code());
                outcome.failed.get_or_insert(said);
            }
        }
        if input.args.strict && !outcome.is_whole() {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(outcome)
}

fn thread(
    input: &Input<'_>,
    database: &Database,
    (id, entries): (&ThreadId, &[Entry]),
    task: &str,
    outcome: &mut Outcome,
    bar: &ProgressBar,
) -> Result<Recorded> {
    let mut skip = |checkpoint: &str, why: &str| {
        outcome.bad_checkpoints += 1;
        let (name, task, id) = (&input.name, cut(task), cut(checkpoint));
        let text = format!("{name}: {task}: checkpoint {id}: {}", cut(why));
        // If standard error is closed, the report is lost.
        bar.suspend(|| writeln!(io::stderr().lock(), "{}", printable(&text)).ok());
    };
    let branches = Branches::new(input.engine, task, input.user, KEY)?;
    let mut thread = Thread::new(input.engine, database, id, entries, branches);
    thread.write(&mut skip)?;
    let head = thread.finish()?;
    Ok(Recorded {
        lineages: thread.lineages(),
        events: thread.events,
        checkpoints: thread.checkpoints,
        task: task.to_owned(),
        input: input.name.clone(),
        format: Format::LangGraph,
        head,
    })
}

/// Shortens an id or a reason for a message. In a database they may be of any length.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

/// Returns the task of a thread: its id, and its namespace if it has one.
fn task_id(input: &Input<'_>, id: &ThreadId, threads: &BTreeMap<ThreadId, Vec<Entry>>) -> String {
    let (thread, namespace) = id;
    let own = match namespace.as_str() {
        "" => thread.clone(),
        namespace => format!("{thread}-{namespace}"),
    };
    match &input.args.task {
        None => own,
        Some(named) if threads.len() == 1 => named.clone(),
        Some(named) => format!("{named}-{own}"),
    }
}
