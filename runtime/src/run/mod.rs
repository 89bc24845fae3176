//! A run: the execution of a task by an iteration engine. `docs/RUNS.md` explains the design.
//!
//! ```text
//! options        settings of a run
//! policy         the triggers of automatic checkpoints
//! due            counts since the last one    idle       time without events
//! shared         state of a run
//! checkpointing  marks checkpoints, and handles a failure to do so
//! checkpointer   marks them for events of other programs
//! autosave       marks a checkpoint after a time without events
//! drive          the loop: continues after a kill and a restore from outside
//! guidance       given from outside, read by steps
//! held           continues on a failover engine while the store fails
//! once           steps that are executed once
//! step_save      a step, its state and a checkpoint in one call
//! tools          tool calls, concurrent or exclusive
//! ```

mod autosave;
mod checkpointer;
mod checkpointing;
mod destructive;
mod drive;
mod due;
mod guidance;
mod held;
mod idle;
mod once;
mod options;
mod policy;
mod shared;
mod step_save;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use milepost::events::{PhaseChanged, RunControl, StepFailed, StepFinished, StepStarted};
use milepost::internals::{Owner, engine_of};
use milepost::{Append, Checkpoint, Detail, Error, LineageId, Result, RunState, Task, Ticket};
use parking_lot::{Mutex, RwLock};
use serde_json::json;

use self::autosave::Watcher;
pub use self::checkpointer::Checkpointer;
pub use self::destructive::is_destructive;
pub use self::drive::CurrentStep;
use self::due::DueCheckpoint;
pub use self::due::RunStats;
pub use self::options::{FailedSave, RunOptions};
pub use self::policy::{
    CheckpointPolicy, EveryPhase, EverySteps, NamedPolicy, Never, Reported, Risk, ToolEffects,
    Trigger, TriggerContext,
};
use self::shared::Shared;
pub use self::step_save::StepSave;
pub use self::tools::Access;
use crate::failover::{Accepted, FailoverEngine, FailoverOptions};

/// The answer of a safe point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SafePoint {
    /// The run continues.
    Go,
    /// The run was stopped, ended, or never begun.
    Stop(RunControl),
    /// A restore or undo activated this lineage. The run is on it now: read its state and continue
    /// from there.
    Elsewhere(LineageId),
}

/// A run of a task: run control, safe points, automatic checkpoints, work that is done once. It is
/// `Send` and `Sync`: share it by reference or in an `Arc`.
///
/// ```
/// use milepost::events::{StepFinished, StepStarted};
/// use milepost_runtime::run::{Run, RunOptions, SafePoint};
/// use milepost::{Engine, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let run = Run::of(engine.start_task("tuning", "ana")?, RunOptions::default())?;
/// run.begin()?;
/// for step in 1..=3 {
///     if run.safe_point()? != SafePoint::Go {
///         break;
///     }
///     run.start_step(StepStarted { step, ..Default::default() })?;
///     run.finish_step(StepFinished { step, ..Default::default() })?; // and a checkpoint
/// }
/// run.end()?;
/// assert_eq!(run.stats().saved, 3);
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug)]
pub struct Run {
    shared: Arc<Shared>,
    watcher: Option<Watcher>,
    owner: Owner,
}

impl Run {
    /// Wraps a task; its run control comes from the log.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store is closed, or no thread can be started.
    pub fn of(task: Task, options: RunOptions) -> Result<Self> {
        let gathered = DueCheckpoint::of(&task)?;
        let after = options.autosave_after;
        let is_writable = engine_of(&task).store().check_writable().is_ok();
        let holds = options.failover.is_none() && options.held_bytes > 0 && is_writable;
        let limit = FailoverOptions::default().limit_bytes(options.held_bytes);
        let spool = holds.then(|| FailoverEngine::of(engine_of(&task), limit)).transpose()?;
        let shared = Arc::new(Shared {
            task: Mutex::new(task),
            options,
            spool,
            gathered: Mutex::new(gathered),
            idle: Mutex::default(),
            keys: Default::default(),
            guidance: Mutex::default(),
            position: Mutex::default(),
            gate: RwLock::default(),
        });
        let watcher = match after {
            Some(after) => Some(Watcher::start(&shared, after)?),
            None => None,
        };
        Ok(Self { shared, watcher, owner: Owner::default() })
    }

    /// Returns the current handle on the task.
    pub fn task(&self) -> Task {
        self.shared.task()
    }

    /// Returns the state at the head.
    ///
    /// # Errors
    ///
    /// As [`milepost::View::run_state`].
    pub fn state(&self) -> Result<RunState> {
        self.task().state()
    }

    /// Begins the run, or begins it again after it was stopped.
    ///
    /// # Errors
    ///
    /// As [`TaskControl::change`](milepost::control::TaskControl::change).
    pub fn begin(&self) -> Result<()> {
        self.change(RunControl::Running, None)
    }

    /// Asks the run to wait at its next safe point.
    ///
    /// # Errors
    ///
    /// As [`TaskControl::change`](milepost::control::TaskControl::change).
    pub fn pause(&self, reason: &str) -> Result<()> {
        self.change(RunControl::Paused, Some(reason))
    }

    /// Resumes a paused run.
    ///
    /// # Errors
    ///
    /// As [`TaskControl::change`](milepost::control::TaskControl::change).
    pub fn resume(&self) -> Result<()> {
        self.change(RunControl::Running, None)
    }

    /// Asks the run to stop at its next safe point.
    ///
    /// # Errors
    ///
    /// As [`TaskControl::change`](milepost::control::TaskControl::change).
    pub fn stop(&self, reason: &str) -> Result<()> {
        self.change(RunControl::Stopped, Some(reason))
    }

    /// Ends the run, after its events that are held in memory are durable.
    ///
    /// # Errors
    ///
    /// As [`TaskControl::change`](milepost::control::TaskControl::change).
    pub fn end(&self) -> Result<()> {
        self.shared.settle_spool()?;
        self.change(RunControl::Idle, None)
    }

    fn change(&self, to: RunControl, reason: Option<&str>) -> Result<()> {
        // A change that is written at once would come before what is held.
        if !self.shared.reopens() {
            self.shared.holds_none()?;
        }
        // On the active lineage, even if the run has not yet noticed a restore.
        let now = self.shared.renewed()?;
        now.control().change_in(&self.shared.options.context, to, reason).map(|_| ())
    }

    /// Checks the run control: returns at once while the run is running, and waits while it is
    /// paused. Any thread with a handle on the task can pause and resume it.
    ///
    /// # Errors
    ///
    /// Both also while it waits:
    ///
    /// - `Unavailable`: the store was closed.
    /// - `NotFound`: the task was deleted.
    pub fn safe_point(&self) -> Result<SafePoint> {
        loop {
            let seen = self.task().control().wait(RunControl::Paused, Duration::MAX);
            if let Some(point) = self.safe_point_at(seen)? {
                return Ok(point);
            }
        }
    }

    /// Checks the run control as [`Run::safe_point`] does, as a future for any runtime: while the
    /// run is paused, it waits without a thread. With [`RunOptions::failover`] it blocks while the
    /// store fails and the run was not running.
    ///
    /// ```
    /// use milepost_runtime::run::{Run, RunOptions, SafePoint};
    /// use milepost::{Engine, Options};
    ///
    /// # async fn example() -> milepost::Result<()> {
    /// let engine = Engine::in_memory(Options::default())?;
    /// let run = Run::of(engine.start_task("tuning", "ana")?, RunOptions::default())?;
    /// run.begin()?;
    /// while run.safe_point_async().await? == SafePoint::Go {
    ///     run.submit(milepost::events::Message::text("assistant", "a thought"))?.await?;
    /// # run.stop("an example")?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Run::safe_point`].
    pub async fn safe_point_async(&self) -> Result<SafePoint> {
        loop {
            let seen = self.task().control().wait_async(RunControl::Paused).await;
            if let Some(point) = self.safe_point_at(seen)? {
                return Ok(point);
            }
        }
    }

    /// Returns the safe point of a control, or `None` to check it again.
    fn safe_point_at(&self, seen: Result<RunControl>) -> Result<Option<SafePoint>> {
        match seen {
            Ok(control) => {
                self.shared.position.lock().is(control);
                Ok(Some(match control {
                    RunControl::Running => SafePoint::Go,
                    control => SafePoint::Stop(control),
                }))
            }
            Err(error) if matches!(error.detail(), Some(Detail::Active { .. })) => {
                let now = self.shared.renewed()?;
                let lineage = now.lineage().id();
                self.shared.adopt(now)?;
                Ok(Some(SafePoint::Elsewhere(lineage)))
            }
            Err(error) => self.shared.safe_point_without(error),
        }
    }

    /// Queues events, with the run's actor and correlation id where they have none. A thread can
    /// wait for the ticket, and a task of any runtime can await it.
    ///
    /// # Errors
    ///
    /// As [`Lineage::submit`](milepost::Lineage::submit). `Invalid`: the run has a failover engine,
    /// and held appends have no ticket. `Unavailable`: earlier appends are held.
    pub fn submit(&self, append: impl Into<Append>) -> Result<Ticket> {
        if self.shared.options.failover.is_some() {
            return Err(Error::invalid("a run on a failover engine appends, and has no tickets"));
        }
        self.shared.holds_none()?;
        self.task().submit(self.shared.in_context(append.into()))
    }

    /// Appends events, with the run's actor and correlation id where they have none. The append is
    /// durable when this returns, except with [`RunOptions::failover`] while the store fails.
    ///
    /// # Errors
    ///
    /// As [`Lineage::append`](milepost::Lineage::append).
    pub fn append(&self, append: impl Into<Append>) -> Result<Accepted> {
        self.shared.write(self.shared.in_context(append.into()))
    }

    /// Records the beginning of a step.
    ///
    /// # Errors
    ///
    /// As [`Lineage::append`](milepost::Lineage::append).
    pub fn start_step(&self, started: StepStarted) -> Result<Accepted> {
        let step = started.step;
        let accepted = self.append(started)?;
        self.shared.position.lock().at(step);
        Ok(accepted)
    }

    /// Records a successful step. Returns the checkpoint if the policy wants one: both are one
    /// commit. Returns `None` while they are held in memory: see [`RunOptions::failover`].
    ///
    /// # Errors
    ///
    /// As [`Lineage::append`](milepost::Lineage::append), and errors of the checkpoint unless the
    /// run continues without it.
    pub fn finish_step(&self, finished: StepFinished) -> Result<Option<Checkpoint>> {
        let step = finished.step;
        let about = json!({"step": step});
        let append = self.with_guidance_read(finished.into());
        let checkpoint = self.record(append, Trigger::StepFinished, about)?;
        self.settle_guidance();
        self.shared.position.lock().at(step.saturating_add(1));
        Ok(checkpoint)
    }

    /// Records a failed step.
    ///
    /// # Errors
    ///
    /// As [`Run::finish_step`].
    pub fn fail_step(&self, failed: StepFailed) -> Result<Option<Checkpoint>> {
        let about = json!({"step": failed.step});
        self.reset_guidance();
        self.record(failed.into(), Trigger::StepFailed, about)
    }

    /// Records a change of phase.
    ///
    /// # Errors
    ///
    /// As [`Run::finish_step`].
    pub fn enter_phase(&self, phase: &str, iteration: u64) -> Result<Option<Checkpoint>> {
        let previous = match self.shared.phase_known() {
            Some(phase) => Some(phase),
            None => self.state()?.phase,
        };
        let about = json!({"phase": phase, "iteration": iteration});
        let changed = PhaseChanged { previous, phase: phase.to_owned(), iteration };
        let checkpoint = self.record(changed.into(), Trigger::PhaseChanged, about)?;
        self.shared.position.lock().entered(phase);
        Ok(checkpoint)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // A forked process has no threads but its own: the others stay in its parent.
        let is_elsewhere = self.owner.is_elsewhere();
        if let Some(watcher) = self.watcher.take().filter(|_| !is_elsewhere) {
            watcher.stop();
        }
    }
}
