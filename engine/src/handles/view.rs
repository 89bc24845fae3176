//! View of a store for one user.

use std::sync::Arc;

use milepost_codec::{Hash, Json, Result};
use milepost_replay::{Chunks, Event, Reducer, RunState};

use crate::handles::engine::Engine;
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;
use crate::history::checkpoint::Checkpoint;
use crate::history::lists::{CheckpointQuery, Page, TaskInfo, TaskQuery};
use crate::history::point::Point;

/// An engine restricted to the tasks of one user: see [`Engine::as_user`]. A task of another user
/// gives the same answers as a missing one, also for the id of a checkpoint and in lists.
///
/// ```
/// use milepost::{Engine, ErrorKind, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// engine.start_task("diary", "ana")?;
/// let bob = engine.as_user("bob");
/// assert_eq!(bob.task("diary").unwrap_err().kind(), ErrorKind::NotFound);
/// bob.start_task("notes")?;
/// assert_eq!(bob.tasks(&Default::default())?.items.len(), 1);
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct View {
    engine: Engine,
    user: Arc<str>,
}

impl Engine {
    /// Returns the engine restricted to one user's tasks.
    pub fn as_user(&self, user: &str) -> View {
        View { engine: self.clone(), user: user.into() }
    }
}

impl View {
    /// Returns the user.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Starts a task of the user.
    ///
    /// # Errors
    ///
    /// As [`Engine::start_task`]. Ids are unique in the store. `Conflict`: another user's task has
    /// the id.
    pub fn start_task(&self, id: &str) -> Result<Task> {
        self.engine.start_task(id, &self.user)
    }

    /// Starts a task of the user from an initial state.
    ///
    /// # Errors
    ///
    /// As [`View::start_task`].
    pub fn start_task_from(&self, id: &str, initial: Option<Json>) -> Result<Task> {
        self.engine.start_task_from(id, &self.user, initial)
    }

    /// Returns a task of the user: see [`Engine::task`].
    ///
    /// # Errors
    ///
    /// As [`Engine::task`].
    pub fn task(&self, id: &str) -> Result<Task> {
        let catalog = &self.engine.inner.catalog;
        Task::of(&self.engine, catalog.find_for(id, Some(&self.user))?)
    }

    /// Returns tasks of the user: see [`Query::tasks`](crate::query::Query::tasks). The query's
    /// `user` is ignored.
    ///
    /// # Errors
    ///
    /// As [`Query::tasks`](crate::query::Query::tasks).
    pub fn tasks(&self, query: &TaskQuery) -> Result<Page<TaskInfo>> {
        let user = Some(self.user.to_string());
        let query = TaskQuery { user, ..query.clone() };
        self.engine.inner.catalog.tasks(&query)
    }

    /// Returns the point that an address names: see [`Engine::point`].
    ///
    /// # Errors
    ///
    /// As [`Engine::point`].
    pub fn point(&self, address: &str) -> Result<Point> {
        let catalog = &self.engine.inner.catalog;
        catalog.point(address, Some(&self.user))
    }

    /// Returns a checkpoint of the user's tasks: see
    /// [`Query::checkpoint`](crate::query::Query::checkpoint).
    ///
    /// # Errors
    ///
    /// As [`Query::checkpoint`](crate::query::Query::checkpoint).
    pub fn checkpoint(&self, id: &str) -> Result<Checkpoint> {
        let id = id.strip_prefix('@').unwrap_or(id);
        let catalog = &self.engine.inner.catalog;
        catalog.checkpoint_named(id, Some(&self.user))
    }

    /// Returns checkpoints of the user's tasks: see
    /// [`Query::checkpoints`](crate::query::Query::checkpoints).
    ///
    /// # Errors
    ///
    /// As [`Query::checkpoints`](crate::query::Query::checkpoints).
    pub fn checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>> {
        self.engine.inner.catalog.checkpoints(query, Some(&self.user))
    }

    /// Returns the state of a point: see [`Engine::state`].
    ///
    /// # Errors
    ///
    /// As [`Engine::state`].
    pub fn state<R: Reducer>(&self, reducer: &R, point: &Point) -> Result<R::State> {
        self.own(point)?;
        self.engine.state(reducer, point)
    }

    /// Returns the built-in reducer's state of a point: see [`Engine::run_state`].
    ///
    /// # Errors
    ///
    /// As [`Engine::run_state`].
    pub fn run_state(&self, point: &Point) -> Result<RunState> {
        self.own(point)?;
        self.engine.run_state(point)
    }

    /// Returns the reader of a state's sequences: see [`Engine::chunks`].
    pub fn chunks(&self) -> Arc<dyn Chunks> {
        self.engine.chunks()
    }

    /// Returns the event at a point: see [`Engine::event`].
    ///
    /// # Errors
    ///
    /// As [`Engine::event`].
    pub fn event(&self, point: &Point) -> Result<(Event, Hash)> {
        self.own(point)?;
        self.engine.event(point)
    }

    /// Returns the chain hash before a point: see
    /// [`Integrity::hash_at`](crate::integrity::Integrity::hash_at).
    ///
    /// # Errors
    ///
    /// As [`Integrity::hash_at`](crate::integrity::Integrity::hash_at).
    pub fn hash_at(&self, point: &Point) -> Result<Hash> {
        self.own(point)?;
        self.engine.integrity().hash_at(point)
    }

    /// Opens a lineage at a point: see [`Engine::branch`].
    ///
    /// # Errors
    ///
    /// As [`Engine::branch`].
    pub fn branch(&self, point: &Point, description: Option<&str>) -> Result<Lineage> {
        self.own(point)?;
        self.engine.branch(point, description)
    }

    /// Deletes a task of the user: see
    /// [`Retention::delete_task`](crate::retention::Retention::delete_task).
    ///
    /// # Errors
    ///
    /// As [`Retention::delete_task`](crate::retention::Retention::delete_task).
    pub fn delete_task(&self, task: &str) -> Result<()> {
        self.engine.retention().delete_task_for(task, Some(&self.user))
    }

    fn own(&self, point: &Point) -> Result<()> {
        self.engine.inner.catalog.owned(point, Some(&self.user))
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }
}
