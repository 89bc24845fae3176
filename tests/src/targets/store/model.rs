//! Acknowledgements of a store, and a check of its content against them.

use std::collections::BTreeMap;

use milepost::state::{MemoryChunks, RunReducer, fold};
use milepost::{
    Body, CheckpointId, Engine, Error, ErrorKind, Event, Hash, LineageId, Reducer, Task, Ticket,
};

use crate::bodies::body;

/// Generator of the bodies of one append: the kind of each follows from the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recipe {
    pub(crate) kind: u8,
    pub(crate) salt: u64,
    pub(crate) size: usize,
    pub(crate) count: u8,
}

impl Recipe {
    pub(crate) fn bodies(&self) -> Vec<Body> {
        let one = |n: u8| {
            let salt = self.salt.wrapping_add(u64::from(n));
            body(self.kind.wrapping_add(n), salt, self.size)
        };
        (0..self.count).map(one).collect()
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct LineageModel {
    /// Its head, as acknowledged.
    pub(crate) next: u64,
    /// The chain hash there; `None` for unacknowledged events.
    pub(crate) hash: Option<Hash>,
    /// Its own appends, by the first offset.
    pub(crate) own: BTreeMap<u64, Recipe>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct TaskModel {
    pub(crate) name: String,
    pub(crate) lineages: Vec<LineageModel>,
    pub(crate) active: u32,
    pub(crate) epoch: u64,
    /// Lineage, offset of the mark, id.
    pub(crate) marks: Vec<(u32, u64, CheckpointId)>,
    /// The last append with a key: lineage, key, what, first offset.
    pub(crate) keyed: Option<(u32, String, Recipe, u64)>,
}

/// An append that was queued and not waited for.
pub(crate) struct Pending {
    pub(crate) ticket: Ticket,
    pub(crate) task: usize,
    pub(crate) lineage: u32,
    pub(crate) recipe: Recipe,
    pub(crate) first: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    pub(crate) tasks: Vec<TaskModel>,
}

/// Result of a look at a store.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// Missing content without an error that says why.
    pub(crate) missing: Vec<String>,
    /// Reads that failed.
    pub(crate) refused: Vec<Error>,
}

impl Look {
    fn note(&mut self, what: impl std::fmt::Display, error: Error) {
        match error.kind() {
            ErrorKind::NotFound => self.missing.push(format!("{what}: {error}")),
            _ => self.refused.push(error.at(what)),
        }
    }
}

impl Model {
    /// Adds the unacknowledged appends that a store has: a prefix of them.
    pub(crate) fn settle(&mut self, engine: &Engine, pending: Vec<Pending>) {
        let mut all_so_far = true;
        for one in pending {
            drop(one.ticket);
            let task = &mut self.tasks[one.task];
            let handle = engine.task(&task.name).expect("I1: a task");
            let handle = handle.lineage_named(LineageId(one.lineage)).expect("I1");
            let head = handle.head().expect("a head").next;
            let end = one.first + u64::from(one.recipe.count);
            let found = head >= end;
            assert!(
                found || head <= one.first,
                "I13: half an append, of {} to {end}, the head is {head}",
                one.first
            );
            assert!(!found || all_so_far, "I2: an append is there, one queued before it is not");
            all_so_far = found;
            if found {
                let lineage = &mut task.lineages[one.lineage as usize];
                lineage.own.insert(one.first, one.recipe);
                lineage.next = end;
                lineage.hash = None;
            }
        }
    }

    /// Asserts that everything is there, and nothing else. Unknown parts of it become known.
    pub(crate) fn check(&mut self, engine: &Engine) {
        let look = self.look(engine, true);
        assert!(look.missing.is_empty(), "I1: {:?}", look.missing);
        assert!(look.refused.is_empty(), "I1: {:?}", look.refused);
        for task in &mut self.tasks {
            let handle = engine.task(&task.name).expect("I1: a task");
            for (id, lineage) in (0..).zip(&mut task.lineages) {
                let handle = handle.lineage_named(LineageId(id)).expect("I1: a lineage");
                lineage.hash = Some(handle.head().expect("a head").hash);
            }
        }
        let report = engine.integrity().verify(None, &mut |_, _| {}).expect("verify");
        assert!(report.is_clean(), "I3: verify: {:?}", report.faults);
    }

    /// Looks at everything. A wrong answer is a panic. `exact`: the store must also have nothing
    /// more.
    pub(crate) fn look(&self, engine: &Engine, exact: bool) -> Look {
        let mut look = Look::default();
        for task in &self.tasks {
            match engine.task(&task.name) {
                Ok(handle) => task.look(engine, &handle, exact, &mut look),
                Err(error) => look.note(&task.name, error),
            }
        }
        look
    }
}

impl TaskModel {
    fn look(&self, engine: &Engine, handle: &Task, exact: bool, look: &mut Look) {
        let name = &self.name;
        let (epoch, active) = (handle.epoch(), handle.lineage().id().0);
        if epoch < self.epoch {
            look.missing.push(format!("{name}: epoch {epoch} of {}", self.epoch));
        } else if exact || epoch == self.epoch {
            assert_eq!((epoch, active), (self.epoch, self.active), "I7: {name}");
        }
        match handle.lineages() {
            Ok(all) if exact => assert_eq!(all.len(), self.lineages.len(), "I7: {name}"),
            Ok(_) => {}
            Err(error) => look.note(name, error),
        }
        for (id, model) in (0..).zip(&self.lineages) {
            let place = format!("{name}/{id}");
            let lineage = handle.lineage_named(LineageId(id));
            let looked = lineage.and_then(|lineage| {
                let head = lineage.head()?;
                if head.next < model.next {
                    let (found, due) = (head.next, model.next);
                    look.missing.push(format!("{place}: a head at {found} of {due}"));
                } else if exact || head.next == model.next {
                    assert_eq!(head.next, model.next, "I2: {place}: more than was appended");
                    if let Some(hash) = model.hash {
                        assert_eq!(head.hash, hash, "I3: {place}: the head's hash");
                    }
                } else if let Some(hash) = model.hash {
                    let found = engine.hash_at(&lineage.point(model.next)?)?;
                    assert_eq!(found, hash, "I3: {place}: the hash at {}", model.next);
                }
                let mut events = Vec::new();
                for event in lineage.read(..)? {
                    let event = event?;
                    assert_eq!(event.offset, events.len() as u64, "I2: {place}");
                    events.push(event);
                }
                let (read, next) = (events.len() as u64, head.next);
                assert_eq!(read, next, "I2: {place}: events before its head");
                model.compare(&place, &events);
                state(engine, &lineage, events)
            });
            if let Err(error) = looked {
                look.note(place, error);
            }
        }
        for (lineage, offset, id) in &self.marks {
            match engine.query().checkpoint(&id.to_string()) {
                Ok(mark) => {
                    let found = (&mark.task, mark.lineage.0, mark.mark, mark.id);
                    assert_eq!(found, (name, *lineage, *offset, *id), "I6");
                }
                Err(error) => look.note(format!("mark {id} of {name}"), error),
            }
        }
    }
}

impl LineageModel {
    /// Asserts that events are as they were appended, as far as they exist.
    fn compare(&self, place: &str, events: &[Event]) {
        for (first, recipe) in &self.own {
            for (offset, expected) in (*first..).zip(recipe.bodies()) {
                let Some(event) = events.get(offset as usize) else {
                    return;
                };
                assert_eq!(event.body.as_ref(), Some(&expected), "I1: {place}@{offset}");
            }
        }
    }
}

/// The state, from a snapshot or not, is the fold of the events.
fn state(engine: &Engine, lineage: &milepost::Lineage, events: Vec<Event>) -> milepost::Result<()> {
    let point = lineage.point(events.len() as u64)?;
    let state = engine.run_state(&point);
    let chunks = MemoryChunks::default();
    let events = events.into_iter().map(Ok);
    let folded = fold(&RunReducer, RunReducer.initial(), events, &chunks);
    match (state, folded) {
        (Ok(state), Ok(folded)) => assert!(state == folded, "I5: the state is not the fold"),
        (Err(error), Ok(_)) => return Err(error),
        (Ok(_), Err(error)) => panic!("I5: a state of what cannot be folded: {error}"),
        (Err(_), Err(_)) => {}
    }
    Ok(())
}

impl LineageModel {
    /// Asserts that a lineage has events as they were appended; it may have fewer, and an event of
    /// the repair at its end.
    pub(crate) fn prefix(&self, engine: &Engine, task: &str, id: u32) {
        let events = engine
            .task(task)
            .and_then(|task| task.lineage_named(LineageId(id)))
            .and_then(|lineage| lineage.read(..)?.collect::<milepost::Result<Vec<_>>>());
        let Ok(events) = events else { return };
        let place = format!("{task}/{id}");
        for (first, recipe) in &self.own {
            for (offset, expected) in (*first..).zip(recipe.bodies()) {
                let Some(event) = events.get(offset as usize) else {
                    return;
                };
                if event.offset == offset {
                    let found = event.body.as_ref();
                    assert!(found == Some(&expected), "{place}@{offset}: {found:?}");
                }
            }
        }
    }
}
