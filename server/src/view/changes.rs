//! Changes through a view: a user changes their own tasks, an admin all tasks and the store.

use milepost::state::{ChangeLimits, Changes, diff_states_up_to};
use milepost::{Engine, Error, ErrorKind, Json, Point, Result, RunState, Scope, Task};

use super::View;
use crate::error::ApiError;
use crate::forms::PinForm;

/// The maximum number of state changes of a plan.
const PLANNED: usize = 1000;

/// The maximum number of differences of two states.
pub(crate) const CHANGES: usize = 10_000;

/// The approximate maximum size of changes, in bytes.
const BYTES: usize = 16 << 20;

/// The effects of a restore on a task and its state.
pub(crate) struct RestorePlan {
    /// The current point of the task.
    pub(crate) from: (Point, milepost::Hash),
    /// The point to restore.
    pub(crate) to: (Point, milepost::Hash),
    /// The changes of the state.
    pub(crate) changes: Changes,
}

impl View<'_> {
    /// Returns the whole engine for admins. `wanted`: the error text for others.
    pub(crate) fn whole(&self, wanted: &'static str) -> std::result::Result<&Engine, ApiError> {
        match (&self.scoped, self.only) {
            (None, None) => Ok(self.engine),
            _ => Err(ApiError::Forbidden(wanted)),
        }
    }

    /// Starts a task. For a user who is no admin, `user` is ignored.
    pub(crate) fn start_task(&self, id: &str, user: &str, initial: Option<Json>) -> Result<Task> {
        if !self.is_for(id) {
            return Err(Error::invalid("the token is for another task"));
        }
        match &self.scoped {
            Some(scoped) => scoped.start_task_from(id, initial),
            None => self.engine.start_task_from(id, user, initial),
        }
    }

    pub(crate) fn delete_task(&self, id: &str) -> Result<()> {
        if !self.is_for(id) {
            return self.blind().delete_task(id);
        }
        match &self.scoped {
            Some(scoped) => scoped.delete_task(id),
            None => self.engine.retention().delete_task(id),
        }
    }

    /// Removes a checkpoint's mark.
    pub(crate) fn remove_checkpoint(&self, id: &str) -> Result<()> {
        let checkpoint = self.checkpoint(id)?;
        self.engine.retention().unmark(&[checkpoint.id])
    }

    /// Pins a checkpoint.
    pub(crate) fn pin(&self, id: &str, reason: Option<&str>) -> Result<PinForm> {
        let checkpoint = self.checkpoint(id)?;
        self.engine.retention().pin(&checkpoint.id, reason)?;
        let pins = self.engine.retention().pins(&checkpoint.task)?;
        let pin = pins.into_iter().find(|pin| pin.checkpoint == checkpoint.id);
        let gone = || {
            Error::not_found(format!("the pin of {} was removed by another command", checkpoint.id))
        };
        Ok(PinForm::of(pin.ok_or_else(gone)?, checkpoint.clone()))
    }

    pub(crate) fn unpin(&self, id: &str) -> Result<()> {
        self.engine.retention().unpin(&self.checkpoint(id)?.id)
    }

    /// Erases the body of the event at a point of a visible task.
    pub(crate) fn erase(&self, point: &Point, reason: Option<&str>) -> Result<()> {
        self.engine.retention().erase(point, reason)
    }

    /// Returns at most `most` differences between two states.
    pub(crate) fn changes(
        &self,
        [before, after]: &[RunState; 2],
        most: usize,
    ) -> std::result::Result<Changes, ApiError> {
        let most = ChangeLimits { changes: most, bytes: BYTES };
        let changes = diff_states_up_to(before, after, self.engine.chunks().as_ref(), most);
        changes.map_err(|error| match error.kind() {
            ErrorKind::Invalid => ApiError::TooMuch(
                "a value is too large to be compared, or shown: read both states, `?pointer=` by \
                 `?pointer=`",
            ),
            _ => error.into(),
        })
    }

    /// Returns the current point of a task.
    pub(crate) fn present(&self, to: &Point) -> Result<Point> {
        let task = self.task(&to.task)?;
        task.point(task.head()?.next)
    }

    /// Returns the effects of a restore to a point of a visible task.
    pub(crate) fn plan_restore(
        &self,
        to: &Point,
        scope: Scope,
    ) -> std::result::Result<RestorePlan, ApiError> {
        let from = self.present(to)?;
        let changes = match scope {
            Scope::Files => Changes::default(),
            Scope::State | Scope::All => {
                self.changes(&[self.run_state(&from)?, self.run_state(to)?], PLANNED)?
            }
        };
        let hashes =
            (self.engine.integrity().hash_at(&from)?, self.engine.integrity().hash_at(to)?);
        Ok(RestorePlan { from: (from, hashes.0), to: (to.clone(), hashes.1), changes })
    }

    pub(crate) fn restore(&self, to: &Point, description: Option<&str>) -> Result<Task> {
        let restore = match &self.scoped {
            Some(scoped) => scoped.restore(to),
            None => self.engine.restore(to),
        };
        match description {
            Some(description) => restore.description(description).run(),
            None => restore.run(),
        }
    }

    pub(crate) fn undo(&self, task: &str) -> Result<Task> {
        if !self.is_for(task) {
            return self.blind().undo(task).run();
        }
        match &self.scoped {
            Some(scoped) => scoped.undo(task).run(),
            None => self.engine.undo(task).run(),
        }
    }
}
