//! The loop of a run: continues after a kill, and after a restore from outside at its target.

use std::fmt::Display;

use milepost::events::{Float, RunControl, StepFailed, StepFinished, StepStarted};
use milepost::state::StepStatus;
use milepost::{Engine, Error, Json, Result};
use serde::Serialize;

use super::{Run, RunOptions, SafePoint};

/// A step of [`Run::drive`] that is being worked on.
#[derive(Debug)]
pub struct CurrentStep {
    finished: StepFinished,
    ends_run: bool,
}

impl CurrentStep {
    /// Returns the number of the step in the run, from 1.
    pub fn number(&self) -> u64 {
        self.finished.step
    }

    /// Ends the run with this step.
    pub fn end_run(&mut self) {
        self.ends_run = true;
    }

    /// Records a measured value with the end of the step.
    pub fn metric(&mut self, name: impl Into<String>, value: f64) {
        self.finished.metrics.insert(name.into(), Float(value));
    }

    /// Records a result with the end of the step.
    ///
    /// # Errors
    ///
    /// `Invalid`: the value has no JSON form.
    pub fn result<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.finished.result = Some(Json::from_value(value)?);
        Ok(())
    }
}

impl Run {
    /// Opens a task, or starts it for the user, and begins the run unless it is running or paused.
    /// So the same program starts a run and resumes it after a kill.
    ///
    /// # Errors
    ///
    /// As [`Engine::task_or_start`], [`Run::of`] and [`Run::begin`].
    pub fn resume_or_start(
        engine: &Engine,
        task: &str,
        user: &str,
        options: RunOptions,
    ) -> Result<Self> {
        let run = Self::of(engine.task_or_start(task, user)?, options)?;
        if matches!(run.task().control().now()?, RunControl::Idle | RunControl::Stopped) {
            run.begin()?;
        }
        Ok(run)
    }

    /// Returns the number of the next step: after the last one that ended well, from 1. A step that
    /// failed or was cut short is done again.
    ///
    /// # Errors
    ///
    /// As [`Run::state`].
    pub fn next_step(&self) -> Result<u64> {
        if let Some(step) = self.shared.step_known() {
            return Ok(step);
        }
        Ok(self.state()?.step.map_or(1, |step| match step.status {
            StepStatus::Finished => step.number.saturating_add(1),
            _ => step.number,
        }))
    }

    /// Does steps until one of them calls [`CurrentStep::end_run`], or the run is stopped. Returns
    /// the control of the run then: `Idle` if it ended.
    ///
    /// Before each step it waits while the run is paused. Beginning and end of a step are recorded,
    /// the end with a checkpoint if the policy wants one. The steps are numbered by
    /// [`Run::next_step`].
    ///
    /// After a restore or undo from outside the loop continues at the restored point. The
    /// unfinished step is abandoned: its appends are refused, its error is logged and not returned.
    /// Wrap work that must not be repeated into [`Run::once`].
    ///
    /// ```
    /// use milepost::{Engine, Error, Options};
    /// use milepost_runtime::run::{Run, RunOptions};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let run = Run::resume_or_start(&engine, "essay", "ana", RunOptions::default())?;
    /// run.drive(|step| {
    ///     for guidance in run.new_guidance()? {
    ///         println!("{}", guidance.given.text);
    ///     }
    ///     step.metric("score", 0.9);
    ///     if step.number() >= 3 {
    ///         step.end_run();
    ///     }
    ///     Ok::<_, Error>(())
    /// })?;
    /// assert_eq!(run.next_step()?, 4);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - The error of `work`, after it was recorded as the failure of the step.
    /// - As [`Run::safe_point`], [`Run::start_step`] and [`Run::finish_step`].
    pub fn drive<E: From<Error> + Display>(
        &self,
        mut work: impl FnMut(&mut CurrentStep) -> Result<(), E>,
    ) -> Result<RunControl, E> {
        let (mut is_done, mut was_restored) = (false, false);
        loop {
            match self.safe_point()? {
                SafePoint::Go => was_restored = false,
                // The restored point is before the run began.
                SafePoint::Stop(RunControl::Idle) if was_restored => {
                    self.begin()?;
                    continue;
                }
                SafePoint::Stop(control) => {
                    self.shared.settle_spool()?;
                    return Ok(control);
                }
                SafePoint::Elsewhere(_) => {
                    (is_done, was_restored) = (false, true);
                    continue;
                }
            }
            let tried = match is_done {
                true => self.end_here().map(|()| true).map_err(E::from),
                false => self.step(&mut work),
            };
            match tried {
                Ok(true) if is_done => return Ok(RunControl::Idle),
                Ok(ends_run) => is_done = ends_run,
                Err(error) if self.was_interrupted(is_done) => {
                    tracing::warn!("a step was abandoned, since the run was interrupted: {error}");
                    // If the restore is undone, the same step is done again on this lineage.
                    self.reset_guidance();
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Does one step. Returns `true` if it ends the run.
    fn step<E: From<Error> + Display>(
        &self,
        work: &mut impl FnMut(&mut CurrentStep) -> Result<(), E>,
    ) -> Result<bool, E> {
        let number = self.next_step()?;
        self.start_step(StepStarted { step: number, ..StepStarted::default() })?;
        let finished = StepFinished { step: number, ..StepFinished::default() };
        let mut step = CurrentStep { finished, ends_run: false };
        if let Err(error) = work(&mut step) {
            if !self.was_interrupted(false) {
                let failed = StepFailed { step: number, error: error.to_string() };
                // The error of the step counts, whether it can be recorded or not.
                if let Err(unrecorded) = self.fail_step(failed) {
                    tracing::warn!("the failure of step {number} is not recorded: {unrecorded}");
                }
            }
            return Err(error);
        }
        self.finish_step(step.finished)?;
        Ok(step.ends_run)
    }

    /// Ends the run on the lineage that the last step was done on.
    fn end_here(&self) -> Result<()> {
        self.shared.settle_spool()?;
        if self.shared.failing().is_some() {
            return self.end_held();
        }
        let context = &self.shared.options.context;
        match self.task().control().change_in(context, RunControl::Idle, None) {
            Err(error) if self.shared.continues_without(&error) => self.end_held(),
            ended => ended.map(|_| ()),
        }
    }

    /// Returns `true` if the run was restored from outside or is being restored, or was paused or
    /// stopped before it could end.
    fn was_interrupted(&self, is_done: bool) -> bool {
        let task = self.task();
        let is_superseded = self.shared.renewed().is_ok_and(|now| now.epoch() != task.epoch());
        is_superseded
            || task.control().is_restoring()
            || is_done && task.control().now().is_ok_and(|control| control != RunControl::Running)
    }
}
