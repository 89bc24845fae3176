//! Branches: new lineages that leave the active one as it is.

use milepost_codec::{
    Activated, ActivationCause, Error, ErrorKind, LineageId, LineageType, LogId, Parent, Result,
    TaskNo,
};
use milepost_store::index::keys;

use crate::commit::append::Append;
use crate::commit::appended::Appended;
use crate::commit::committer::Request;
use crate::commit::conditions;
use crate::conditions::Conditions;
use crate::handles::audit::AuditEvent;
use crate::handles::engine::Engine;
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;
use crate::handles::view::View;
use crate::history::events::Ancestry;
use crate::history::point::Point;

/// A new lineage at a point. Nothing happens before [`run`](Branch::run) or
/// [`append`](Branch::append).
///
/// ```
/// use milepost::{Engine, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("essay", "ana")?;
/// let shorter = engine.branch(&engine.point("essay@1")?).description("shorter").run()?;
/// assert_eq!(shorter.info()?.description.as_deref(), Some("shorter"));
/// assert_eq!(engine.task("essay")?.lineage().id(), task.lineage().id());
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is opened before `run` or `append`"]
pub struct Branch<'a> {
    view: &'a View,
    point: &'a Point,
    description: Option<&'a str>,
    is_activated: bool,
    conditions: Conditions,
}

impl View {
    /// Opens a new lineage at a point. The active lineage stays the same, unless the branch
    /// [becomes active](Branch::activate).
    pub fn branch<'a>(&'a self, point: &'a Point) -> Branch<'a> {
        let conditions = Conditions::new();
        Branch { view: self, point, description: None, is_activated: false, conditions }
    }
}

impl<'a> Branch<'a> {
    /// Sets the purpose of the new lineage, in words: at most 1,024 bytes.
    pub fn description(mut self, description: impl Into<Option<&'a str>>) -> Self {
        self.description = description.into();
        self
    }

    /// Makes the new lineage the active one, in the same commit. Files stay as they are. An
    /// [undo](View::undo) returns to the lineage before.
    pub fn activate(mut self, activate: bool) -> Self {
        self.is_activated = activate;
        self
    }

    /// Sets the conditions: a key under which it is opened once, and an expected head.
    ///
    /// If a branch was opened so under the same key, at this point or before it, that lineage is
    /// returned, and nothing is made active. An expected head is that of the lineage that is active
    /// before, and has no effect on a branch that does not become active.
    pub fn conditions(mut self, conditions: Conditions) -> Self {
        self.conditions = conditions;
        self
    }

    /// Opens the lineage.
    ///
    /// # Errors
    ///
    /// - `Conflict`: the head is not the expected one, or the key was used for something else.
    /// - `Corrupt`: the history before the point cannot be read.
    /// - `Invalid`: the description has more than 1,024 bytes, or a hook refuses.
    /// - `NotFound`: retention trimmed the point.
    /// - `Unavailable`: a restore of the task is pending.
    pub fn run(self) -> Result<Lineage> {
        let Self { view, point, description, is_activated, conditions } = self;
        view.shown(point)?;
        match is_activated {
            true => view.engine().branch_and_switch(point, description, &conditions),
            false => view.engine().open_branch(point, description, &conditions),
        }
    }

    /// Opens the lineage and appends events to it, with the checkpoint of the append, all in one
    /// commit. The active lineage stays the same.
    ///
    /// If a branch at the point already has an append with the same idempotency key, that branch is
    /// returned, and the result of the append to it. The key is forgotten once retention trimmed
    /// the first events of the branch.
    ///
    /// ```
    /// use milepost::events::Message;
    /// use milepost::{Append, Engine, Mark, Options};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let task = engine.start_task("thread", "ana")?;
    /// let say = |text| Append::from(Message::text("user", text));
    /// let first = task.append_marked(say("one"), Mark::new().alias("step-1"))?;
    /// task.append_marked(say("two"), Mark::new().alias("step-2"))?;
    /// let other = say("another two").mark(Mark::new().alias("step-2b"));
    /// let from = engine.point(&format!("@{}", first.id))?;
    /// let (branch, appended) = engine.branch(&from).append(other)?;
    /// assert_eq!(branch.last_successful()?.map(|mark| mark.id), appended.checkpoint);
    /// assert_ne!(engine.task("thread")?.lineage().id(), branch.id());
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Branch::run`] and [`Lineage::append`]. `Invalid`: the append expects a head, or
    /// changes the control of the run, is after a capture, or each event has its own key, a hook
    /// refuses the checkpoint, or the branch has conditions or is to become active.
    pub fn append(self, append: impl Into<Append>) -> Result<(Lineage, Appended)> {
        if self.is_activated || self.conditions != Conditions::new() {
            let why = "a branch with events has the key of its append, and does not become active";
            return Err(Error::invalid(why));
        }
        self.view.shown(self.point)?;
        self.view.engine().branch_appended(self.point, self.description, append.into())
    }
}

impl Engine {
    fn open_branch(
        &self,
        point: &Point,
        description: Option<&str>,
        conditions: &Conditions,
    ) -> Result<Lineage> {
        let inner = &self.inner;
        let structure = inner.structure()?;
        inner.catalog.goes_on(point.no)?;
        let entry = inner.catalog.task(point.no)?;
        if let Some(lineage) = self.branched_already(point, description, (conditions, false))? {
            return Lineage::new(self, point.no, lineage, None);
        }
        let opened = (LineageType::Branch, description, conditions.checked_key()?);
        let (lineage, appends) = self.fork(point, opened, &[])?;
        inner.commit(Request::of(appends))?;
        drop(structure);
        AuditEvent::of("branched", point.no, lineage).tell(self);
        Ok(Lineage::made(self, (point.no, &entry), lineage, None))
    }

    /// Opens a lineage at a point and activates it.
    fn branch_and_switch(
        &self,
        point: &Point,
        description: Option<&str>,
        conditions: &Conditions,
    ) -> Result<Lineage> {
        self.check_writable()?;
        let inner = &self.inner;
        let hooks = &inner.options.hooks;
        let already = || {
            let lineage = self.branched_already(point, description, (conditions, true))?;
            lineage.map(|lineage| self.on_lineage(point.no, lineage)).transpose()
        };
        if let Some(task) = already()? {
            return Ok(task.lineage().clone());
        }
        hooks.ask("a restore", |hook| hook.before_restore(point))?;
        let (task, left) = self.with_folder_state(point, |folder| {
            // Read before the lock, like all that is not small.
            let carried = self.carried(folder)?;
            let _structure = inner.structure()?;
            if let Some(task) = already()? {
                return Ok((task, None));
            }
            inner.catalog.goes_on(point.no)?;
            let entry = inner.catalog.task(point.no)?;
            let (back, active) = inner.catalog.active(point.no)?;
            let opened = (LineageType::Branch, description, conditions.checked_key()?);
            let (lineage, appends) = self.fork(point, opened, &carried)?;
            let (epoch, cause) = (back + 1, ActivationCause::Chosen);
            let activated = Activated { lineage, epoch, cause, back: Some(back) };
            let more = (&[][..], Some(folder.seen));
            self.commit_activation(point.no, activated, appends, more, conditions)?;
            Ok((Task::made(self, (point.no, &entry), lineage, epoch), Some(active.lineage)))
        })?;
        if let Some(left) = left {
            AuditEvent::of("branched", point.no, task.lineage().id()).tell(self);
            self.tell_gone("switched", &task, left);
            hooks.tell("a restore", |hook| hook.after_restore(&task));
        }
        Ok(task.lineage().clone())
    }

    /// Opens a new lineage at a point, with its first events.
    fn branch_appended(
        &self,
        point: &Point,
        description: Option<&str>,
        append: Append,
    ) -> Result<(Lineage, Appended)> {
        let inner = &self.inner;
        if append.expected().is_some() || append.control_changes().next().is_some() {
            let why = "the first append to a branch expects no head and changes no control";
            return Err(Error::invalid(why));
        }
        if append.is_after_capture() {
            let why = "the first append to a branch follows no capture: the folder is of another";
            return Err(Error::invalid(why));
        }
        if append.is_each_keyed() {
            let why = "the first append to a branch has one key, and no keys of its events";
            return Err(Error::invalid(why));
        }
        if let Some(mark) = append.marked() {
            // Hooks see the lineage of the point: the branch does not exist yet.
            let from = Lineage::new(self, point.no, point.lineage, None)?.as_task()?;
            from.ask_hooks(Some(&mark))?;
        }
        // Encoded before the lock, as all that is not small: calls on other tasks wait for it. The
        // log is a placeholder.
        let origin = inner.catalog.task(point.no)?.origin;
        let events = self.log_append(LogId::lineage(point.no, point.lineage), origin);
        let events = self.with_events_of(&append, events.behind_opening())?;
        let structure = inner.structure()?;
        inner.catalog.goes_on(point.no)?;
        let entry = inner.catalog.task(point.no)?;
        let parent = self.fork_of(point)?;
        if let Some(key) = append.key_given() {
            if let Some(lineage) = self.branch_under(point.no, key, &parent)? {
                drop(structure);
                let lineage = Lineage::new(self, point.no, lineage, None)?;
                let appended = lineage.append_unobserved(&append)?.appended;
                return Ok((lineage, appended));
            }
            self.refuse_used_before(point, key, &parent)?;
        }
        let append = self.with_parent(point, &parent, append)?;
        let (id, mut appends) = self.fork(point, (LineageType::Branch, description, None), &[])?;
        let lineage = Lineage::made(self, (point.no, &entry), id, None);
        let Some(opening) = appends.pop() else {
            return Err(Error::invalid("a branch of nothing"));
        };
        // The copy of a mark that was left behind is for restores: that of the append replaces it.
        appends.push(self.with_mark_of(&append, events.opened_by(opening))?);
        let done = inner.commit(Request::of(appends))?;
        drop(structure);
        AuditEvent::of("branched", point.no, id).tell(self);
        let appended = Appended::behind_opening(&done)?;
        lineage.appended(&append, &appended);
        if let Some(id) = appended.checkpoint
            && !inner.options.hooks.is_empty()
        {
            let marked = self.query().checkpoint(&id.to_string());
            // The branch exists, even if its report fails.
            if let (Ok(marked), Ok(task)) = (marked, lineage.as_task()) {
                task.tell_hooks(&marked);
            }
        }
        Ok((lineage, appended))
    }

    /// Returns the lineage that an earlier call with the same key opened at a point. Fails with
    /// `Conflict` if the key was used for something else.
    fn branched_already(
        &self,
        point: &Point,
        description: Option<&str>,
        (conditions, is_switched): (&Conditions, bool),
    ) -> Result<Option<LineageId>> {
        let Some(key) = conditions.checked_key()? else {
            return Ok(None);
        };
        let catalog = &self.inner.catalog;
        let chosen = match is_switched {
            true => catalog.activated_under(point.no, key, ActivationCause::Chosen)?,
            false => None,
        };
        let fork = self.fork_of(point)?;
        if let Some((lineage, opened)) = catalog.branched_under(point.no, key)? {
            let is_same = opened.description.as_deref() == description
                && self.is_behind(point, &fork, opened.parent)?
                && (!is_switched || chosen.is_some_and(|to| to.lineage == lineage));
            if is_same {
                return Ok(Some(lineage));
            }
            return Err(conditions::used_otherwise(key, format!("to open lineage {lineage}")));
        }
        if let Some(to) = chosen {
            return Err(conditions::used_otherwise(key, format!("activation {}", to.epoch)));
        }
        if let Some(lineage) = self.branch_under(point.no, key, &fork)? {
            return Err(conditions::used_otherwise(key, format!("in lineage {lineage}")));
        }
        self.refuse_used_before(point, key, &fork)?;
        Ok(None)
    }

    /// Returns `true` if the history before a fork includes another one. A repeated request may
    /// name a later point: the address of a task moves with its head.
    fn is_behind(&self, point: &Point, fork: &Parent, before: Option<Parent>) -> Result<bool> {
        let Some(before) = before.filter(|before| before.offset <= fork.offset) else {
            return Ok(false);
        };
        let ancestry = Ancestry::of(&self.inner.catalog, point.no, point.lineage)?;
        let owner = ancestry.hash_owner(before.offset).unwrap_or(point.lineage);
        Ok(owner == before.lineage)
    }

    /// Refuses a key of an append to the history before a fork.
    fn refuse_used_before(&self, point: &Point, key: &str, fork: &Parent) -> Result<()> {
        let before = Lineage::new(self, point.no, fork.lineage, None)?;
        match before.appended_under(key)? {
            Some(used) if used.start < fork.offset => {
                let text = "the history before the point has an append with this key";
                Err(Error::new(ErrorKind::Conflict, text))
            }
            _ => Ok(()),
        }
    }

    /// Returns the append with the parent of its mark: the checkpoint of the point, or the newest
    /// one before the fork.
    fn with_parent(&self, point: &Point, fork: &Parent, append: Append) -> Result<Append> {
        let Some(mark) = append.mark_given().filter(|mark| mark.body().parent.is_none()) else {
            return Ok(append);
        };
        let newest = || {
            let (catalog, offset) = (&self.inner.catalog, fork.offset);
            catalog.newest_mark(point.no, fork.lineage, offset, &mut |_, _, _| Ok(true))
        };
        let parent = match point.checkpoint {
            Some(checkpoint) => Some(checkpoint),
            None => newest()?.map(|(_, _, entry)| entry.id),
        };
        Ok(match parent {
            Some(parent) => {
                let mark = mark.clone().parent(parent);
                append.mark(mark)
            }
            None => append,
        })
    }

    /// Returns the lineage that forks at a place and has an append with this key.
    fn branch_under(&self, task: TaskNo, key: &str, at: &Parent) -> Result<Option<LineageId>> {
        let catalog = &self.inner.catalog;
        let mut found = None;
        catalog.log().walk(&keys::uses_of_key(task, key), &mut |entry, _| {
            let lineage = keys::tail_lineage(entry);
            // A dropped lineage does not count.
            let Ok(entry) = catalog.lineage(task, lineage) else { return Ok(()) };
            if entry.parent == Some(*at) && entry.lineage_type == LineageType::Branch {
                found = found.max(Some(lineage));
            }
            Ok(())
        })?;
        Ok(found)
    }
}
