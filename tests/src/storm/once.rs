//! Restores, branches, undos, switches and redos under keys, which are repeated later: behind other
//! calls, a kill, a compaction or a repair, and in a store that took the task. Nothing is done twice.

use milepost::calls::Conditions;
use milepost::{Engine, ErrorKind, LineageId, Result};

use super::acts::{Acts, lock};
use super::resolve;

/// What was asked for.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Restore(u32, u64),
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
}

fn ask(engine: &Engine, task: &str, key: &str, asked: Asked) -> Result<u32> {
    let point = |lineage, at| engine.task(task)?.lineage_named(LineageId(lineage))?.point(at);
    let done = || match asked {
        Asked::Restore(on, at) => Ok(engine.restore(&point(on, at)?).run()?.lineage().id()),
        Asked::Branch(on, at) => Ok(engine.branch(&point(on, at)?, None)?.id()),
        Asked::Undo => Ok(engine.undo(task).run()?.lineage().id()),
        Asked::Switch(to) => {
            let to = engine.task(task)?.lineage_named(LineageId(to))?;
            Ok(engine.switch(&to)?.lineage().id())
        }
        Asked::Redo => Ok(engine.redo(task)?.lineage().id()),
    };
    Conditions::new().key(key).during(done).map(|lineage| lineage.0)
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
        let before = place(engine, &self.task).map_err(named)?;
        let got = match (other, self.asked) {
            (true, Asked::Undo) => ask(engine, &self.task, &self.key, Asked::Redo),
            (true, Asked::Switch(_) | Asked::Redo) => {
                ask(engine, &self.task, &self.key, Asked::Undo)
            }
            _ => ask(engine, &self.task, &self.key, self.asked),
        };
        let other = other && matches!(self.asked, Asked::Undo | Asked::Switch(_) | Asked::Redo);
        let as_due = match &got {
            Ok(lineage) => !other && *lineage == self.lineage,
            Err(error) => other && error.kind() == ErrorKind::Conflict,
        };
        if !as_due {
            return Err(format!("I14: {self:?} came to {got:?}, something else: {other}"));
        }
        match place(engine, &self.task).map_err(named)? == before {
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
            let asked = match n % 5 {
                0 => Asked::Restore(on, at),
                1 => Asked::Branch(on, at),
                2 => Asked::Undo,
                3 => Asked::Redo,
                // Where it is active already, nothing is recorded.
                _ if on == known.active() => return Ok(()),
                _ => Asked::Switch(on),
            };
            (known.generation, asked)
        };
        let engine = self.engine();
        let key = format!("once-{}", lock(&self.more).keyed.len());
        match ask(&engine, name, &key, asked) {
            Ok(lineage) => {
                let task = name.to_owned();
                lock(&self.more).keyed.push(Keyed { key, task, generation, asked, lineage });
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

    /// Repeats those calls, or asks for something else under their keys.
    pub fn again(&self, name: &str, n: u16) -> std::result::Result<(), String> {
        let engine = self.engine();
        self.keyed(name).iter().try_for_each(|keyed| keyed.again(&engine, n.is_multiple_of(4)))
    }
}
