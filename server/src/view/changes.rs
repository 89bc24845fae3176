//! What whoever asks may change: a user their own tasks, an admin all of them and the store.

use milepost::{
    ChangeLimits, Changes, Engine, Error, ErrorKind, Json, Point, Result, RunState, Scope, Task,
    diff_states_up_to,
};

use super::View;
use crate::error::ApiError;
use crate::forms::PinForm;

/// How many changes of the state a plan has, at most.
const PLANNED: usize = 1000;

/// How many changes the difference of two states has, at most.
pub(crate) const CHANGES: usize = 10_000;

/// About how many bytes changes have together, at most.
const BYTES: usize = 16 << 20;

/// Where a restore would lead.
pub(crate) struct RestorePlan {
    /// Where the task stands now.
    pub(crate) from: (Point, milepost::Hash),
    /// Where it would go on.
    pub(crate) to: (Point, milepost::Hash),
    /// How its state would change.
    pub(crate) changes: Changes,
}

impl View<'_> {
    /// The whole engine. `wanted`: what a user is told who may not have it.
    pub(crate) fn whole(&self, wanted: &'static str) -> std::result::Result<&Engine, ApiError> {
        match (&self.scoped, self.only) {
            (None, None) => Ok(self.engine),
            _ => Err(ApiError::Forbidden(wanted)),
        }
    }

    /// Starts a task. A user starts their own, whatever `user` says.
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
            None => self.engine.delete_task(id),
        }
    }

    /// Takes a checkpoint's mark away.
    pub(crate) fn remove_checkpoint(&self, id: &str) -> Result<()> {
        let checkpoint = self.checkpoint(id)?;
        self.engine.remove_checkpoints(&[checkpoint.id])
    }

    /// Keeps a checkpoint whatever a cleanup is asked for.
    pub(crate) fn pin(&self, id: &str, reason: Option<&str>) -> Result<PinForm> {
        let checkpoint = self.checkpoint(id)?;
        self.engine.pin(&checkpoint.id, reason)?;
        let pins = self.engine.pins(&checkpoint.task)?;
        let pin = pins.into_iter().find(|pin| pin.checkpoint == checkpoint.id);
        let gone =
            || Error::not_found(format!("the pin of {} was taken back meanwhile", checkpoint.id));
        Ok(PinForm::of(pin.ok_or_else(gone)?, checkpoint.clone()))
    }

    pub(crate) fn unpin(&self, id: &str) -> Result<()> {
        self.engine.unpin(&self.checkpoint(id)?.id)
    }

    /// Erases what the event at a point says that was seen.
    pub(crate) fn erase(&self, point: &Point, reason: Option<&str>) -> Result<()> {
        self.engine.erase(point, reason)
    }

    /// What is different between the states of two points that were seen, so many changes at most.
    pub(crate) fn changes(
        &self,
        [before, after]: &[RunState; 2],
        most: usize,
    ) -> std::result::Result<Changes, ApiError> {
        let most = ChangeLimits { changes: most, bytes: BYTES };
        let changes = diff_states_up_to(before, after, self.engine.chunks().as_ref(), most);
        changes.map_err(|error| match error.kind() {
            ErrorKind::Invalid => ApiError::TooMuch(
                "a value is too large to be compared, or shown: read both states, `?pointer=` by `?pointer=`",
            ),
            _ => error.into(),
        })
    }

    /// Where the task of a point that was seen is now.
    pub(crate) fn present(&self, to: &Point) -> Result<Point> {
        let task = self.task(&to.task)?;
        task.point(task.head()?.next)
    }

    /// What a restore to a point that was seen would do, with the state or without.
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
        let hashes = (self.engine.hash_at(&from)?, self.engine.hash_at(to)?);
        Ok(RestorePlan { from: (from, hashes.0), to: (to.clone(), hashes.1), changes })
    }

    pub(crate) fn restore(&self, to: &Point, description: Option<&str>) -> Result<Task> {
        match &self.scoped {
            Some(scoped) => scoped.restore(to, description),
            None => self.engine.restore(to, description),
        }
    }

    pub(crate) fn undo(&self, task: &str) -> Result<Task> {
        if !self.is_for(task) {
            return self.blind().undo(task);
        }
        match &self.scoped {
            Some(scoped) => scoped.undo(task),
            None => self.engine.undo(task),
        }
    }
}
