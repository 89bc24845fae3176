//! The lineages that a recorded history becomes: its branches, found again where it is recorded
//! again.
//!
//! A branch is known by what its lineage is called, which has an id of the history in it, and by
//! the keys of the events on it.

use std::collections::HashMap;
use std::ops::Range;

use milepost::{Engine, ErrorKind, Event, Lineage, LineageId, LineageInfo, Offset, Task};

use crate::error::{CONFLICT, Failure, Result};

/// Who the events and marks are by.
pub const ACTOR: &str = "import";
/// What a lineage is called that goes on where the history did.
const WENT_ON: &str = "where the history went on";
/// The first offset behind the event that opens a lineage.
pub const START: Offset = 1;

/// The branches of a history, in the order they begin.
pub struct Branches<'a> {
    engine: &'a Engine,
    id: String,
    user: &'a str,
    /// What the keys of its events begin with.
    key: &'static str,
    /// The lineage of each branch, with its task's hooks.
    tasks: Vec<Task>,
    /// The lineages that part from others, by what they are called, and where they do.
    opened: HashMap<String, (LineageId, Offset)>,
    /// The lineages that there were; none of a task that was started just now.
    there: Vec<Lineage>,
    /// The lineages that go on where others end: they are the same branches.
    goes_on: HashMap<LineageId, LineageId>,
}

impl<'a> Branches<'a> {
    /// The task of an id, which is started where there is none. Its root is the first branch.
    pub fn new(engine: &'a Engine, id: &str, user: &'a str, key: &'static str) -> Result<Self> {
        let (root, is_new) = root(engine, id, user, key)?;
        let task = engine.task(id)?;
        let mut lineages = match is_new {
            true => Vec::new(),
            false => task.lineages()?,
        };
        lineages.sort_by_key(|info| info.id);
        let there = lineages.iter().map(|info| task.lineage_named(info.id));
        let there = there.collect::<milepost::Result<_>>()?;
        let goes_on = goes_on(&lineages);
        let opened = lineages.into_iter();
        let opened = opened.filter_map(|info| {
            let parts_at = info.parent?.offset;
            Some((info.description?, (info.id, parts_at)))
        });
        let mut branches = Self {
            engine,
            id: id.to_owned(),
            user,
            key,
            opened: opened.collect(),
            tasks: Vec::new(),
            there,
            goes_on,
        };
        let root = branches.end_of(root)?;
        branches.tasks.push(root);
        Ok(branches)
    }

    /// The lineage that a branch goes on with.
    fn end_of(&self, lineage: Task) -> Result<Task> {
        let mut id = lineage.lineage().id();
        // Each has a higher id than the one before, so this ends.
        while let Some(next) = self.goes_on.get(&id) {
            id = *next;
        }
        match id == lineage.lineage().id() {
            true => Ok(lineage),
            false => Ok(lineage.lineage_named(id)?.with_hooks()?),
        }
    }

    /// Whether the task was started just now.
    pub fn is_new(&self) -> bool {
        self.there.is_empty()
    }

    /// The branch of the lineage that events were appended to under a key by an earlier run, and
    /// their offsets.
    pub fn appended_under(&mut self, key: &str) -> Result<Option<(usize, Range<Offset>)>> {
        // Of lineages that share it the first is the one that it was appended to: ids ascend.
        for lineage in &self.there {
            if let Some(events) = lineage.appended_under(key)? {
                let task = self.end_of(lineage.with_hooks()?)?;
                let same = |other: &Task| other.lineage().id() == task.lineage().id();
                let found = self.tasks.iter().position(same);
                let branch = found.unwrap_or(self.tasks.len());
                if found.is_none() {
                    self.tasks.push(task);
                }
                return Ok(Some((branch, events)));
            }
        }
        Ok(None)
    }

    pub fn count(&self) -> u64 {
        self.tasks.len() as u64
    }

    /// The lineage of a branch, with its task's hooks.
    pub fn on(&self, branch: usize) -> Result<&Task> {
        let task = self.tasks.get(branch);
        task.ok_or_else(|| Failure::bug("an event on a branch that is not there".into()))
    }

    /// Opens a branch that parts from another, and says its number. With `goes_on` the task is
    /// taken back there, as whoever made the history did.
    pub fn fork(&mut self, from: usize, at: Offset, called: &str, goes_on: bool) -> Result<usize> {
        let from = self.on(from)?.lineage().clone();
        let id = match self.opened.get(called) {
            Some((id, parts_at)) if *parts_at == at => *id,
            _ => {
                let point = from.point(at)?;
                match goes_on {
                    true => self.engine.restore(&point, Some(called))?.lineage().id(),
                    false => self.engine.branch(&point, Some(called))?.id(),
                }
            }
        };
        self.opened.insert(called.to_owned(), (id, at));
        let lineage = self.engine.task(from.task_id())?.lineage_named(id)?;
        let task = self.end_of(lineage.with_hooks()?)?;
        self.tasks.push(task);
        Ok(self.tasks.len() - 1)
    }

    /// Opens a branch that is the root of a task beside this one.
    pub fn beside(&mut self, suffix: &str) -> Result<()> {
        let id = format!("{}-{suffix}", self.id);
        let (root, _) = root(self.engine, &id, self.user, self.key)?;
        self.tasks.push(root);
        Ok(())
    }

    /// Sees that the task goes on where the history does, and says where that is. A lineage that
    /// somebody opened since is left alone.
    pub fn go_on_with(&self, branch: usize, changed: bool) -> Result<Offset> {
        let active = self.engine.task(&self.id)?.lineage().id();
        let on = self.on(branch)?.lineage();
        let ours = |task: &Task| task.lineage().id() == active;
        if changed && active != on.id() && self.tasks.iter().any(ours) {
            let point = on.point(on.head()?.next)?;
            self.engine.restore(&point, Some(WENT_ON))?;
        }
        Ok(self.engine.task(&self.id)?.head()?.next)
    }
}

/// The lineages that were opened for a history to go on at the end of others, by those.
fn goes_on(lineages: &[LineageInfo]) -> HashMap<LineageId, LineageId> {
    let end = |id: LineageId| {
        let info = lineages.iter().find(|info| info.id == id)?;
        Some(info.head.next)
    };
    let ours = lineages.iter();
    let ours = ours.filter(|info| info.description.as_deref() == Some(WENT_ON));
    let parted = ours.filter_map(|info| Some((info.parent?, info.id)));
    parted
        .filter(|(parent, _)| end(parent.lineage) == Some(parent.offset))
        .map(|(parent, id)| (parent.lineage, id))
        .collect()
}

/// The first lineage of a task, with its hooks, and whether the task was started for it.
fn root(engine: &Engine, id: &str, user: &str, key: &str) -> Result<(Task, bool)> {
    let (task, is_new) = match engine.task(id) {
        Ok(task) => (task, false),
        Err(error) if error.kind() == ErrorKind::NotFound => (engine.start_task(id, user)?, true),
        Err(error) => return Err(error.into()),
    };
    let root = task.lineage_named(LineageId(0))?;
    check_is_ours(id, &root, key)?;
    Ok((root.with_hooks()?, is_new))
}

/// Refuses a task that something else began: a history goes into one of its own.
fn check_is_ours(id: &str, root: &Lineage, key: &str) -> Result<()> {
    let first = match root.read(START..START + 2) {
        Ok(events) => events,
        // A cleanup let go of its beginning.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let events: Vec<Event> = first.collect::<Result<_, _>>()?;
    // A mark may stand before what has a key, and a run that was cut short may have left it alone.
    let keyed = |event: &Event| event.header.key.as_ref().map(|found| found.starts_with(key));
    let by_us = |event: &Event| event.header.actor.as_deref() == Some(ACTOR);
    let ours = events.iter().any(|event| keyed(event) == Some(true))
        || events.iter().all(|event| keyed(event).is_none() && by_us(event));
    if ours {
        return Ok(());
    }
    Err(Failure::new(format!("the task {id} exists already, and is not from here"))
        .code_of(CONFLICT)
        .hint("record it under another name with --task, or import it with --as"))
}
