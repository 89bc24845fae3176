//! The branches of a recorded history, each one a lineage. A repeated recording finds them again.
//!
//! A branch is identified by the description of its lineage, which contains an id of the history,
//! and by the keys of its events.

use std::collections::HashMap;
use std::ops::Range;

use milepost::query::LineageInfo;
use milepost::{Body, Engine, ErrorKind, Event, Lineage, LineageId, Offset, Task};

use super::continued::continued;
use crate::error::{Error, Remedy, Result};

/// Actor of the events and marks.
pub const ACTOR: &str = "import";
/// Description of a lineage on which the task continues where the history does.
const CONTINUATION: &str = "where the history went on";
/// Prefix of the keys of events that hooks of coding agents record. A session is recorded into a
/// task that they began.
pub const HOOK_KEY: &str = "hook:";

/// Key of the event from which on the documents of hooks are the conversation of a task.
pub const DOCUMENTS_KEY: &str = "documents";
/// The first offset after the event that opens a lineage.
pub const START: Offset = 1;

/// The branches of a history, in the order they begin.
pub struct Branches {
    engine: Engine,
    id: String,
    /// The offset from which on the first branch continues another session.
    continued_at: Offset,
    user: String,
    /// Prefixes of the keys of the first events of its tasks.
    keys: Vec<&'static str>,
    /// The lineage of each branch, with its task's hooks.
    tasks: Vec<Task>,
    /// Id and branch point of each lineage that branches from another, by its description.
    opened: HashMap<String, (LineageId, Offset)>,
    /// The lineages from before this recording; empty if the task is new.
    existing: Vec<Lineage>,
    /// The lineage that continues at the end of another, by the other one. Both are the same
    /// branch.
    continuations: HashMap<LineageId, LineageId>,
}

impl Branches {
    /// Opens the task of an id, and starts it if missing. Its root is the first branch. An id of a
    /// session that continues a lineage has that lineage as its first branch.
    pub fn new(engine: &Engine, id: &str, user: &str, keys: &[&'static str]) -> Result<Self> {
        let continued = continued(engine, id)?;
        let id = continued.as_ref().map_or(id, |(task, _)| task);
        let (root, is_new) = root(engine, id, user, keys)?;
        let (root, continued_at) = match &continued {
            Some((_, lineage)) => {
                let lineage = root.lineage_named(*lineage)?;
                let parted_at = lineage.info()?.parent.map(|parent| parent.offset);
                (lineage.as_task()?, parted_at.unwrap_or(START))
            }
            None => (root, START),
        };
        let task = engine.task(id)?;
        let mut lineages = match is_new {
            true => Vec::new(),
            false => task.lineages()?,
        };
        lineages.sort_by_key(|info| info.id);
        let existing = lineages.iter().map(|info| task.lineage_named(info.id));
        let existing = existing.collect::<milepost::Result<_>>()?;
        for lineage in &existing {
            check_has_no_documents(id, lineage)?;
        }
        let continuations = continuations(&lineages);
        let opened = lineages.into_iter();
        let opened = opened.filter_map(|info| {
            let parts_at = info.parent?.offset;
            Some((info.description?, (info.id, parts_at)))
        });
        let mut branches = Self {
            engine: engine.clone(),
            id: id.to_owned(),
            continued_at,
            user: user.to_owned(),
            keys: keys.to_vec(),
            opened: opened.collect(),
            tasks: Vec::new(),
            existing,
            continuations,
        };
        let root = branches.end_of(root)?;
        branches.tasks.push(root);
        Ok(branches)
    }

    /// Returns the last lineage of the branch that begins with `lineage`.
    fn end_of(&self, lineage: Task) -> Result<Task> {
        let mut id = lineage.lineage().id();
        // Ids ascend along the chain, so the loop ends.
        while let Some(next) = self.continuations.get(&id) {
            id = *next;
        }
        match id == lineage.lineage().id() {
            true => Ok(lineage),
            false => Ok(lineage.lineage_named(id)?.as_task()?),
        }
    }

    /// Returns the largest event that the engine takes, in bytes.
    pub fn event_max(&self) -> usize {
        self.engine.store().event_max()
    }

    /// Returns `true` if this recording started the task.
    #[cfg(feature = "sqlite")]
    pub fn is_new(&self) -> bool {
        self.existing.is_empty()
    }

    /// Returns the branch and the offsets of events that an earlier run appended under a key.
    pub fn appended_under(&mut self, key: &str) -> Result<Option<(usize, Range<Offset>)>> {
        // Ids ascend, so the first lineage that contains the events is the one they were appended
        // to.
        for lineage in &self.existing {
            if let Some(events) = lineage.appended_under(key)? {
                let task = self.end_of(lineage.as_task()?)?;
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

    /// Returns `true` if an earlier run appended events under a key.
    pub fn had(&self, key: &str) -> Result<bool> {
        for lineage in &self.existing {
            if lineage.appended_under(key)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns `true` if a branch with this description was opened.
    pub fn is_opened(&self, called: &str) -> bool {
        self.opened.contains_key(called)
    }

    /// Returns the offset from which on the first branch continues another session, or the first
    /// one of all.
    pub fn continued_at(&self) -> Offset {
        self.continued_at
    }

    /// Returns the id of the task.
    pub fn task(&self) -> &str {
        &self.id
    }

    pub fn count(&self) -> u64 {
        self.tasks.len() as u64
    }

    /// Returns the lineage of a branch, with its task's hooks.
    pub fn on(&self, branch: usize) -> Result<&Task> {
        let task = self.tasks.get(branch);
        task.ok_or_else(|| Error::bug("an event on a branch that is not there"))
    }

    /// Opens a branch at a point of another branch, and returns its index. If the history continues
    /// on the new branch, the task is restored to that point.
    pub fn fork(
        &mut self,
        from: usize,
        at: Offset,
        called: &str,
        continues: bool,
    ) -> Result<usize> {
        let from = self.on(from)?.lineage().clone();
        let id = match self.opened.get(called) {
            Some((id, parts_at)) if *parts_at == at => *id,
            _ => {
                let point = from.point(at)?;
                match continues {
                    true => self.engine.restore(&point).description(called).run()?.lineage().id(),
                    false => self.engine.branch(&point).description(called).run()?.id(),
                }
            }
        };
        self.opened.insert(called.to_owned(), (id, at));
        let lineage = self.engine.task(from.task_id())?.lineage_named(id)?;
        let task = self.end_of(lineage.as_task()?)?;
        self.tasks.push(task);
        Ok(self.tasks.len() - 1)
    }

    /// Opens a branch that is the root of another task, named with a suffix.
    pub fn add_task(&mut self, suffix: &str) -> Result<()> {
        let id = format!("{}-{suffix}", self.id);
        let (root, _) = root(&self.engine, &id, &self.user, &self.keys)?;
        self.tasks.push(root);
        Ok(())
    }

    /// Continues the task at the end of a branch if the recording changed it, unless it is on a
    /// lineage that does not come from the history. Returns the task's head.
    pub fn go_on_with(&mut self, branch: usize, changed: bool) -> Result<Offset> {
        let active = self.engine.task(&self.id)?.lineage().id();
        let on = self.on(branch)?.lineage().clone();
        let ours = |task: &Task| task.lineage().id() == active;
        if changed && active != on.id() && self.tasks.iter().any(ours) {
            let point = on.point(on.head()?.next)?;
            let restored = self.engine.restore(&point).description(CONTINUATION).run()?;
            let id = restored.lineage().id();
            let lineage = self.engine.task(&self.id)?.lineage_named(id)?.as_task()?;
            self.continuations.insert(on.id(), id);
            if let Some(task) = self.tasks.get_mut(branch) {
                *task = lineage;
            }
        }
        Ok(self.engine.task(&self.id)?.head()?.next)
    }
}

/// Returns the lineages opened to continue at the end of others, by those others.
fn continuations(lineages: &[LineageInfo]) -> HashMap<LineageId, LineageId> {
    let end = |id: LineageId| {
        let info = lineages.iter().find(|info| info.id == id)?;
        Some(info.head.next)
    };
    let ours = lineages.iter();
    let ours = ours.filter(|info| info.description.as_deref() == Some(CONTINUATION));
    let parted = ours.filter_map(|info| Some((info.parent?, info.id)));
    parted
        .filter(|(parent, _)| end(parent.lineage) == Some(parent.offset))
        .map(|(parent, id)| (parent.lineage, id))
        .collect()
}

/// Returns the root lineage of a task with its hooks, and `true` if the task was started for it.
fn root(engine: &Engine, id: &str, user: &str, keys: &[&str]) -> Result<(Task, bool)> {
    let (task, is_new) = match engine.task(id) {
        Ok(task) => (task, false),
        Err(error) if error.kind() == ErrorKind::NotFound => (engine.start_task(id, user)?, true),
        Err(error) => return Err(error.into()),
    };
    let root = task.lineage_named(LineageId(0))?;
    check_is_ours(id, &root, keys)?;
    Ok((root.as_task()?, is_new))
}

/// Refuses a task with the documents of hooks: they have the same conversation.
fn check_has_no_documents(id: &str, lineage: &Lineage) -> Result<()> {
    match lineage.appended_under(DOCUMENTS_KEY)? {
        None => Ok(()),
        Some(_) => {
            let why = format!("the task {id} has this conversation already, as its hooks told it");
            Err(Error::conflict(why).remedied_by(Remedy::NameOtherTask))
        }
    }
}

/// Refuses a task that was not begun by a recording.
fn check_is_ours(id: &str, root: &Lineage, keys: &[&str]) -> Result<()> {
    let first = match root.read(START..START + 2) {
        Ok(events) => events,
        // A cleanup removed its beginning.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let events: Vec<Event> = first.collect::<Result<_, _>>()?;
    // The first mark may precede the events with a key, and is alone if the run was interrupted.
    let is_of = |found: &String| keys.iter().any(|key| found.starts_with(key));
    let keyed = |event: &Event| event.header.key.as_ref().map(is_of);
    let is_mark = |body: &Body| matches!(body, Body::CheckpointMarked(_));
    let by_us = |event: &Event| {
        event.header.actor.as_deref() == Some(ACTOR) && event.body.as_ref().is_none_or(is_mark)
    };
    let ours = events.iter().any(|event| keyed(event) == Some(true))
        || events.iter().all(|event| keyed(event).is_none() && by_us(event));
    if ours {
        return Ok(());
    }
    Err(Error::conflict(format!("the task {id} exists already, and is not from here"))
        .remedied_by(Remedy::NameOtherTask))
}
