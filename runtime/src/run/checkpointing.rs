//! Checkpoints of a run: triggers, marks, and failures.

use milepost::events::{MarkCause, MarkStatus};
use milepost::{Append, Checkpoint, Error, ErrorKind, Json, Mark, Offset, Result, Task};
use serde_json::{Value, json};

use super::checkpointer::Reported;
use super::held::Saved;
use super::options::FailedSave;
use super::policy::{Trigger, TriggerContext};
use super::tools::ToolEffects;
use super::{Run, Shared};

/// Counters of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunStats {
    /// Checkpoints marked by the run: by its policy, when idle, or by [`Run::checkpoint`].
    pub saved: u64,
    /// The number of them that were marked when idle.
    pub autosaved: u64,
    /// Checkpoints that could not be saved, without stopping the run.
    pub failed_saves: u64,
    /// Checkpoints that were held in memory while the store failed, with
    /// [`RunOptions::failover`](crate::run::RunOptions::failover).
    pub held_saves: u64,
}

/// Counts since the last checkpoint.
#[derive(Debug, Default)]
pub(super) struct DueCheckpoint {
    pub(super) steps: u64,
    files: u64,
    destructive: bool,
    asked: bool,
    /// The time of the last checkpoint, and the first offset after it.
    last_us: Option<u64>,
    saved_to: Offset,
    stats: RunStats,
}

impl DueCheckpoint {
    /// Reads the last checkpoint of a task's lineage. Counts of an earlier process are unknown:
    /// steps and files count from now on.
    pub(super) fn of(task: &Task) -> Result<Self> {
        let mut gathered =
            Self { saved_to: task.lineage().first_behind_opening()?, ..Self::default() };
        gathered.look(task)?;
        Ok(gathered)
    }

    /// Resets the counts if another handle has marked a checkpoint.
    pub(super) fn look(&mut self, task: &Task) -> Result<()> {
        if let Some((mark, time_us)) = task.lineage().newest_mark()?
            && (mark >= self.saved_to || self.last_us.is_none())
        {
            *self = Self {
                last_us: Some(time_us),
                saved_to: self.saved_to.max(mark + 1),
                stats: self.stats,
                ..Self::default()
            };
        }
        Ok(())
    }

    /// Adds facts about the work.
    pub(super) fn report(&mut self, reported: Reported) {
        self.files = self.files.saturating_add(reported.effects.files);
        self.destructive |= reported.effects.destructive;
        self.asked |= reported.asked;
    }

    /// Returns the input of a policy, including the step that just ended.
    pub(super) fn context(&self, task: &Task, occasion: Trigger, ended: u64) -> TriggerContext {
        let now = task.clock().now_us();
        TriggerContext {
            occasion,
            steps: self.steps + ended,
            files: self.files,
            destructive: self.destructive,
            asked: self.asked,
            since_us: self.last_us.map(|last| now.saturating_sub(last)),
        }
    }

    /// Returns `true` if nothing is counted, and no event followed the last checkpoint.
    pub(super) fn is_settled(&self, task: &Task) -> Result<bool> {
        let is_counted = self.steps > 0 || self.files > 0 || self.destructive || self.asked;
        Ok(!is_counted && task.head()?.next <= self.saved_to)
    }

    /// Switches to another lineage and keeps the statistics.
    pub(super) fn on(&mut self, other: Self) {
        let stats = self.stats;
        *self = Self { stats, ..other };
    }

    /// Returns the first offset after the last checkpoint.
    pub(super) fn saved_to(&self) -> Offset {
        self.saved_to
    }
}

impl Run {
    /// Reports files that the work since the last checkpoint touched, and if it did something
    /// destructive. Policies such as [`Risk`](crate::run::Risk) count them.
    pub fn touched(&self, files: u64, destructive: bool) {
        let effects = ToolEffects { files, destructive };
        self.shared.gathered.lock().report(Reported { effects, ..Reported::default() });
    }

    /// Reports that the user wants a checkpoint, for policies such as [`Risk`](crate::run::Risk).
    pub fn ask_for_checkpoint(&self) {
        self.shared.gathered.lock().asked = true;
    }

    /// Marks a checkpoint now.
    ///
    /// # Errors
    ///
    /// As [`Task::checkpoint`].
    pub fn checkpoint(&self, mark: Mark) -> Result<Checkpoint> {
        self.shared.save(mark)
    }

    /// Returns the counters of the run.
    pub fn stats(&self) -> RunStats {
        self.shared.gathered.lock().stats
    }

    /// Appends an event and asks the policy, with the checkpoint if it wants one. `about` goes into
    /// the checkpoint's metadata.
    pub(super) fn record(
        &self,
        append: Append,
        occasion: Trigger,
        about: Value,
    ) -> Result<Option<Checkpoint>> {
        let shared = &self.shared;
        let ended = matches!(occasion, Trigger::StepFinished | Trigger::StepFailed);
        let context = shared.trigger_context(occasion, u64::from(ended), ToolEffects::default())?;
        let count = || shared.gathered.lock().steps += u64::from(ended);
        if !shared.options.policy.marks(&context) {
            self.append(append)?;
            count();
            return Ok(None);
        }
        let mark = mark(&context, about)?;
        match shared.write_marked(shared.in_context(append.clone()), mark) {
            Ok(Saved::Marked(checkpoint)) => {
                shared.saved(&checkpoint);
                Ok(Some(checkpoint))
            }
            Ok(Saved::Unmarked(error)) => {
                count();
                shared.not_saved(error).map(|()| None)
            }
            Ok(Saved::Held) => {
                shared.held();
                Ok(None)
            }
            // It may have been appended or not.
            Err(error) if shared.continues_without(&error) => Err(error),
            // The event is recorded even without the checkpoint, if possible.
            Err(error) if shared.continues_after(&error) => {
                self.append(append)?;
                count();
                shared.not_saved(error).map(|()| None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns the mark for a moment at which the policy wants one.
pub(super) fn mark(context: &TriggerContext, about: Value) -> Result<Mark> {
    let cause = match context.occasion {
        Trigger::BeforeTool => MarkCause::BeforeTool,
        Trigger::StepFinished | Trigger::StepFailed | Trigger::PhaseChanged => MarkCause::Step,
    };
    let status = match context.occasion {
        Trigger::StepFailed => MarkStatus::Failure,
        Trigger::StepFinished | Trigger::PhaseChanged | Trigger::BeforeTool => MarkStatus::Success,
    };
    let mut metadata = json!({"steps": context.steps, "files": context.files});
    if let (Value::Object(metadata), Value::Object(about)) = (&mut metadata, about) {
        metadata.extend(about);
    }
    let mark = Mark::new().cause(cause).status(status);
    Ok(mark.metadata(Json::from_value(&metadata)?))
}

impl Shared {
    /// Returns the input of the policy, including the step that just ended or the expected effects.
    fn trigger_context(
        &self,
        occasion: Trigger,
        steps: u64,
        touches: ToolEffects,
    ) -> Result<TriggerContext> {
        let task = self.task();
        let mut gathered = self.gathered.lock();
        match gathered.look(&task) {
            Err(error) if !self.continues_without(&error) => return Err(error),
            _ => {}
        }
        let expected = Reported { effects: touches, ..Reported::default() };
        Ok(gathered.context(&task, occasion, steps).with(expected))
    }

    /// Asks the policy before a tool call and marks a checkpoint if it wants one.
    pub(super) fn before_tool(&self, tool: &str, touches: ToolEffects) -> Result<()> {
        let context = self.trigger_context(Trigger::BeforeTool, 0, touches)?;
        if self.options.policy.marks(&context) {
            self.save_if_possible(mark(&context, json!({"tool": tool}))?)?;
        }
        Ok(())
    }

    /// Marks a checkpoint. On failure it follows the options.
    pub(super) fn save_if_possible(&self, mark: Mark) -> Result<Option<Checkpoint>> {
        match self.save(mark) {
            Ok(checkpoint) => Ok(Some(checkpoint)),
            Err(error) => self.not_saved(error).map(|()| None),
        }
    }

    /// Returns `true` if the run continues without a checkpoint. A `Conflict` of an outdated handle
    /// is not a failed save: the run has to notice the new activation.
    fn continues_after(&self, error: &Error) -> bool {
        self.options.failed_save == FailedSave::Continue && error.kind() != ErrorKind::Conflict
    }

    /// Handles a checkpoint that could not be saved.
    pub(super) fn not_saved(&self, error: Error) -> Result<()> {
        if !self.continues_after(&error) {
            return Err(error);
        }
        self.gathered.lock().stats.failed_saves += 1;
        self.report(&error);
        Ok(())
    }

    pub(super) fn save(&self, mark: Mark) -> Result<Checkpoint> {
        if self.failing().is_some() {
            let why = "no checkpoint: earlier appends are held until the store works again";
            return Err(Error::new(ErrorKind::Unavailable, why));
        }
        let checkpoint = self.task().checkpoint(mark.or_context(&self.options.context))?;
        self.saved(&checkpoint);
        Ok(checkpoint)
    }

    /// Counts a checkpoint that is held in memory. The next one is due from here.
    pub(super) fn held(&self) {
        let why = "the store fails, and checkpoints are held in memory";
        self.report(&Error::new(ErrorKind::Unavailable, why));
        let last_us = Some(self.task().clock().now_us());
        let mut gathered = self.gathered.lock();
        let mut stats = gathered.stats;
        stats.held_saves += 1;
        let saved_to = gathered.saved_to;
        *gathered = DueCheckpoint { last_us, saved_to, stats, ..DueCheckpoint::default() };
    }

    pub(super) fn saved(&self, checkpoint: &Checkpoint) {
        let mut gathered = self.gathered.lock();
        let mut stats = gathered.stats;
        stats.saved += 1;
        stats.autosaved += u64::from(checkpoint.cause == MarkCause::Idle);
        *gathered = DueCheckpoint {
            last_us: Some(checkpoint.time_us),
            saved_to: checkpoint.mark + 1,
            stats,
            ..DueCheckpoint::default()
        };
    }
}
