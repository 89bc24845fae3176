//! Checkpoints of a run: triggers, marks, and failures.

use milepost::events::MarkCause;
use milepost::{Append, Checkpoint, Error, ErrorKind, Mark, Result};
use serde_json::{Value, json};

use super::Run;
use super::due::{DueCheckpoint, RunStats, mark};
use super::held::Saved;
use super::options::FailedSave;
use super::policy::{Reported, ToolEffects, Trigger, TriggerContext};
use super::shared::Shared;

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
    /// As [`Lineage::checkpoint`](milepost::Lineage::checkpoint).
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
        self.holds_none()?;
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
