//! Pending and past restores, and the participants of a task.

use std::sync::Arc;

use milepost_codec::{Error, ErrorKind, RestoreOutcome, Result};

use crate::cancel::Cancel;
use crate::handles::engine::Engine;
use crate::handles::participant::Participant;
use crate::handles::participation::Participation;
use crate::handles::task::Task;
use crate::history::pending::{PendingRestore, RestoreRecord};

/// Pending and past restores, and the participants of tasks: see [`Engine::restores`].
#[derive(Debug, Clone, Copy)]
pub struct Restores<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// Returns the operations on pending and past restores, and on the participants of tasks.
    /// [`View::restore`](crate::View::restore) and [`View::undo`](crate::View::undo) make new
    /// restores.
    pub fn restores(&self) -> Restores<'_> {
        Restores { engine: self }
    }
}

impl Restores<'_> {
    /// Returns the restores that began and have not ended, because the process died or another
    /// program changed the files to restore: see [`Restores::recover`]. A restore that runs on a
    /// thread of this process is not pending.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the index or a control log cannot be read. `Unavailable`: the store is closed.
    pub fn pending(&self) -> Result<Vec<PendingRestore>> {
        let mut pending = self.engine.inner.catalog.pending_restores()?;
        pending.retain(|pending| !self.engine.inner.controls.is_restoring(pending.no));
        Ok(pending)
    }

    /// Fails for a restore that a thread of this process is doing, and for one that has ended.
    fn check_interrupted(&self, pending: &PendingRestore) -> Result<()> {
        let (inner, restore) = (&self.engine.inner, pending.begun.restore);
        if inner.controls.is_restoring(pending.no) {
            let text = format!("restore {restore} is under way: wait until it has ended");
            return Err(Error::new(ErrorKind::Unavailable, text));
        }
        match inner.catalog.pending(pending.no)? {
            Some(now) if now.restore == restore => Ok(()),
            _ => Err(Error::not_found(format!("restore {restore} is not pending"))),
        }
    }

    /// Returns the restores of a task that restored more than the log, oldest first.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Corrupt`: its control log cannot be read.
    pub fn of_task(&self, task: &str) -> Result<Vec<RestoreRecord>> {
        self.engine.inner.catalog.restores_of(self.engine.task_no(task)?)
    }

    /// Ends a pending restore by undoing the changes of its participants.
    ///
    /// # Errors
    ///
    /// - `Unavailable`: a participant is missing, or a thread of this process is doing the restore.
    /// - `NotFound`: the restore is not pending.
    /// - Errors of the participants. The restore then stays pending.
    pub fn recover(&self, pending: &PendingRestore, with: &[Arc<dyn Participant>]) -> Result<()> {
        self.engine.check_writable()?;
        self.check_interrupted(pending)?;
        let reason = "recovered after an interruption";
        self.engine.with_cancel(&Cancel::NEVER).abort(pending, with, reason)
    }

    /// Ends a restore that cannot be undone any more. Its changes outside of the log stay.
    ///
    /// # Errors
    ///
    /// `NotFound`: the restore is not pending. `Unavailable`: a thread of this process is doing it.
    pub fn abandon(&self, pending: &PendingRestore, reason: &str) -> Result<()> {
        self.check_interrupted(pending)?;
        self.engine.end(pending, RestoreOutcome::GivenUp, reason)
    }

    /// Adds a participant to a task until the result is dropped. Each checkpoint of the task, and
    /// each append [after a capture](crate::Append::after_capture), captures it first, and an
    /// [undo](crate::View::undo) includes it. An interrupted restore in which it took part is
    /// undone first.
    ///
    /// # Errors
    ///
    /// - `Conflict`: a participant of the same name has joined the task.
    /// - Errors of [`Restores::recover`], if a restore is pending.
    pub fn join(&self, task: &Task, participant: Arc<dyn Participant>) -> Result<Participation> {
        let joined = self.engine.inner.participants.add(task, participant)?;
        if let Some(entry) = self.engine.inner.catalog.pending(task.no())? {
            let pending = self.engine.inner.catalog.pending_restore(task.no(), &entry)?;
            self.recover(&pending, &self.engine.joined(task.no()))?;
        }
        Ok(joined)
    }
}
