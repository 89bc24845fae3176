//! View of the tasks that one caller may see.

use std::sync::Arc;

use milepost_codec::{Error, Result, TaskNo};

use crate::cancel::Cancel;
use crate::context::Context;
use crate::handles::engine::Engine;
use crate::handles::inner::Inner;
use crate::handles::task::Task;
use crate::history::address::Address;
use crate::history::catalog::Viewer;
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
/// assert_eq!(bob.query().tasks(&Default::default())?.items.len(), 2);
/// assert_eq!(bob.only("notes").query().tasks(&Default::default())?.items.len(), 1);
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Clone)]
pub struct View {
    pub(crate) inner: Arc<Inner>,
    pub(super) context: Option<Arc<Context>>,
    pub(crate) cancel: Cancel,
    user: Option<Arc<str>>,
    task: Option<Arc<str>>,
}

impl View {
    /// Creates the view of all tasks of an open store.
    pub(super) fn of_all(inner: Arc<Inner>) -> Self {
        Self { inner, context: None, cancel: Cancel::NEVER, user: None, task: None }
    }

    /// Returns the view of one user's tasks, of all tasks.
    pub(super) fn of_user(&self, user: &str) -> Self {
        Self { user: Some(user.into()), ..self.clone() }
    }

    /// Returns the view of the same tasks for a caller.
    pub(super) fn with(&self, context: Option<Arc<Context>>, cancel: &Cancel) -> Self {
        Self { context, cancel: cancel.clone(), ..self.clone() }
    }

    /// Returns the engine, for the same caller.
    pub(crate) fn engine(&self) -> Engine {
        Engine::of(Self { user: None, task: None, ..self.clone() })
    }

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
        self.engine().start_task(id, user)
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

    /// Returns a task, on its active lineage.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no task of this id.
    pub fn task(&self, id: &str) -> Result<Task> {
        Task::of(&self.engine(), self.task_no(id)?)
    }

    pub(crate) fn task_no(&self, id: &str) -> Result<TaskNo> {
        self.inner.catalog.find_for(id, self.viewer())
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        self.inner.catalog.log().check_writable()
    }

    /// Returns the point that an address names.
    ///
    /// # Errors
    ///
    /// `Invalid`: it is not an address, several checkpoint ids begin so, or the offset is past the
    /// head. `NotFound`: the task, lineage, label or checkpoint does not exist.
    pub fn point(&self, address: &str) -> Result<Point> {
        self.inner.catalog.point(address, self.viewer())
    }

    /// Returns the point that a parsed address names.
    ///
    /// # Errors
    ///
    /// As [`View::point`].
    pub fn resolve(&self, address: &Address) -> Result<Point> {
        self.inner.catalog.resolve(address, self.viewer())
    }

    /// Fails with `NotFound` if the view does not show the task of a point.
    pub(crate) fn shown(&self, point: &Point) -> Result<()> {
        self.inner.catalog.owned(point, self.viewer())
    }

    pub(crate) fn viewer(&self) -> Viewer<'_> {
        Viewer { user: self.user(), task: self.task.as_deref() }
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("store", &self.inner.store)
            .field("user", &self.user)
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}
