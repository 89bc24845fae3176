//! Participants that take part in what a task does, from when they join until they leave.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost_codec::{Body, Error, ErrorKind, Result, TaskNo};
use parking_lot::Mutex;

use crate::engine::Engine;
use crate::participant::{Capturing, Participant};
use crate::task::Task;

/// Those that joined, by task.
#[derive(Default)]
pub(crate) struct Participants {
    /// How many there are: most often none, and then nobody has to be looked for.
    count: AtomicUsize,
    of: Mutex<HashMap<TaskNo, Vec<Arc<dyn Participant>>>>,
}

/// Holds a participant to a task: it leaves when this is dropped.
#[must_use = "the participant leaves when this is dropped"]
pub struct Joined {
    all: Arc<Participants>,
    task: TaskNo,
    participant: Arc<dyn Participant>,
}

impl std::fmt::Debug for Joined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Joined")
            .field("task", &self.task)
            .field("participant", &self.participant.name())
            .finish_non_exhaustive()
    }
}

impl Drop for Joined {
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
    /// Has a participant take part in a task until the result is dropped: each checkpoint that is marked
    /// through a [`Task`] or a [`Run`](crate::Run), and each tool call that changes something, captures it in
    /// front, and [`Engine::undo`] takes it along. A restore of the task that was cut short, and in which it
    /// took part, is taken back first.
    ///
    /// # Errors
    ///
    /// `Conflict` where one of its name has joined the task; as [`Engine::recover`] where a restore is pending.
    pub fn join(&self, task: &Task, participant: Arc<dyn Participant>) -> Result<Joined> {
        let no = task.no();
        let all = &self.inner.participants;
        {
            let mut of = all.of.lock();
            let there = of.entry(no).or_default();
            if there.iter().any(|one| one.name() == participant.name()) {
                let message =
                    format!("{} has joined task `{}` already", participant.name(), task.id());
                return Err(Error::new(ErrorKind::Conflict, message));
            }
            there.push(Arc::clone(&participant));
            all.count.fetch_add(1, Ordering::Release);
        }
        let joined = Joined { all: Arc::clone(all), task: no, participant };
        if let Some(entry) = self.inner.catalog.pending(no)? {
            let pending = self.inner.catalog.pending_restore(no, &entry)?;
            self.recover(&pending, &self.joined(no))?;
        }
        Ok(joined)
    }

    /// The participants of a task.
    pub(crate) fn joined(&self, task: TaskNo) -> Vec<Arc<dyn Participant>> {
        self.inner.participants.of(task)
    }

    /// Captures what takes part in a task and is asked, by its name. Gives the events that say so, and what
    /// keeps the chunks that they name until they are appended.
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
            bodies.extend(participant.capture(&Capturing { engine: self, task, before: None })?);
        }
        Ok(Captured { bodies, _held: held })
    }
}
