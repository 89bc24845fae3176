//! A run whose store fails: its appends are held, by a failover engine or by the run itself, and
//! its position is kept in memory.

use std::time::Duration;

use milepost::calls::Cancel;
use milepost::events::{ControlChanged, RunControl};
use milepost::{Append, Body, Checkpoint, Error, ErrorKind, Mark, Result, Task};

use super::options::FailedSave;
use super::shared::Shared;
use super::{Run, SafePoint};
use crate::failover::{Accepted, FailoverEngine, Health, HeldAppend, Written, is_of_the_store};

/// The wait between two looks at a restore that holds appends up, and the number of looks.
const RESTORE_CHECK: Duration = Duration::from_millis(20);
const RESTORE_CHECKS: u32 = 500;

/// Result of an append with a checkpoint.
pub(super) enum Saved {
    Marked(Checkpoint),
    /// The events are durable without the checkpoint, for this reason.
    Unmarked(Error),
    /// Both are held in memory.
    Held,
}

impl Shared {
    fn failover(&self) -> Option<&FailoverEngine> {
        self.options.failover.as_deref().or(self.spool.as_ref())
    }

    /// Returns `true` if a failover engine opens the store again.
    pub(super) fn reopens(&self) -> bool {
        self.options.failover.is_some()
    }

    /// Returns `true` if appends are held while the store fails.
    pub(super) fn may_hold(&self) -> bool {
        self.failover().is_some()
    }

    /// Returns what commits an append or holds it.
    fn held_append(&self, append: Append, mark: Option<Mark>) -> HeldAppend {
        let task = self.task();
        let held = HeldAppend::by(&task, append, mark);
        match &self.options.failover {
            Some(_) => held,
            // The handle has the context and the conditions of its owner.
            None => held.with_handle(task),
        }
    }

    /// Fails while appends of the run are held: what comes after them cannot be written yet.
    pub(super) fn holds_none(&self) -> Result<()> {
        match self.failing() {
            Some(_) => {
                let why = "earlier appends are held in memory until the store works again";
                Err(Error::new(ErrorKind::Unavailable, why))
            }
            None => Ok(()),
        }
    }

    /// Waits until what the run itself holds is durable.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store failed, and has to be opened again.
    pub(super) fn settle_spool(&self) -> Result<()> {
        let Some(failover) = &self.spool else {
            return Ok(());
        };
        let mut restores = RESTORE_CHECKS;
        while self.failing().is_some() {
            failover.retry_now();
            let why = if !failover.wait_healthy(Duration::MAX) {
                "the store failed while they were held in memory"
            } else if restores == 0 {
                "they wait for a restore of the task that has not ended"
            } else {
                // Only what a restore of the task holds up is left.
                restores -= 1;
                std::thread::sleep(RESTORE_CHECK);
                continue;
            };
            let text = format!("the last events of the run are not durable: {why}");
            return Err(Error::new(ErrorKind::Unavailable, text));
        }
        Ok(())
    }

    /// Returns the failover engine while the store fails or appends of the run are held.
    pub(super) fn failing(&self) -> Option<&FailoverEngine> {
        let is_failing = |engine: &&FailoverEngine| {
            let is_degraded = matches!(engine.health(), Health::Degraded { .. });
            is_degraded || engine.holds(self.task.lock().id())
        };
        self.failover().filter(is_failing)
    }

    /// Returns a handle on the active lineage, of the engine that is open now.
    pub(super) fn renewed(&self) -> Result<Task> {
        let task = self.task();
        match &self.options.failover {
            Some(failover) => failover.engine()?.task(task.id()),
            None => task.renewed(),
        }
    }

    /// Returns `true` if the run continues without the answer of its store.
    pub(super) fn continues_without(&self, error: &Error) -> bool {
        let can_recover = || self.failover().is_some_and(FailoverEngine::can_recover);
        is_of_the_store(error) && !Cancel::is_cause_of(error) && can_recover()
    }

    /// Replaces the handle on the task after the store was opened again, unless a restore has
    /// activated another lineage since.
    pub(super) fn refresh(&self) {
        let Some(failover) = &self.options.failover else { return };
        let generation = failover.generation();
        if self.position.lock().generation == generation {
            return;
        }
        let mut task = self.task.lock();
        let Ok(now) = failover.engine().and_then(|engine| engine.task(task.id())) else { return };
        if now.epoch() == task.epoch() {
            *task = now;
            self.position.lock().generation = generation;
        }
    }

    /// Appends, or holds the append.
    pub(super) fn write(&self, append: Append) -> Result<Accepted> {
        let Some(failover) = self.failover() else {
            return self.task().append(append).map(Accepted::Appended);
        };
        let held = self.held_append(append, None);
        Ok(match failover.write_or_hold(held, HeldAppend::append)? {
            Written::Durable(appended) => {
                self.position.lock().is_reported = false;
                Accepted::Appended(appended)
            }
            Written::Held(pending) => Accepted::Buffered { pending },
        })
    }

    /// Appends with a checkpoint.
    pub(super) fn write_marked(&self, append: Append, mark: Mark) -> Result<Saved> {
        let stops = self.options.failed_save == FailedSave::Stop && !self.reopens();
        let failover = match self.failover() {
            Some(failover) if !stops || self.failing().is_some() => failover,
            // A checkpoint that fails is an error, and nothing is recorded.
            _ => return self.task().append_marked(append, mark).map(Saved::Marked),
        };
        let held = self.held_append(append, Some(mark.clone()));
        match failover.write_or_hold(held, |held, task| held.append_marked(task, &mark))? {
            Written::Durable(Ok(checkpoint)) => {
                self.position.lock().is_reported = false;
                Ok(Saved::Marked(checkpoint))
            }
            Written::Durable(Err(error)) => Ok(Saved::Unmarked(error)),
            Written::Held(_) => Ok(Saved::Held),
        }
    }

    /// Reports that a checkpoint failed or is held: once until a write succeeds, if the run
    /// continues on a failover engine.
    pub(super) fn report(&self, error: &Error) {
        let is_first = !std::mem::replace(&mut self.position.lock().is_reported, true);
        if is_first || self.failover().is_none() {
            self.task().save_failed(error, self.options.context.correlation.as_deref());
        }
    }

    /// Returns the event of a held append under a key.
    pub(super) fn held_under(&self, key: &str) -> Option<Body> {
        let task = self.task.lock().clone();
        let held = self.failover()?.held_under(&task, key)?;
        held.bodies().first().cloned()
    }

    /// Returns the next step while the store does not know it.
    pub(super) fn step_known(&self) -> Option<u64> {
        self.failing().and(self.position.lock().step)
    }

    /// Returns the phase while the store does not know it.
    pub(super) fn phase_known(&self) -> Option<String> {
        self.failing().and(self.position.lock().phase.clone())
    }

    /// Reads with the handle on the task. On a failover engine, waits until the store is open.
    pub(super) fn read_again<T>(&self, read: impl Fn(&Task) -> Result<T>) -> Result<T> {
        loop {
            let opened = self.failover().map(FailoverEngine::generation);
            let error = match read(&self.task()) {
                Err(error) if self.continues_without(&error) => error,
                read => return read,
            };
            let is_open = match self.failing() {
                Some(failover) => failover.wait_healthy(Duration::MAX),
                None => opened != self.failover().map(FailoverEngine::generation),
            };
            if !is_open {
                return Err(error);
            }
        }
    }

    /// Handles a safe point of a store that is not open. A run that was running continues; one
    /// that was paused waits until the store is open. Returns `None` to ask again.
    pub(super) fn safe_point_without(&self, error: Error) -> Result<Option<SafePoint>> {
        let Some(failover) = self.failover().filter(|_| self.continues_without(&error)) else {
            return Err(error);
        };
        let is_running = self.position.lock().control == Some(RunControl::Running);
        if is_running && matches!(failover.health(), Health::Degraded { .. }) {
            return Ok(Some(SafePoint::Go));
        }
        failover.wait_healthy(Duration::MAX);
        let task = self.task();
        let now = self.renewed()?;
        if now.epoch() == task.epoch() {
            return Ok(None);
        }
        let lineage = now.lineage().id();
        self.adopt(now)?;
        Ok(Some(SafePoint::Elsewhere(lineage)))
    }
}

impl Run {
    /// Ends the run after the held appends. A run on a failover engine holds its end, too.
    pub(super) fn end_held(&self) -> Result<()> {
        let ended =
            ControlChanged { from: RunControl::Running, to: RunControl::Idle, reason: None };
        self.append(ended)?;
        if self.shared.reopens() {
            return Ok(());
        }
        self.shared.settle_spool()?;
        match self.task().control().now()? {
            RunControl::Idle => Ok(()),
            control => {
                let why = format!("the run was {} while its end waited", control.name());
                Err(Error::new(ErrorKind::Conflict, why))
            }
        }
    }
}
