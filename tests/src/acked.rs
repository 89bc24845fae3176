//! Acknowledgements of a store, and the check that it has them all.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "tests"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, mpsc};
use std::time::Duration;

use milepost::state::{MemoryChunks, RunReducer, fold};
use milepost::{Engine, Error, ErrorKind, Event, LineageId, Reducer, Task};

use crate::faults::STARTING;
use crate::work::{self, batch, place_in_batch};

/// Time limit of a check, after which it counts as hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// A batch that is appended to a store that was checked: no work uses its number.
const AFTER: u64 = 4_000_000_000;

/// Acknowledged operations, from the lines that [`crate::work::Work`] wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acked {
    /// Task, lineage, first offset, number of the batch.
    pub batches: Vec<(String, u32, u64, u64)>,
    /// Task, lineage, the mark's offset, id.
    pub marks: Vec<(String, u32, u64, String)>,
    pub lineages: Vec<(String, u32)>,
    /// The last activation of each task: epoch and lineage.
    pub active: BTreeMap<String, (u64, u32)>,
    /// Tasks that were deleted.
    pub gone: Vec<String>,
    /// The last checkpoint that a task was trimmed up to, and the hash of the state there.
    pub kept: Option<(String, String)>,
    /// Lines of other kinds: what else the process had to say.
    pub said: Vec<String>,
}

impl Acked {
    /// Reads the lines; an incomplete one is ignored.
    pub fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut acked = Self::default();
        for line in text.split_inclusive('\n').filter(|l| l.ends_with('\n')) {
            acked.line(line.trim_end());
        }
        acked
    }

    /// Reads a file of lines; none where it is not there.
    pub fn read(path: &Path) -> Self {
        Self::parse(&std::fs::read(path).unwrap_or_default())
    }

    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        let task = || words[1].to_owned();
        match words[0] {
            "batch" => self.batches.push((task(), number(2) as u32, number(3), number(4))),
            "mark" => {
                let id = words[4].to_owned();
                self.marks.push((task(), number(2) as u32, number(3), id));
            }
            "lineage" => self.lineages.push((task(), number(2) as u32)),
            "active" => {
                let (lineage, epoch) = (number(2) as u32, number(3));
                self.lineages.push((task(), lineage));
                self.active.insert(task(), (epoch, lineage));
            }
            "gone" => self.gone.push(task()),
            "kept" => self.kept = Some((task(), words[2].to_owned())),
            _ => self.said.push(line.to_owned()),
        }
    }

    /// Returns the number of acknowledgements.
    pub fn count(&self) -> usize {
        self.batches.len() + self.marks.len() + self.lineages.len()
    }

    /// Returns `true` if the process wrote a line with this beginning.
    pub fn has_said(&self, what: &str) -> bool {
        self.said.iter().any(|line| line.starts_with(what))
    }
}

/// Opens a store, looks whether everything is there that was acknowledged, appends, and opens it
/// again. On a thread of its own: a store that hangs or panics is one that failed. Records of
/// damage are allowed for the places in `damaged` only.
pub fn check_store(
    store: &Path,
    acked: &Acked,
    seed: u64,
    damaged: &'static [&'static str],
) -> Result<(), String> {
    // On this thread, so that it is let go where the check hangs.
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let (done, waiting) = mpsc::channel();
    let (store, acked): (PathBuf, Acked) = (store.to_owned(), acked.clone());
    std::thread::spawn(move || {
        let checked =
            catch_unwind(AssertUnwindSafe(|| check_and_append(&store, &acked, seed, damaged)));
        let _ = done.send(checked.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Err(format!("panicked: {}", text.unwrap_or_default()))
        }));
    });
    let checked = waiting.recv_timeout(PATIENCE);
    checked.unwrap_or_else(|_| Err("hung".into()))
}

fn check_and_append(
    store: &Path,
    acked: &Acked,
    seed: u64,
    damaged: &[&str],
) -> Result<(), String> {
    let engine = open(store, damaged)?;
    check_engine(&engine, acked, seed)?;
    // Reported last: its faults may concern unacknowledged events.
    let verified = verify(&engine);
    let mut tasks = acked.lineages.iter().map(|(task, _)| task.as_str());
    let name = tasks.next().unwrap_or("after");
    let task = match engine.task(name) {
        Ok(task) => task,
        Err(_) => {
            engine.start_task(name, "ana").map_err(|e| format!("start after a crash: {e}"))?
        }
    };
    let done = task.append(batch(seed, AFTER)).map_err(|e| format!("append after a crash: {e}"))?;
    let mut more = acked.clone();
    let lineage = task.lineage().id().0;
    more.batches.push((name.to_owned(), lineage, done.first, AFTER));
    more.lineages.push((name.to_owned(), lineage));
    drop(task);
    engine.close().map_err(|e| format!("close after a crash: {e}"))?;
    let engine = open(store, damaged)?;
    check_engine(&engine, &more, seed).map_err(|e| format!("opened again: {e}"))?;
    let verified_again = verify(&engine).map_err(|e| format!("opened again: {e}"));
    engine.close().map_err(|e| format!("close again: {e}"))?;
    verified.and(verified_again)
}

/// Opens a store after a kill or a loss of power, which must not count as damage or leave a record
/// of one.
fn open(store: &Path, damaged: &[&str]) -> Result<Engine, String> {
    let engine = Engine::open(store, work::options());
    let engine = engine.map_err(|e| format!("I1: open: {:?}: {e}", e.kind()))?;
    let repairs = engine.integrity().repairs().map_err(|e| format!("repairs: {e}"))?;
    let is_expected = |place: &str| {
        damaged
            .iter()
            .any(|known| place.split([' ', ':']).next().is_some_and(|first| first == *known))
    };
    match repairs.iter().find(|repair| !is_expected(&repair.place)) {
        None => Ok(engine),
        Some(repair) => Err(format!("{WRONG} a stop left a record of damage: {repair:?}")),
    }
}

/// Computes every chain and digest again.
pub fn verify(engine: &Engine) -> Result<(), String> {
    let report =
        engine.integrity().verify(None, &mut |_, _| {}).map_err(|e| format!("I3: verify: {e}"))?;
    if report.is_clean() {
        return Ok(());
    }
    Err(format!("I3: verify: {:?}", report.faults))
}

/// Prefix of an error for a wrong answer of the store, as opposed to an error of its own.
pub const WRONG: &str = "wrong answer:";

/// An error of the store. That something is not there is an answer, and a wrong one.
fn refused(what: &str, error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("{WRONG} {what}: {error}"),
        kind => format!("{what}: {kind:?}: {error}"),
    }
}

/// Checks that an open store has everything that was acknowledged, and no incomplete batch.
pub fn check_engine(engine: &Engine, acked: &Acked, seed: u64) -> Result<(), String> {
    // Batches that were found: task, lineage and first offset of each.
    let mut found: BTreeMap<u64, (String, u32, u64)> = BTreeMap::new();
    // A task whose start was not acknowledged may be there, and be worked on by who opens it next.
    let named = acked.lineages.iter().map(|(task, ..)| task);
    let named = named.chain(acked.batches.iter().map(|(task, ..)| task));
    let tasks: BTreeSet<String> = named.cloned().collect();
    for name in tasks {
        let task = engine.task(&name).map_err(|e| refused(&format!("I1: task {name}"), &e))?;
        if let Some((epoch, lineage)) = acked.active.get(&name) {
            let (now, active) = (task.epoch(), task.lineage().id().0);
            if now < *epoch || now == *epoch && active != *lineage {
                return Err(format!(
                    "{WRONG} I1, I7: task {name} goes on with lineage {active} in epoch {now}, \
                     acknowledged was lineage {lineage} in epoch {epoch}"
                ));
            }
        }
        check_task(engine, &task, seed, &mut found)?;
    }
    for (task, lineage, first, number) in &acked.batches {
        match found.get(number) {
            Some((t, l, f)) if (t, l, f) == (task, lineage, first) => {}
            other => {
                return Err(format!(
                    "{WRONG} I1: batch {number} was acknowledged at {task}/{lineage}@{first}, \
                     it is at {other:?}"
                ));
            }
        }
    }
    for (task, lineage, offset, id) in &acked.marks {
        let mark = engine
            .query()
            .checkpoint(id)
            .map_err(|e| refused(&format!("I1: checkpoint {id} of {task}"), &e))?;
        if (&mark.task, mark.lineage.0, mark.mark) != (task, *lineage, *offset) {
            return Err(format!("{WRONG} I1: checkpoint {id} is at {mark:?}"));
        }
    }
    for task in &acked.gone {
        match engine.task(task) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            other => {
                return Err(format!("{WRONG} I2: deleted task {task} is back: {other:?}"));
            }
        }
    }
    if let Some((checkpoint, expected)) = &acked.kept {
        match state_of(engine, checkpoint) {
            Ok(found) if found == *expected => {}
            // The store may have kept a later, unacknowledged one in its place.
            Err(error) if error.kind() == ErrorKind::NotFound && is_worn(engine) => {}
            Ok(_) => return Err(format!("{WRONG} I10: another state at @{checkpoint}")),
            Err(error) => return Err(refused(&format!("I10: state at @{checkpoint}"), &error)),
        }
    }
    for (task, lineage) in &acked.lineages {
        let task = engine.task(task).map_err(|e| refused("I1", &e))?;
        task.lineage_named(LineageId(*lineage)).map_err(|e| refused("I7", &e))?;
    }
    Ok(())
}

/// The hash of the state at a checkpoint.
pub fn state_of(engine: &Engine, checkpoint: &str) -> milepost::Result<String> {
    let point = engine.point(&format!("@{checkpoint}"))?;
    let state = RunReducer.encode(&engine.run_state(&point)?)?;
    Ok(format!("{:x}", crate::seed::hash(&state)))
}

/// Returns `true` if the trimmed task has any checkpoint.
fn is_worn(engine: &Engine) -> bool {
    let of_task = |task: &str| milepost::query::CheckpointQuery {
        task: Some(task.to_owned()),
        ..Default::default()
    };
    let page = engine.query().checkpoints(&of_task("tworn"));
    page.is_ok_and(|page| !page.items.is_empty())
}

fn check_task(
    engine: &Engine,
    task: &Task,
    seed: u64,
    found: &mut BTreeMap<u64, (String, u32, u64)>,
) -> Result<(), String> {
    let name = task.id();
    let lineages = task.lineages().map_err(|e| refused(&format!("I1: {name}"), &e))?;
    for info in lineages {
        let place = format!("{name}/{}", info.id.0);
        let fail = |e: milepost::Error| refused(&format!("I1: read {place}"), &e);
        let lineage = task.lineage_named(info.id).map_err(fail)?;
        let events: Vec<Event> =
            lineage.read(..).map_err(fail)?.collect::<Result<_, _>>().map_err(fail)?;
        for (offset, event) in (0..).zip(&events) {
            if event.offset != offset {
                let found = event.offset;
                return Err(format!("{WRONG} I2: {place}: offset {found} where {offset} is due"));
            }
        }
        if events.len() as u64 != info.head.next {
            let (len, head) = (events.len(), info.head.next);
            return Err(format!("{WRONG} I2: {place}: {len} events, but the head is {head}"));
        }
        let own = (info.head.next - info.events) as usize;
        check_batches(&place, &events[own..], seed, &mut |number, first| {
            let here = (name.to_owned(), info.id.0, first);
            match found.insert(number, here) {
                None => Ok(()),
                Some(there) => {
                    Err(format!("{WRONG} I2: batch {number} is at {place} and at {there:?}"))
                }
            }
        })?;
        check_state(engine, &lineage, events, &place)?;
    }
    Ok(())
}

/// Checks that every batch is complete and unchanged.
fn check_batches(
    place: &str,
    events: &[Event],
    seed: u64,
    seen: &mut dyn FnMut(u64, u64) -> Result<(), String>,
) -> Result<(), String> {
    let mut at = 0;
    while let Some(event) = events.get(at) {
        let Some((number, index, count)) = event.body.as_ref().and_then(place_in_batch) else {
            at += 1;
            continue;
        };
        if index != 0 || events.len() < at + count {
            let (offset, there) = (event.offset, events.len() - at);
            return Err(format!(
                "{WRONG} I13: {place}: half a batch: event {index} of {count} of batch {number} at \
                 {offset}, {there} events from there on"
            ));
        }
        let expected = batch(seed, number);
        for (event, body) in events[at..at + count].iter().zip(&expected) {
            if event.body.as_ref() != Some(body) {
                return Err(format!(
                    "{WRONG} I1: {place}: batch {number} reads otherwise at {}",
                    event.offset
                ));
            }
        }
        seen(number, event.offset)?;
        at += count;
    }
    Ok(())
}

/// The state, from a snapshot or not, is the fold of the events.
fn check_state(
    engine: &Engine,
    lineage: &milepost::Lineage,
    events: Vec<Event>,
    place: &str,
) -> Result<(), String> {
    let fail = |e: milepost::Error| refused(&format!("I5: state of {place}"), &e);
    let head = lineage.head().map_err(fail)?.next;
    let point = lineage.point(head).map_err(fail)?;
    let state = engine.run_state(&point).map_err(fail)?;
    let chunks = MemoryChunks::default();
    let events = events.into_iter().map(Ok);
    let folded = fold(&RunReducer, RunReducer.initial(), events, &chunks).map_err(fail)?;
    if state != folded {
        return Err(format!("{WRONG} I5: the state of {place} is not the fold"));
    }
    Ok(())
}
