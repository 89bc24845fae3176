//! Queries: lists of tasks and checkpoints, and searches for the event that changed a state.

pub(crate) mod bisect;
pub(crate) mod blame;
mod captures;
mod versions;

pub use self::bisect::{Bisect, Verdict};
pub use self::blame::{Blame, Blamed};
pub use self::captures::CaptureAt;
pub use self::versions::TaskVersion;
pub use crate::handles::lineage::LineageInfo;
pub use crate::history::address::AddressTarget;
pub use crate::history::lists::{CheckpointOrder, CheckpointQuery, Page, TaskInfo, TaskQuery};
pub use crate::history::stats::TaskStats;
pub use milepost_replay::{Condition, Operator};

use milepost_codec::{ErrorKind, Result};
use milepost_reading::Outcome;
use milepost_replay::RunReducer;
use serde_json::json;

use crate::handles::engine::Engine;
use crate::handles::view::View;
use crate::history::catalog::Viewer;
use crate::history::checkpoint::Checkpoint;
use crate::history::point::Point;
use crate::history::state::state_at;
use crate::history::summary::TaskSummary;

/// Lists of tasks and checkpoints, and searches: see [`Engine::query`].
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// Returns the operations that list tasks and checkpoints, or search for the event that changed
    /// a state. They change nothing.
    pub fn query(&self) -> Query<'_> {
        Query { engine: self }
    }
}

impl Query<'_> {
    /// Returns tasks, newest first, or those whose id begins with a prefix, by id.
    ///
    /// # Errors
    ///
    /// `Invalid`: the cursor is not one of a page of this list.
    pub fn tasks(&self, query: &TaskQuery) -> Result<Page<TaskInfo>> {
        self.engine.inner.catalog.tasks(query)
    }

    /// Returns summaries of tasks, newest task first. Reads the events since the last summary of
    /// each lineage: none, if nothing was appended.
    ///
    /// # Errors
    ///
    /// As [`Query::tasks`], and errors of reading events.
    pub fn summaries(&self, query: &TaskQuery) -> Result<Page<TaskSummary>> {
        self.engine.view().summaries(query)
    }

    /// Returns checkpoints, newest first, in the order they were committed, or in the order that
    /// the query asks for.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Invalid`: the cursor is not one of a page of this list,
    /// or a query by alias has no task.
    pub fn checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>> {
        self.engine.inner.catalog.checkpoints(query, Viewer::ALL)
    }

    /// Returns a checkpoint, given its id or at least the first 8 digits, or an alias.
    ///
    /// # Errors
    ///
    /// `NotFound`: no checkpoint has the id or alias. `Invalid`: several have.
    pub fn checkpoint(&self, id: &str) -> Result<Checkpoint> {
        self.engine.inner.catalog.checkpoint_named(id.strip_prefix('@').unwrap_or(id), Viewer::ALL)
    }

    /// Returns the size of each task, or of each task of one user, in the order they were started.
    /// Reads no event.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn task_stats(&self, user: Option<&str>) -> Result<Vec<TaskStats>> {
        self.engine.inner.catalog.task_stats(user)
    }
}

impl View {
    /// Returns summaries of tasks: see [`Query::summaries`]. A task that is deleted during
    /// the call is left out, and one whose events cannot be read says so.
    pub fn summaries(&self, query: &TaskQuery) -> Result<Page<TaskSummary>> {
        let page = self.tasks(query)?;
        let mut items = Vec::with_capacity(page.items.len());
        for task in page.items {
            items.extend(self.summary_or_reason(task)?);
        }
        Ok(Page { items, next: page.next })
    }

    /// Returns the summary of a task.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. Others as [`Query::summaries`].
    pub fn summary(&self, task: &str) -> Result<TaskSummary> {
        self.summary_of(self.task(task)?.info()?)
    }

    /// Returns the summary of a task, or the reason why its events cannot be read; `None` if it was
    /// deleted.
    fn summary_or_reason(&self, task: TaskInfo) -> Result<Option<TaskSummary>> {
        match self.summary_of(task.clone()) {
            Ok(summary) => Ok(Some(summary)),
            Err(error) if error.kind() == ErrorKind::Unavailable => Err(error),
            Err(_) if self.engine().inner.catalog.task(task.no).is_err() => Ok(None),
            Err(error) => {
                let unreadable = Some(error.to_string());
                Ok(Some(TaskSummary { task, lineages: Vec::new(), unreadable }))
            }
        }
    }

    fn summary_of(&self, task: TaskInfo) -> Result<TaskSummary> {
        let catalog = &self.engine().catalog();
        let outcome = |lineage, head| {
            let state = state_at(catalog, &RunReducer, task.no, lineage, head)?;
            let state = json!({"variables": state.variables.to_value()});
            Ok(Outcome::of(None, &state, None).value)
        };
        let lineages = catalog.summaries(task.no, &outcome)?;
        Ok(TaskSummary { task, lineages, unreadable: None })
    }

    /// Finds the events that set a part of the state of a point: see [`Query::blame`].
    pub fn blame(&self, point: &Point, pointer: &str, history: bool) -> Result<Blamed> {
        self.shown(point)?;
        self.engine().query().blame(point, pointer, history)
    }

    /// Searches the history of a point for the first event after which a condition holds: see
    /// [`Bisect::run_or_scan`].
    ///
    /// # Errors
    ///
    /// `Invalid`: the condition holds nowhere before the point, or holds at the good one. Others as
    /// [`Query::bisect`].
    pub fn bisect(
        &self,
        good: Option<&Point>,
        bad: &Point,
        condition: &Condition,
    ) -> Result<Bisect> {
        good.into_iter().chain([bad]).try_for_each(|point| self.shown(point))?;
        let engine = self.engine();
        let chunks = engine.chunks();
        let mut search = engine.query().bisect(good, bad)?;
        search.run_or_scan(engine, |state| condition.holds(state, chunks.as_ref()))?;
        Ok(search)
    }

    /// Returns the sizes of a user's tasks: see [`Query::task_stats`]. Empty if the view shows the
    /// tasks of another user.
    pub fn task_stats(&self, user: &str) -> Result<Vec<TaskStats>> {
        let viewer = self.viewer();
        if viewer.user.is_some_and(|own| own != user) {
            return Ok(Vec::new());
        }
        let mut tasks = self.engine().query().task_stats(Some(user))?;
        tasks.retain(|stats| viewer.task.is_none_or(|only| stats.task == only));
        Ok(tasks)
    }
}
