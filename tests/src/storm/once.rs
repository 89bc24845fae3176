//! Restores, with participants too, branches, undos, switches and redos under keys, which are
//! repeated later: behind other calls, a kill, a compaction or a repair, and in a store that took
//! the task. Nothing is done twice.

use std::sync::{Arc, Mutex};

use milepost::calls::Conditions;
use milepost::{Engine, ErrorKind, LineageId, Restore, Result, Scope};

use super::acts::{Acts, lock};
use super::part::Part;
use super::resolve;

/// Kind of a request.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Restore(u32, u64),
    /// A restore with a participant.
    Part(u32, u64),
    Branch(u32, u64),
    Undo,
    Switch(u32),
    Redo,
}

/// A call under a key, and the lineage that it came to.
#[derive(Debug, Clone)]
pub struct Keyed {
    key: String,
    task: String,
    generation: u32,
    asked: Asked,
    lineage: u32,
    /// The number of the participant.
    outside: Arc<Mutex<u64>>,
}

fn ask(
    engine: &Engine,
    outside: &Arc<Mutex<u64>>,
    (task, key): (&str, &str),
    asked: Asked,
) -> Result<u32> {
    let point = |lineage, at| engine.task(task)?.lineage_named(LineageId(lineage))?.point(at);
    let once = || Conditions::new().key(key);
    let done = |restore: Restore<'_>| Ok(restore.conditions(once()).run()?.lineage().id().0);
    match asked {
        Asked::Restore(on, at) => done(engine.restore(&point(on, at)?)),
        Asked::Part(on, at) => {
            let to = *lock(outside) + 1;
            let part = Part { outside: Arc::clone(outside), to, fails: false };
            let to = point(on, at)?;
            let restore = engine.restore(&to).scope(Scope::All).with(Arc::new(part));
            done(restore)
        }
        Asked::Branch(on, at) => {
            Ok(engine.branch(&point(on, at)?).conditions(once()).run()?.id().0)
        }
        Asked::Undo => done(engine.undo(task)),
        Asked::Switch(to) => {
            let to = engine.task(task)?.lineage_named(LineageId(to))?;
            done(engine.switch(&to))
        }
        Asked::Redo => done(engine.redo(task)),
    }
}

/// The active lineage and the heads of a task.
fn place(engine: &Engine, task: &str) -> Result<(u64, Vec<(u32, u64)>)> {
    let task = engine.task(task)?;
    let heads = task.lineages()?.iter().map(|info| (info.id.0, info.head.next)).collect();
    Ok((task.epoch(), heads))
}

impl Keyed {
    /// Repeats the call, or asks for something else under its key.
    pub fn again(&self, engine: &Engine, other: bool) -> std::result::Result<(), String> {
        let named = |e| format!("I14: {self:?}: {e}");
        let all = |e: &Engine| -> Result<_> { Ok((place(e, &self.task)?, *lock(&self.outside))) };
        let before = all(engine).map_err(named)?;
        let others = match self.asked {
            Asked::Undo => Some(Asked::Redo),
            Asked::Switch(_) | Asked::Redo => Some(Asked::Undo),
            Asked::Part(on, at) => Some(Asked::Restore(on, at)),
            Asked::Restore(on, at) => Some(Asked::Part(on, at)),
            Asked::Branch(..) => None,
        };
        let others = others.filter(|_| other);
        let asked = others.unwrap_or(self.asked);
        let got = ask(engine, &self.outside, (&self.task, &self.key), asked);
        let other = others.is_some();
        let as_due = match &got {
            Ok(lineage) => !other && *lineage == self.lineage,
            Err(error) => other && error.kind() == ErrorKind::Conflict,
        };
        if !as_due {
            return Err(format!("I14: {self:?} came to {got:?}, something else: {other}"));
        }
        match all(engine).map_err(named)? == before {
            true => Ok(()),
            false => Err(format!("I14: {self:?} was done twice, something else: {other}")),
        }
    }
}

impl Acts {
    /// Makes a call under a key of its own.
    pub fn once(&self, name: &str, n: u16) -> std::result::Result<(), String> {
        let (generation, asked) = {
            let model = lock(&self.model);
            let Some(known) = model.live_task(name) else { return Ok(()) };
            let there = known.there();
            let on = there[usize::from(n >> 3) % there.len()];
            let Some(at) = resolve::offset(known, on, n >> 5) else { return Ok(()) };
            let asked = match n % 6 {
                0 => Asked::Restore(on, at),
                1 => Asked::Branch(on, at),
                2 => Asked::Undo,
                3 => Asked::Redo,
                4 => Asked::Part(on, at),
                // If it is active already, nothing is recorded.
                _ if on == known.active() => return Ok(()),
                _ => Asked::Switch(on),
            };
            (known.generation, asked)
        };
        let engine = self.engine();
        let (key, outside) = {
            let more = lock(&self.more);
            (format!("once-{}", more.keyed.len()), Arc::clone(&more.outside))
        };
        match ask(&engine, &outside, (name, &key), asked) {
            Ok(lineage) => {
                let task = name.to_owned();
                let keyed = Keyed { key, task, generation, asked, lineage, outside };
                lock(&self.more).keyed.push(keyed);
                Ok(())
            }
            // Nothing is to be undone or redone, or only with files.
            Err(error) => match asked {
                Asked::Undo | Asked::Redo if error.kind() != ErrorKind::Corrupt => Ok(()),
                _ => Err(format!("{asked:?}: {error}")),
            },
        }
    }

    /// Calls under keys of a task, none of whose events were removed.
    pub fn keyed(&self, name: &str) -> Vec<Keyed> {
        let model = lock(&self.model);
        let Some(known) = model.live_task(name) else { return Vec::new() };
        if known.lineages.values().any(|lineage| lineage.dropped || lineage.base.is_some()) {
            return Vec::new();
        }
        let is_of = |one: &&Keyed| one.task == name && one.generation == known.generation;
        lock(&self.more).keyed.iter().filter(is_of).cloned().collect()
    }

    /// Calls under keys of a task that cleanups left: the lineage that each came to is there, with
    /// its beginning where that has the key, and so is the point that was asked for.
    fn left(&self, name: &str) -> Vec<Keyed> {
        let model = lock(&self.model);
        let Some(known) = model.live_task(name) else { return Vec::new() };
        let there = |id: u32| known.lineages.get(&id).filter(|lineage| !lineage.dropped);
        let has_beginning = |id: u32| {
            let parent = there(id).and_then(|lineage| lineage.parent);
            parent.is_some_and(|(_, offset)| known.begin(id) <= offset)
        };
        let is_left = |one: &&Keyed| {
            one.task == name
                && one.generation == known.generation
                && match one.asked {
                    Asked::Restore(on, at) | Asked::Part(on, at) | Asked::Branch(on, at) => {
                        has_beginning(one.lineage) && there(on).is_some() && known.begin(on) <= at
                    }
                    Asked::Undo | Asked::Switch(_) | Asked::Redo => there(one.lineage).is_some(),
                }
        };
        lock(&self.more).keyed.iter().filter(is_left).cloned().collect()
    }

    /// Repeats those calls, or asks for something else under their keys.
    pub fn again(&self, name: &str, n: u16) -> std::result::Result<(), String> {
        let engine = self.engine();
        let whole = self.keyed(name);
        if whole.is_empty() {
            return self.left(name).iter().try_for_each(|keyed| keyed.again(&engine, false));
        }
        whole.iter().try_for_each(|keyed| keyed.again(&engine, n.is_multiple_of(4)))
    }
}
