//! Participants that have joined a task, until they leave.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost_codec::{Body, Error, ErrorKind, Result, TaskNo};
use parking_lot::Mutex;

use crate::handles::engine::Engine;
use crate::handles::participant::{CaptureContext, Participant};
use crate::handles::task::Task;

/// Joined participants, by task.
#[derive(Default)]
pub(crate) struct Participants {
    /// Their number. It is mostly 0, and then no lookup is needed.
    count: AtomicUsize,
    of: Mutex<HashMap<TaskNo, Vec<Arc<dyn Participant>>>>,
}

/// Membership of a participant in a task; it leaves when this is dropped.
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
    /// `Conflict`: a participant of the same name has joined the task.
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

    /// Returns the participants of a task, in the order in which they joined.
    fn of(&self, task: TaskNo) -> Vec<Arc<dyn Participant>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        self.of.lock().get(&task).map_or(Vec::new(), Vec::clone)
    }
}

/// Events that record captures.
#[derive(Default)]
pub(crate) struct Captured {
    pub(crate) bodies: Vec<Body>,
    /// Protects the chunks of the events from compaction.
    _held: Option<Box<dyn std::any::Any + Send>>,
}

impl Engine {
    /// Returns the participants of a task.
    pub(crate) fn joined(&self, task: TaskNo) -> Vec<Arc<dyn Participant>> {
        self.inner.participants.of(task)
    }

    /// Captures with the participants of a task whose names `asked` accepts. Returns the events of
    /// the captures, and a hold on their chunks until the events are appended.
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
