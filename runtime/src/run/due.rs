//! Counts since the last checkpoint, and the mark of the next one.

use milepost::events::{MarkCause, MarkStatus};
use milepost::{Json, Mark, Offset, Result, Task};
use serde_json::{Value, json};

use super::policy::{Reported, Trigger, TriggerContext};

/// Counters of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunStats {
    /// Checkpoints marked by the run: by its policy, when idle, or by
    /// [`Run::checkpoint`](crate::run::Run::checkpoint).
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
    pub(super) files: u64,
    pub(super) destructive: bool,
    pub(super) asked: bool,
    /// The time of the last checkpoint, and the first offset after it.
    pub(super) last_us: Option<u64>,
    pub(super) saved_to: Offset,
    pub(super) stats: RunStats,
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
