//! Checkpoint databases of LangGraph: what was the whole state of each step becomes events and marks.
//!
//! ```text
//! database    the tables, and the order of checkpoints
//! checkpoint  what a stored checkpoint holds
//! msgpack     how it is written down -> JSON
//! patch       what changed from one checkpoint to the next
//! thread      a thread into the store
//! ```

mod checkpoint;
mod database;
mod msgpack;
mod patch;
mod thread;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use super::branches::Branches;
use super::{Format, Input, Outcome, Recorded};
use crate::error::{Failure, Result};
use crate::output::{Out, bar, printable};
use database::{Database, Entry, ThreadId};
use thread::{KEY, Thread};

/// A bar is shown from so many checkpoints on.
const LONG: u64 = 500;

/// Records the threads of a database. What was recorded of them before is not recorded again.
pub fn record(input: &Input<'_>, path: &Path, out: &mut Out) -> Result<Outcome> {
    if input.stem.is_none() {
        return Err(
            Failure::new("a database is read from a file, not from standard input")
                .hint("name the file"),
        );
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
    for (id, entries) in &threads {
        let task = task_id(input, id, &threads);
        let mut skip = |checkpoint: &str, why: &str| {
            outcome.bad_checkpoints += 1;
            let text = format!("{}: {task}: checkpoint {checkpoint}: {why}", input.name);
            // Where standard error is closed there is nobody to tell.
            bar.suspend(|| writeln!(io::stderr().lock(), "{}", printable(&text)).ok());
        };
        let branches = Branches::new(input.engine, &task, input.user, KEY);
        let branches = branches.map_err(|failure| failure.at(&input.name))?;
        let mut thread = Thread::new(&database, id, entries, branches);
        let place = |failure: Failure| failure.at(format!("{}: {task}", input.name));
        thread.write(&mut skip).map_err(place)?;
        let head = thread.finish().map_err(place)?;
        bar.inc(entries.len() as u64);
        outcome.recorded.push(Recorded {
            lineages: thread.lineages(),
            events: thread.events,
            checkpoints: thread.checkpoints,
            task,
            input: input.name.clone(),
            format: Format::LangGraph,
            head,
        });
        if input.args.strict && outcome.bad_checkpoints > 0 {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(outcome)
}

/// The task of a thread: its id, and the namespace where it has one.
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
