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

use crate::handles::view::View;
use crate::history::catalog::Viewer;
use crate::history::checkpoint::Checkpoint;
use crate::history::state::state_at;
use crate::history::summary::TaskSummary;

/// Lists of tasks and checkpoints, and searches: see [`View::query`].
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    pub(super) view: &'a View,
}

impl View {
    /// Returns the operations that list tasks and checkpoints, or search for the event that changed
    /// a state. They change nothing.
    pub fn query(&self) -> Query<'_> {
        Query { view: self }
    }
}

impl Query<'_> {
    /// Returns tasks, newest first, or those whose id begins with a prefix, by id.
    ///
    /// # Errors
    ///
    /// `Invalid`: the cursor is not one of a page of this list.
    pub fn tasks(&self, query: &TaskQuery) -> Result<Page<TaskInfo>> {
        let view = self.view;
        let user = view.user().map(str::to_owned).or_else(|| query.user.clone());
        if let Some(only) = view.viewer().task {
            if query.prefix.as_ref().is_some_and(|prefix| !only.starts_with(prefix)) {
                return Ok(Page { items: Vec::new(), next: None });
            }
            let items = match view.task(only) {
                Ok(task) if user.is_none_or(|user| task.user() == user) => vec![task.info()?],
                Ok(_) => Vec::new(),
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                Err(error) => return Err(error),
            };
            return Ok(Page { items, next: None });
        }
        view.inner.catalog.tasks(&TaskQuery { user, ..query.clone() })
    }

    /// Returns summaries of tasks, newest task first. Reads the events since the last summary of
    /// each lineage: none, if nothing was appended. A task that is deleted during the call is left
    /// out, and one whose events cannot be read says so.
    ///
    /// # Errors
    ///
    /// As [`Query::tasks`], and errors of reading events.
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
        self.summary_at_head(self.view.task(task)?.info()?)
    }

    /// Returns checkpoints, newest first, in the order they were committed, or in the order that
    /// the query asks for.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Invalid`: the cursor is not one of a page of this list,
    /// or a query by alias has no task.
    pub fn checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>> {
        self.view.inner.catalog.checkpoints(query, self.view.viewer())
    }

    /// Returns a checkpoint, given its id or at least the first 8 digits, or an alias.
    ///
    /// # Errors
    ///
    /// `NotFound`: no checkpoint has the id or alias. `Invalid`: several have.
    pub fn checkpoint(&self, id: &str) -> Result<Checkpoint> {
        let id = id.strip_prefix('@').unwrap_or(id);
        self.view.inner.catalog.checkpoint_named(id, self.view.viewer())
    }

    /// Returns the size of each task, or of each task of one user, in the order they were started.
    /// Empty if the view shows the tasks of another user. Reads no event.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn task_stats(&self, user: Option<&str>) -> Result<Vec<TaskStats>> {
        let Viewer { user: own, task: only } = self.view.viewer();
        if own.is_some_and(|own| user.is_some_and(|user| own != user)) {
            return Ok(Vec::new());
        }
        let mut tasks = self.view.inner.catalog.task_stats(user.or(own))?;
        tasks.retain(|stats| only.is_none_or(|only| stats.task == only));
        Ok(tasks)
    }

    /// Returns the summary of a task, or the reason why its events cannot be read; `None` if it was
    /// deleted.
    fn summary_or_reason(&self, task: TaskInfo) -> Result<Option<TaskSummary>> {
        match self.summary_at_head(task.clone()) {
            Ok(summary) => Ok(Some(summary)),
            Err(error) if error.kind() == ErrorKind::Unavailable => Err(error),
            Err(_) if self.view.inner.catalog.task(task.no).is_err() => Ok(None),
            Err(error) => {
                let unreadable = Some(error.to_string());
                Ok(Some(TaskSummary { task, lineages: Vec::new(), unreadable }))
            }
        }
    }

    fn summary_at_head(&self, task: TaskInfo) -> Result<TaskSummary> {
        let catalog = &self.view.catalog();
        let outcome = |lineage, head| {
            let state = state_at(catalog, &RunReducer, task.no, lineage, head)?;
            let state = json!({"variables": state.variables.to_value()});
            Ok(Outcome::of(None, &state, None).value)
        };
        let lineages = catalog.summaries(task.no, &outcome)?;
        Ok(TaskSummary { task, lineages, unreadable: None })
    }
}
