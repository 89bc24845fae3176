//! View of the tasks that one caller may see.

use std::sync::Arc;

use milepost_codec::{Error, ErrorKind, Hash, Result};
use milepost_replay::{Chunks, Event, Reducer, RunState};

use crate::commit::append::{Append, Appended};
use crate::handles::engine::Engine;
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;
use crate::history::catalog::Viewer;
use crate::history::checkpoint::Checkpoint;
use crate::history::lists::{CheckpointQuery, Page, TaskInfo, TaskQuery};
use crate::history::point::Point;

/// The tasks of an engine that one caller may see: all, those of a user, or a single one. Any other
/// task gives the same answers as a missing one, also for the id of a checkpoint and in lists.
///
/// A view has no operation on the store as a whole, so a service can hand it to its users.
///
/// ```
/// use milepost::{Engine, ErrorKind, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// engine.start_task("diary", "ana")?;
/// let bob = engine.as_user("bob");
/// assert_eq!(bob.task("diary").unwrap_err().kind(), ErrorKind::NotFound);
/// bob.start_task("notes")?;
/// bob.start_task("letters")?;
/// assert_eq!(bob.tasks(&Default::default())?.items.len(), 2);
/// assert_eq!(bob.only("notes").tasks(&Default::default())?.items.len(), 1);
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct View {
    engine: Engine,
    user: Option<Arc<str>>,
    task: Option<Arc<str>>,
}

impl Engine {
    /// Returns the view of all tasks.
    pub fn view(&self) -> View {
        View { engine: self.clone(), user: None, task: None }
    }

    /// Returns the view of one user's tasks.
    pub fn as_user(&self, user: &str) -> View {
        View { user: Some(user.into()), ..self.view() }
    }
}

impl View {
    /// Returns the view of a single task of this view.
    #[must_use]
    pub fn only(&self, task: &str) -> Self {
        // Two different tasks have none in common. No task has an empty name.
        let task = if self.task.as_deref().is_none_or(|only| only == task) { task } else { "" };
        Self { task: Some(task.into()), ..self.clone() }
    }

    /// Returns the user whose tasks it shows, unless it shows those of all users.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns `true` if it shows all tasks of the store.
    pub fn shows_all(&self) -> bool {
        self.viewer().sees_all()
    }

    /// Starts a task of the user.
    ///
    /// # Errors
    ///
    /// As [`Engine::start_task`]. Ids are unique in the store. `Conflict`: another user's task has
    /// the id. `Invalid`: the view does not show the tasks of a single user, or not this task.
    pub fn start_task(&self, id: &str) -> Result<Task> {
        let Some(user) = self.user() else {
            let why = "a task belongs to a user, and the view has none: see `Engine::start_task`";
            return Err(Error::invalid(why));
        };
        self.may_start(id)?;
        self.engine.start_task(id, user)
    }

    /// Refuses the id of a task that the view would not show.
    pub(crate) fn may_start(&self, id: &str) -> Result<()> {
        match self.task.as_deref() {
            Some(only) if only != id => {
                Err(Error::invalid(format!("the view does not show a task `{id}`")))
            }
            _ => Ok(()),
        }
    }

    /// Returns a task: see [`Engine::task`].
    pub fn task(&self, id: &str) -> Result<Task> {
        let catalog = &self.engine.inner.catalog;
        Task::of(&self.engine, catalog.find_for(id, self.viewer())?)
    }

    /// Returns tasks: see [`Query::tasks`](crate::query::Query::tasks). If the view has a user, the
    /// query's `user` is ignored.
    pub fn tasks(&self, query: &TaskQuery) -> Result<Page<TaskInfo>> {
        let user = self.user().map(str::to_owned).or_else(|| query.user.clone());
        if let Some(only) = &self.task {
            if query.prefix.as_ref().is_some_and(|prefix| !only.starts_with(prefix)) {
                return Ok(Page { items: Vec::new(), next: None });
            }
            let items = match self.task(only) {
                Ok(task) if user.is_none_or(|user| task.user() == user) => vec![task.info()?],
                Ok(_) => Vec::new(),
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                Err(error) => return Err(error),
            };
            return Ok(Page { items, next: None });
        }
        let query = TaskQuery { user, ..query.clone() };
        self.engine.inner.catalog.tasks(&query)
    }

    /// Returns the point that an address names: see [`Engine::point`].
    pub fn point(&self, address: &str) -> Result<Point> {
        let catalog = &self.engine.inner.catalog;
        catalog.point(address, self.viewer())
    }

    /// Returns a checkpoint: see
    /// [`Query::checkpoint`](crate::query::Query::checkpoint).
    pub fn checkpoint(&self, id: &str) -> Result<Checkpoint> {
        let id = id.strip_prefix('@').unwrap_or(id);
        let catalog = &self.engine.inner.catalog;
        catalog.checkpoint_named(id, self.viewer())
    }

    /// Returns checkpoints: see
    /// [`Query::checkpoints`](crate::query::Query::checkpoints).
    pub fn checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>> {
        self.engine.inner.catalog.checkpoints(query, self.viewer())
    }

    /// Returns the state of a point: see [`Engine::state`].
    pub fn state<R: Reducer>(&self, reducer: &R, point: &Point) -> Result<R::State> {
        self.shown(point)?;
        self.engine.state(reducer, point)
    }

    /// Returns the encoded state of a point by a registered reducer: see
    /// [`Engine::encoded_state`].
    pub fn encoded_state(&self, reducer: &str, point: &Point) -> Result<Vec<u8>> {
        self.shown(point)?;
        self.engine.encoded_state(reducer, point)
    }

    /// Returns the built-in reducer's state of a point: see [`Engine::run_state`].
    pub fn run_state(&self, point: &Point) -> Result<RunState> {
        self.shown(point)?;
        self.engine.run_state(point)
    }

    /// Returns the reader of a state's sequences: see [`Engine::chunks`].
    pub fn chunks(&self) -> Arc<dyn Chunks> {
        self.engine.chunks()
    }

    /// Returns the event at a point: see [`Engine::event`].
    pub fn event(&self, point: &Point) -> Result<(Event, Hash)> {
        self.shown(point)?;
        self.engine.event(point)
    }

    /// Returns the chain hash before a point: see
    /// [`Integrity::hash_at`](crate::integrity::Integrity::hash_at).
    pub fn hash_at(&self, point: &Point) -> Result<Hash> {
        self.shown(point)?;
        self.engine.integrity().hash_at(point)
    }

    /// Opens a lineage at a point: see [`Engine::branch`].
    pub fn branch(&self, point: &Point, description: Option<&str>) -> Result<Lineage> {
        self.shown(point)?;
        self.engine.branch(point, description)
    }

    /// Opens a lineage at a point together with its first events: see [`Engine::branch_with`].
    pub fn branch_with(
        &self,
        point: &Point,
        description: Option<&str>,
        append: Append,
    ) -> Result<(Lineage, Appended)> {
        self.shown(point)?;
        self.engine.branch_with(point, description, append)
    }

    pub(crate) fn shown(&self, point: &Point) -> Result<()> {
        self.engine.inner.catalog.owned(point, self.viewer())
    }

    pub(crate) fn viewer(&self) -> Viewer<'_> {
        Viewer { user: self.user(), task: self.task.as_deref() }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }
}
