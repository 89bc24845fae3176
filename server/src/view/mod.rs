//! The engine as its caller sees it: all of it for an admin, own tasks for a user. Another user's
//! object answers exactly like one that does not exist.

mod changes;

use milepost::metrics::Stats;
use milepost::query::{Blamed, CheckpointQuery, Page, TaskInfo, TaskQuery, TaskStats};
use milepost::retention::Pin;
use milepost::{Checkpoint, Engine, Error, ErrorKind, Event, Hash, Point, Result, RunState, Task};
use milepost_workspace::Snapshot;

pub(crate) use self::changes::{CHANGES, RestorePlan};
use crate::auth::Caller;
use crate::forms::PinForm;

/// The engine as one caller sees it.
pub(crate) struct View<'a> {
    engine: &'a Engine,
    /// `None` for an admin.
    scoped: Option<milepost::View>,
    /// The only task of a token with that limit.
    only: Option<&'a str>,
}

impl<'a> View<'a> {
    pub(crate) fn of(engine: &'a Engine, caller: &'a Caller) -> Self {
        let scoped = caller.sees().map(|user| engine.as_user(user));
        let only = caller.limits.task.as_deref();
        Self { engine, scoped, only }
    }

    /// Returns true if the token may see a task. Other tasks answer like missing ones.
    fn is_for(&self, task: &str) -> bool {
        self.only.is_none_or(|only| only == task)
    }

    /// Returns a view without any tasks.
    fn blind(&self) -> milepost::View {
        self.engine.as_user("")
    }

    pub(crate) fn task(&self, id: &str) -> Result<Task> {
        if !self.is_for(id) {
            return self.blind().task(id);
        }
        match &self.scoped {
            Some(scoped) => scoped.task(id),
            None => self.engine.task(id),
        }
    }

    /// Lists tasks. The query's user applies to admins only.
    pub(crate) fn tasks(&self, query: &TaskQuery) -> Result<Page<TaskInfo>> {
        if let Some(only) = self.only {
            let items = match self.task(only) {
                Ok(task) => vec![task.info()?],
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                Err(error) => return Err(error),
            };
            return Ok(Page { items, next: None });
        }
        match &self.scoped {
            Some(scoped) => scoped.tasks(query),
            None => self.engine.query().tasks(query),
        }
    }

    pub(crate) fn checkpoint(&self, id: &str) -> Result<Checkpoint> {
        let found = match &self.scoped {
            Some(scoped) => scoped.checkpoint(id),
            None => self.engine.query().checkpoint(id),
        }?;
        match self.is_for(&found.task) {
            true => Ok(found),
            false => self.blind().checkpoint(id),
        }
    }

    pub(crate) fn checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>> {
        if let Some(only) = self.only
            && query.task.as_deref() != Some(only)
        {
            if query.task.is_some() {
                return self.blind().checkpoints(query);
            }
            let mut query = query.clone();
            query.task = Some(only.to_owned());
            return self.checkpoints(&query);
        }
        match &self.scoped {
            Some(scoped) => scoped.checkpoints(query),
            None => self.engine.query().checkpoints(query),
        }
    }

    pub(crate) fn point(&self, address: &str) -> Result<Point> {
        let found = match &self.scoped {
            Some(scoped) => scoped.point(address),
            None => self.engine.point(address),
        }?;
        match self.is_for(&found.task) {
            true => Ok(found),
            false => self.blind().point(address),
        }
    }

    pub(crate) fn run_state(&self, point: &Point) -> Result<RunState> {
        match &self.scoped {
            Some(scoped) => scoped.run_state(point),
            None => self.engine.run_state(point),
        }
    }

    pub(crate) fn hash_at(&self, point: &Point) -> Result<Hash> {
        match &self.scoped {
            Some(scoped) => scoped.hash_at(point),
            None => self.engine.integrity().hash_at(point),
        }
    }

    pub(crate) fn event(&self, point: &Point) -> Result<(Event, Hash)> {
        match &self.scoped {
            Some(scoped) => scoped.event(point),
            None => self.engine.event(point),
        }
    }

    /// Returns the events that set a part of the state at a point of a visible task.
    pub(crate) fn blame(&self, point: &Point, pointer: &str, history: bool) -> Result<Blamed> {
        self.engine.query().blame(point, pointer, history)
    }

    /// Returns the pins of a task.
    pub(crate) fn pins(&self, task: &str) -> Result<Vec<PinForm>> {
        let task = self.task(task)?;
        let pins = self.engine.retention().pins(task.id())?;
        let form = |pin: Pin| {
            let checkpoint = self.engine.query().checkpoint(&pin.checkpoint.to_string())?;
            Ok(PinForm::of(pin, checkpoint))
        };
        pins.into_iter().map(form).collect()
    }

    /// Returns the number of erased events of a point's task.
    pub(crate) fn erased(&self, point: &Point) -> Result<u64> {
        Ok(self.task(&point.task)?.erased())
    }

    /// Returns the last folder captured before a point. Its id comes from a state the caller may
    /// see.
    pub(crate) fn captured(&self, point: &Point) -> Result<Snapshot> {
        let root = self.run_state(point)?.workspace;
        let none = || Error::not_found(format!("no folder was captured before {point}"));
        Snapshot::of(self.engine, root.ok_or_else(none)?)
    }

    /// Returns the numbers of the store; `None` for a user.
    pub(crate) fn stats(&self) -> Result<Option<Stats>> {
        match self.scoped {
            Some(_) => Ok(None),
            None => self.engine.store().stats().map(Some),
        }
    }

    /// Returns the numbers of a user's tasks; empty if the caller is another user.
    pub(crate) fn task_stats(&self, user: &str) -> Result<Vec<TaskStats>> {
        match &self.scoped {
            Some(scoped) if scoped.user() != user => Ok(Vec::new()),
            _ => self.engine.query().task_stats(Some(user)),
        }
    }

    /// Checks the integrity of checkpoints. Removed or unreadable ones count as damaged.
    pub(crate) fn are_whole(&self, checkpoints: &[Checkpoint]) -> Result<Vec<bool>> {
        self.engine.integrity().check_all(checkpoints)
    }
}
