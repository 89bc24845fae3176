//! Participants that take part in what a task does, from when they join until they leave.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost_codec::{Body, Error, ErrorKind, Result, TaskNo};
use parking_lot::Mutex;

use crate::handles::engine::Engine;
use crate::handles::participant::{CaptureContext, Participant};
use crate::handles::task::Task;

/// Those that joined, by task.
#[derive(Default)]
pub(crate) struct Participants {
    /// How many there are: most often none, and then nobody has to be looked for.
    count: AtomicUsize,
    of: Mutex<HashMap<TaskNo, Vec<Arc<dyn Participant>>>>,
}

/// Holds a participant to a task: it leaves when this is dropped.
#[must_use = "the participant leaves when this is dropped"]
pub struct Participation {
    all: Arc<Participants>,
    task: TaskNo,
    participant: Arc<dyn Participant>,
}

impl std::fmt::Debug for Participation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Participation")
            .field("task", &self.task)
            .field("participant", &self.participant.name())
            .finish_non_exhaustive()
    }
}

impl Drop for Participation {
    fn drop(&mut self) {
        let mut of = self.all.of.lock();
        if let Some(there) = of.get_mut(&self.task) {
            let before = there.len();
            there.retain(|one| !Arc::ptr_eq(one, &self.participant));
            let left = before - there.len();
            self.all.count.fetch_sub(left, Ordering::Release);
            if there.is_empty() {
                of.remove(&self.task);
            }
        }
    }
}

impl Participants {
    /// Adds a participant to a task until the result is dropped.
    ///
    /// # Errors
    ///
    /// `Conflict` if one of its name has joined the task.
    pub(crate) fn add(
        self: &Arc<Self>,
        task: &Task,
        participant: Arc<dyn Participant>,
    ) -> Result<Participation> {
        let mut of = self.of.lock();
        let there = of.entry(task.no()).or_default();
        if there.iter().any(|one| one.name() == participant.name()) {
            let message = format!("{} has joined task `{}` already", participant.name(), task.id());
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        there.push(Arc::clone(&participant));
        self.count.fetch_add(1, Ordering::Release);
        Ok(Participation { all: Arc::clone(self), task: task.no(), participant })
    }

    /// Those of a task, in the order in which they joined.
    fn of(&self, task: TaskNo) -> Vec<Arc<dyn Participant>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        self.of.lock().get(&task).cloned().unwrap_or_default()
    }
}

/// Events that say what was captured.
#[derive(Default)]
pub(crate) struct Captured {
    pub(crate) bodies: Vec<Body>,
    /// No compaction takes the chunks that they name while this is there.
    _held: Option<Box<dyn std::any::Any + Send>>,
}

impl Engine {
    /// The participants of a task.
    pub(crate) fn joined(&self, task: TaskNo) -> Vec<Arc<dyn Participant>> {
        self.inner.participants.of(task)
    }

    /// Captures what takes part in a task and is asked, by its name. Gives the events that say so,
    /// and what keeps the chunks that they name until they are appended.
    pub(crate) fn captured(&self, task: &Task, asked: impl Fn(&str) -> bool) -> Result<Captured> {
        let mut joined = self.joined(task.no());
        joined.retain(|participant| asked(participant.name()));
        if !joined.is_empty() {
            self.check_writable()?;
        }
        let mut bodies = Vec::new();
        let held = match joined.is_empty() {
            true => None,
            false => self.inner.catalog.log().storing(),
        };
        for participant in joined {
            bodies.extend(participant.capture(&CaptureContext {
                engine: self,
                task,
                before: None,
            })?);
        }
        Ok(Captured { bodies, _held: held })
    }
}
