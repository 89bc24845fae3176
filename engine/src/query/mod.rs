//! Queries: lists of tasks and checkpoints, and searches for the event that changed a state.

pub(crate) mod bisect;
pub(crate) mod blame;

pub use self::bisect::{Bisect, Verdict};
pub use self::blame::{Blame, Blamed};
pub use crate::handles::lineage::LineageInfo;
pub use crate::history::address::AddressTarget;
pub use crate::history::lists::{CheckpointOrder, CheckpointQuery, Page, TaskInfo, TaskQuery};
pub use crate::history::stats::TaskStats;

use milepost_codec::Result;

use crate::handles::engine::Engine;
use crate::handles::view::View;
use crate::history::catalog::Viewer;
use crate::history::checkpoint::Checkpoint;
use crate::history::point::Point;

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
    /// Returns tasks, newest first.
    ///
    /// # Errors
    ///
    /// `Invalid`: the cursor is not one of a page of this list.
    pub fn tasks(&self, query: &TaskQuery) -> Result<Page<TaskInfo>> {
        self.engine.inner.catalog.tasks(query)
    }

    /// Returns checkpoints, newest first, in the order they were committed.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Invalid`: the cursor is not one of a page of this list.
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
    /// Finds the events that set a part of the state of a point: see [`Query::blame`].
    ///
    /// # Errors
    ///
    /// As [`Query::blame`].
    pub fn blame(&self, point: &Point, pointer: &str, history: bool) -> Result<Blamed> {
        self.shown(point)?;
        self.engine().query().blame(point, pointer, history)
    }

    /// Returns the sizes of a user's tasks: see [`Query::task_stats`]. Empty if the view shows the
    /// tasks of another user.
    ///
    /// # Errors
    ///
    /// As [`Query::task_stats`].
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
