//! Operations of retention on the tasks of a view.

use milepost_codec::Result;

use super::pins::Pin;
use crate::handles::view::View;
use crate::history::lists::CheckpointQuery;
use crate::history::point::Point;

impl View {
    /// Returns the pins of a task: see [`Retention::pins`](super::Retention::pins).
    pub fn pins(&self, task: &str) -> Result<Vec<Pin>> {
        let task = self.task(task)?;
        self.engine().inner.catalog.pins(task.no())
    }

    /// Pins the checkpoint with this id: see [`Retention::pin`](super::Retention::pin).
    ///
    /// # Errors
    ///
    /// As [`Retention::pin`](super::Retention::pin) and [`View::checkpoint`].
    pub fn pin(&self, checkpoint: &str, reason: Option<&str>) -> Result<()> {
        self.engine().retention().pin(&self.checkpoint(checkpoint)?.id, reason)
    }

    /// Unpins the checkpoint with this id: see [`Retention::unpin`](super::Retention::unpin).
    ///
    /// # Errors
    ///
    /// As [`Retention::unpin`](super::Retention::unpin) and [`View::checkpoint`].
    pub fn unpin(&self, checkpoint: &str) -> Result<()> {
        self.engine().retention().unpin(&self.checkpoint(checkpoint)?.id)
    }

    /// Removes the checkpoint with this id: see [`Retention::unmark`](super::Retention::unmark).
    ///
    /// # Errors
    ///
    /// As [`Retention::unmark`](super::Retention::unmark) and [`View::checkpoint`].
    pub fn unmark(&self, checkpoint: &str) -> Result<()> {
        self.engine().retention().unmark(&[self.checkpoint(checkpoint)?.id])
    }

    /// Removes all checkpoints of a query that the view shows, except pinned ones, and returns
    /// their number: see [`Retention::unmark_all`](super::Retention::unmark_all).
    pub fn unmark_all(&self, query: &CheckpointQuery) -> Result<u64> {
        self.engine().retention().unmark_all_for(query, self.viewer())
    }

    /// Erases the body of the event at a point: see [`Retention::erase`](super::Retention::erase).
    pub fn erase(&self, point: &Point, reason: Option<&str>) -> Result<()> {
        self.shown(point)?;
        self.engine().retention().erase(point, reason)
    }

    /// Deletes a task: see [`Retention::delete_task`](super::Retention::delete_task).
    pub fn delete_task(&self, task: &str) -> Result<()> {
        self.engine().retention().delete_task_for(task, self.viewer())
    }
}
