//! An engine as whoever asks may see it: an admin all of it, a user their own tasks. What is somebody else's answers as
//! what is not there.

mod changes;

use milepost::{
    Blamed, Checkpoint, CheckpointQuery, Engine, Error, Event, Hash, Page, Pin, Point, Result,
    RunState, Scoped, Stats, Task, TaskInfo, TaskQuery, TaskStats,
};
use milepost_workspace::Snapshot;

pub(crate) use self::changes::{CHANGES, RestorePlan};
use crate::forms::PinForm;
use crate::who::Who;

/// An engine as somebody sees it.
pub(crate) struct View<'a> {
    engine: &'a Engine,
    /// None of an admin.
    scoped: Option<Scoped>,
}

impl<'a> View<'a> {
    pub(crate) fn of(engine: &'a Engine, who: &Who) -> Self {
        let scoped = who.sees().map(|user| engine.for_user(user));
        Self { engine, scoped }
    }

    pub(crate) fn task(&self, id: &str) -> Result<Task> {
        match &self.scoped {
            Some(scoped) => scoped.task(id),
            None => self.engine.task(id),
        }
    }

    /// The query's user counts for an admin only.
    pub(crate) fn tasks(&self, query: &TaskQuery) -> Result<Page<TaskInfo>> {
        match &self.scoped {
            Some(scoped) => scoped.tasks(query),
            None => self.engine.tasks(query),
        }
    }

    pub(crate) fn checkpoint(&self, id: &str) -> Result<Checkpoint> {
        match &self.scoped {
            Some(scoped) => scoped.checkpoint(id),
            None => self.engine.checkpoint(id),
        }
    }

    pub(crate) fn checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>> {
        match &self.scoped {
            Some(scoped) => scoped.checkpoints(query),
            None => self.engine.checkpoints(query),
        }
    }

    pub(crate) fn point(&self, address: &str) -> Result<Point> {
        match &self.scoped {
            Some(scoped) => scoped.point(address),
            None => self.engine.point(address),
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
            None => self.engine.hash_at(point),
        }
    }

    pub(crate) fn event(&self, point: &Point) -> Result<(Event, Hash)> {
        match &self.scoped {
            Some(scoped) => scoped.event(point),
            None => self.engine.event(point),
        }
    }

    /// Who set a part of the state at a point that was seen.
    pub(crate) fn blame(&self, point: &Point, pointer: &str, history: bool) -> Result<Blamed> {
        self.engine.blame(point, pointer, history)
    }

    /// The pins of a task.
    pub(crate) fn pins(&self, task: &str) -> Result<Vec<PinForm>> {
        let task = self.task(task)?;
        let pins = self.engine.pins(task.id())?;
        let form = |pin: Pin| {
            let checkpoint = self.engine.checkpoint(&pin.checkpoint.to_string())?;
            Ok(PinForm::of(pin, checkpoint))
        };
        pins.into_iter().map(form).collect()
    }

    /// How many events were erased from the task of a point.
    pub(crate) fn erased(&self, point: &Point) -> Result<u64> {
        Ok(self.task(&point.task)?.erased())
    }

    /// The folder that was captured last before a point: its id comes from a state that was seen.
    pub(crate) fn captured(&self, point: &Point) -> Result<Snapshot> {
        let root = self.run_state(point)?.workspace;
        let none = || Error::not_found(format!("no folder was captured before {point}"));
        Snapshot::of(self.engine, root.ok_or_else(none)?)
    }

    /// What the store holds: nothing for a user.
    pub(crate) fn stats(&self) -> Result<Option<Stats>> {
        match self.scoped {
            Some(_) => Ok(None),
            None => self.engine.stats().map(Some),
        }
    }

    /// What each task of somebody holds: nothing where they are somebody else.
    pub(crate) fn task_stats(&self, user: &str) -> Result<Vec<TaskStats>> {
        match &self.scoped {
            Some(scoped) if scoped.user() != user => Ok(Vec::new()),
            _ => self.engine.task_stats(Some(user)),
        }
    }

    /// Whether checkpoints that were seen are whole. What is gone since, or cannot be read, is not.
    pub(crate) fn are_whole(&self, checkpoints: &[Checkpoint]) -> Result<Vec<bool>> {
        self.engine.are_whole(checkpoints)
    }
}
