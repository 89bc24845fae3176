//! Lists and lookups: tasks, checkpoints, pending restores, statistics, points.

use milepost_codec::Result;

use crate::handles::engine::Engine;
use crate::history::address::Address;
use crate::history::checkpoint::Checkpoint;
use crate::history::lists::{CheckpointQuery, Page, TaskInfo, TaskQuery};
use crate::history::pending::{PendingRestore, RestoreRecord};
use crate::history::point::Point;
use crate::history::stats::TaskStats;

impl Engine {
    /// Returns tasks, newest first.
    ///
    /// # Errors
    ///
    /// `Invalid`: the cursor is not one of a page of this list.
    pub fn tasks(&self, query: &TaskQuery) -> Result<Page<TaskInfo>> {
        self.inner.catalog.tasks(query)
    }

    /// Returns checkpoints, newest first, in the order they were committed.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Invalid`: the cursor is not one of a page of this list.
    pub fn checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>> {
        self.inner.catalog.checkpoints(query, None)
    }

    /// Returns the restores that began and have not ended, because the process died or another
    /// program changed the files to restore: see [`Engine::recover`].
    ///
    /// # Errors
    ///
    /// `Corrupt`: the index or a control log cannot be read. `Unavailable`: the store is closed.
    pub fn pending_restores(&self) -> Result<Vec<PendingRestore>> {
        self.inner.catalog.pending_restores()
    }

    /// Returns the restores of a task that restored more than the log, oldest first.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Corrupt`: its control log cannot be read.
    pub fn restores_of(&self, task: &str) -> Result<Vec<RestoreRecord>> {
        self.inner.catalog.restores_of(self.task_no(task)?)
    }

    /// Returns the size of each task, or of each task of one user, in the order they were started.
    /// Reads no event.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed.
    pub fn task_stats(&self, user: Option<&str>) -> Result<Vec<TaskStats>> {
        self.inner.catalog.task_stats(user)
    }

    /// Returns the point that an address names.
    ///
    /// # Errors
    ///
    /// As [`Engine::point`].
    pub fn resolve(&self, address: &Address) -> Result<Point> {
        self.inner.catalog.resolve(address, None)
    }
}
