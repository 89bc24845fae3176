//! What one user sees of a store.

use std::sync::Arc;

use milepost_codec::{Hash, Json, Result, TaskNo};
use milepost_replay::{Chunks, Event, Reducer, RunState};

use crate::handles::engine::Engine;
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;
use crate::history::checkpoint::Checkpoint;
use crate::history::lists::{CheckpointQuery, Page, TaskInfo, TaskQuery};
use crate::history::point::Point;

/// An engine as one user sees it: their own tasks. Somebody else's answers exactly like one that is
/// not there, also where a checkpoint's id or a list is asked for.
///
/// ```
/// use milepost::{Engine, ErrorKind, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// engine.start_task("diary", "ana")?;
/// let bob = engine.for_user("bob");
/// assert_eq!(bob.task("diary").unwrap_err().kind(), ErrorKind::NotFound);
/// bob.start_task("notes")?;
/// assert_eq!(bob.tasks(&Default::default())?.items.len(), 1);
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Scoped {
    engine: Engine,
    user: Arc<str>,
}

impl Engine {
    /// The engine as a user sees it.
    pub fn for_user(&self, user: &str) -> Scoped {
        Scoped { engine: self.clone(), user: user.into() }
    }
}

impl Scoped {
    /// The user.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Starts a task of the user.
    ///
    /// # Errors
    ///
    /// As [`Engine::start_task`]. Ids are the store's: one that somebody else has taken is
    /// `Conflict`.
    pub fn start_task(&self, id: &str) -> Result<Task> {
        self.engine.start_task(id, &self.user)
    }

    /// Starts a task of the user from an initial state.
    ///
    /// # Errors
    ///
    /// As [`Scoped::start_task`].
    pub fn start_task_from(&self, id: &str, initial: Option<Json>) -> Result<Task> {
        self.engine.start_task_from(id, &self.user, initial)
    }

    /// See [`Engine::task`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn task(&self, id: &str) -> Result<Task> {
        let catalog = &self.engine.inner.catalog;
        Task::of(&self.engine, catalog.find_for(id, Some(&self.user))?)
    }

    /// See [`Engine::tasks`]; `user` of the query is the user's own, whatever it says.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn tasks(&self, query: &TaskQuery) -> Result<Page<TaskInfo>> {
        let user = Some(self.user.to_string());
        let query = TaskQuery { user, ..query.clone() };
        self.engine.tasks(&query)
    }

    /// See [`Engine::point`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn point(&self, address: &str) -> Result<Point> {
        let catalog = &self.engine.inner.catalog;
        catalog.point(address, Some(&self.user))
    }

    /// See [`Engine::checkpoint`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn checkpoint(&self, id: &str) -> Result<Checkpoint> {
        let id = id.strip_prefix('@').unwrap_or(id);
        let catalog = &self.engine.inner.catalog;
        catalog.checkpoint_named(id, Some(&self.user))
    }

    /// See [`Engine::checkpoints`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>> {
        self.engine.inner.catalog.checkpoints(query, Some(&self.user))
    }

    /// See [`Engine::state`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn state<R: Reducer>(&self, reducer: &R, point: &Point) -> Result<R::State> {
        self.own(point)?;
        self.engine.state(reducer, point)
    }

    /// See [`Engine::run_state`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn run_state(&self, point: &Point) -> Result<RunState> {
        self.own(point)?;
        self.engine.run_state(point)
    }

    /// See [`Engine::chunks`].
    pub fn chunks(&self) -> Arc<dyn Chunks> {
        self.engine.chunks()
    }

    /// See [`Engine::event`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn event(&self, point: &Point) -> Result<(Event, Hash)> {
        self.own(point)?;
        self.engine.event(point)
    }

    /// See [`Engine::hash_at`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn hash_at(&self, point: &Point) -> Result<Hash> {
        self.own(point)?;
        self.engine.hash_at(point)
    }

    /// See [`Engine::restore`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn restore(&self, point: &Point, description: Option<&str>) -> Result<Task> {
        self.own(point)?;
        self.engine.restore(point, description)
    }

    /// See [`Engine::branch`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn branch(&self, point: &Point, description: Option<&str>) -> Result<Lineage> {
        self.own(point)?;
        self.engine.branch(point, description)
    }

    /// See [`Engine::undo`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn undo(&self, task: &str) -> Result<Task> {
        self.engine.undo_for(task, Some(&self.user))
    }

    /// See [`Engine::delete_task`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn delete_task(&self, task: &str) -> Result<()> {
        self.engine.delete_task_for(task, Some(&self.user))
    }

    /// A point may come from elsewhere: its task has to be the user's, by name and number.
    fn own(&self, point: &Point) -> Result<()> {
        let catalog = &self.engine.inner.catalog;
        let no: TaskNo = catalog.find_for(&point.task, Some(&self.user))?;
        if no == point.no {
            return Ok(());
        }
        let task = &point.task;
        Err(milepost_codec::Error::not_found(format!("there is no task `{task}`")))
    }
}
