//! Joining a task, after undoing an interrupted restore of it.

// tidy: one operation
use std::sync::Arc;

use milepost_codec::Result;

use crate::handles::engine::Engine;
use crate::handles::participant::Participant;
use crate::handles::participation::Participation;
use crate::handles::task::Task;

impl Engine {
    /// Adds a participant to a task until the result is dropped. Each checkpoint that is marked
    /// through a [`Task`] or a [`Run`](crate::run::Run), and each tool call that changes something,
    /// captures it first, and [`Engine::undo`] includes it. An interrupted restore in which it took
    /// part is undone first.
    ///
    /// # Errors
    ///
    /// - `Conflict`: a participant of the same name has joined the task.
    /// - Those of [`Engine::recover`], if a restore is pending.
    pub fn join(&self, task: &Task, participant: Arc<dyn Participant>) -> Result<Participation> {
        let joined = self.inner.participants.add(task, participant)?;
        if let Some(entry) = self.inner.catalog.pending(task.no())? {
            let pending = self.inner.catalog.pending_restore(task.no(), &entry)?;
            self.recover(&pending, &self.joined(task.no()))?;
        }
        Ok(joined)
    }
}
