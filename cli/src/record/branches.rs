//! The lineages that a recorded history becomes: its branches, found again where it is recorded again.
//!
//! A branch is known by what its lineage is called, which has an id of the history in it.

use std::collections::HashMap;

use milepost::{Engine, ErrorKind, Event, Lineage, LineageId, Offset, Task};

use crate::error::{CONFLICT, Failure, Result};

/// Who the events and marks are by.
pub const ACTOR: &str = "import";
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
    /// The lineages that there are, by what they are called.
    opened: HashMap<String, LineageId>,
}

impl<'a> Branches<'a> {
    /// The task of an id, which is started where there is none. Its root is the first branch.
    pub fn new(engine: &'a Engine, id: &str, user: &'a str, key: &'static str) -> Result<Self> {
        let root = root(engine, id, user, key)?;
        let lineages = engine.task(id)?.lineages()?.into_iter();
        let opened = lineages.filter_map(|info| Some((info.description?, info.id)));
        Ok(Self {
            engine,
            id: id.to_owned(),
            user,
            key,
            opened: opened.collect(),
            tasks: vec![root],
        })
    }

    pub fn count(&self) -> u64 {
        self.tasks.len() as u64
    }

    /// The lineage of a branch, with its task's hooks.
    pub fn on(&self, branch: usize) -> Result<&Task> {
        let task = self.tasks.get(branch);
        task.ok_or_else(|| Failure::bug("an event on a branch that is not there".into()))
    }

    /// Opens a branch that parts from another. With `goes_on` the task is taken back there, as
    /// whoever made the history did.
    pub fn fork(&mut self, from: usize, at: Offset, called: &str, goes_on: bool) -> Result<()> {
        let from = self.on(from)?.lineage().clone();
        let id = match self.opened.get(called) {
            Some(id) => *id,
            None => {
                let point = from.point(at)?;
                match goes_on {
                    true => self.engine.restore(&point, Some(called))?.lineage().id(),
                    false => self.engine.branch(&point, Some(called))?.id(),
                }
            }
        };
        self.opened.insert(called.to_owned(), id);
        let lineage = self.engine.task(from.task_id())?.lineage_named(id)?;
        self.tasks.push(lineage.with_hooks()?);
        Ok(())
    }

    /// Opens a branch that is the root of a task beside this one.
    pub fn beside(&mut self, suffix: &str) -> Result<()> {
        let id = format!("{}-{suffix}", self.id);
        self.tasks
            .push(root(self.engine, &id, self.user, self.key)?);
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
            let called = Some("where the history went on");
            self.engine.restore(&point, called)?;
        }
        Ok(self.engine.task(&self.id)?.head()?.next)
    }
}

/// The first lineage of a task, with its hooks.
fn root(engine: &Engine, id: &str, user: &str, key: &str) -> Result<Task> {
    let task = match engine.task(id) {
        Ok(task) => task,
        Err(error) if error.kind() == ErrorKind::NotFound => engine.start_task(id, user)?,
        Err(error) => return Err(error.into()),
    };
    let root = task.lineage_named(LineageId(0))?;
    check_is_ours(id, &root, key)?;
    Ok(root.with_hooks()?)
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
    let keyed = |event: &Event| {
        event
            .header
            .key
            .as_ref()
            .map(|found| found.starts_with(key))
    };
    let by_us = |event: &Event| event.header.actor.as_deref() == Some(ACTOR);
    let ours = events.iter().any(|event| keyed(event) == Some(true))
        || events
            .iter()
            .all(|event| keyed(event).is_none() && by_us(event));
    if ours {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the task {id} exists already, and is not from here"
    ))
    .code_of(CONFLICT)
    .hint("record it under another name with --task, or import it with --as"))
}
