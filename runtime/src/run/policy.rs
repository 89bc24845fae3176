//! Policies of automatic checkpoints.

use std::str::FromStr;

/// The expected effects of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolEffects {
    /// The number of files.
    pub files: u64,
    /// Set if something is lost for good: a delete, an overwrite.
    pub destructive: bool,
}

/// Facts about an append that its events do not have, for policies such as [`Risk`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reported {
    /// The effects of the work, past or expected.
    pub effects: ToolEffects,
    /// Set if the user asked for a checkpoint.
    pub asked: bool,
    /// The policy for this append, if another one than that of the
    /// [`Checkpointer`](super::Checkpointer).
    pub policy: Option<NamedPolicy>,
}

/// The event that a policy decides on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trigger {
    /// A step ended successfully.
    StepFinished,
    /// A step failed.
    StepFailed,
    /// The phase changed.
    PhaseChanged,
    /// A tool is about to be called.
    BeforeTool,
}

/// The input of a policy. All counts are since the last checkpoint of the lineage.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TriggerContext {
    /// The event to decide on.
    pub occasion: Trigger,
    /// Steps that ended.
    pub steps: u64,
    /// Files that were touched, or are about to be.
    pub files: u64,
    /// Set if something destructive was done, or is about to be.
    pub destructive: bool,
    /// Set if the user asked for a checkpoint.
    pub asked: bool,
    /// The time since the last checkpoint, in microseconds; `None` if there is none.
    pub since_us: Option<u64>,
}

impl TriggerContext {
    /// Adds facts about the work.
    pub(super) fn with(self, reported: Reported) -> Self {
        Self {
            files: self.files.saturating_add(reported.effects.files),
            destructive: self.destructive || reported.effects.destructive,
            asked: self.asked || reported.asked,
            ..self
        }
    }
}

/// A policy of automatic checkpoints. Any closure from a [`TriggerContext`] to `bool` is one.
pub trait CheckpointPolicy: Send + Sync {
    /// Returns `true` if a checkpoint is to be marked.
    fn marks(&self, context: &TriggerContext) -> bool;
}

impl<F: Fn(&TriggerContext) -> bool + Send + Sync> CheckpointPolicy for F {
    fn marks(&self, context: &TriggerContext) -> bool {
        self(context)
    }
}

/// Marks at the end of each n-th step, failed or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EverySteps(
    /// The number of steps from one checkpoint to the next; 0 counts as 1.
    pub u64,
);

impl CheckpointPolicy for EverySteps {
    fn marks(&self, context: &TriggerContext) -> bool {
        match context.occasion {
            Trigger::StepFinished | Trigger::StepFailed => context.steps >= self.0.max(1),
            Trigger::PhaseChanged | Trigger::BeforeTool => false,
        }
    }
}

/// Marks at each change of phase, for engines whose layers are phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EveryPhase;

impl CheckpointPolicy for EveryPhase {
    fn marks(&self, context: &TriggerContext) -> bool {
        context.occasion == Trigger::PhaseChanged
    }
}

/// Marks no checkpoint: the embedder marks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Never;

impl CheckpointPolicy for Never {
    fn marks(&self, _: &TriggerContext) -> bool {
        false
    }
}

/// Marks if enough of four factors hold: many files touched, something destructive, the user's
/// request, a long time since the last checkpoint.
///
/// ```
/// use milepost_runtime::run::Risk;
/// // A cautious one: any of the four is enough.
/// let cautious = Risk { score: 1, ..Risk::default() };
/// # let _ = cautious;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Risk {
    /// More files than this count as many. Default: 5.
    pub files: u64,
    /// More microseconds than this count as a long time, as does having no checkpoint. Default:
    /// five minutes.
    pub since_us: u64,
    /// The number of factors that have to hold. Default: 2.
    pub score: u32,
}

impl Default for Risk {
    fn default() -> Self {
        Self { files: 5, since_us: 5 * 60 * 1_000_000, score: 2 }
    }
}

impl CheckpointPolicy for Risk {
    fn marks(&self, context: &TriggerContext) -> bool {
        let factors = [
            context.files > self.files,
            context.destructive,
            context.asked,
            context.since_us.is_none_or(|since| since > self.since_us),
        ];
        let score: u32 = factors.into_iter().map(u32::from).sum();
        score >= self.score
    }
}

/// A policy by its name, for configurations and requests.
///
/// ```
/// use milepost_runtime::run::NamedPolicy;
///
/// assert_eq!("steps:5".parse(), Ok(NamedPolicy::Steps(5)));
/// assert!("sometimes".parse::<NamedPolicy>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NamedPolicy {
    /// `steps` or `steps:N`: [`EverySteps`].
    Steps(u64),
    /// `phases`: [`EveryPhase`].
    Phases,
    /// `risk`: [`Risk`] with its defaults.
    Risk,
    /// `never`: [`Never`].
    Never,
}

impl NamedPolicy {
    /// The names, for messages.
    pub const NAMES: &str = "`steps`, `steps:N`, `phases`, `risk` or `never`";
}

impl CheckpointPolicy for NamedPolicy {
    fn marks(&self, context: &TriggerContext) -> bool {
        match self {
            Self::Steps(steps) => EverySteps(*steps).marks(context),
            Self::Phases => EveryPhase.marks(context),
            Self::Risk => Risk::default().marks(context),
            Self::Never => Never.marks(context),
        }
    }
}

impl FromStr for NamedPolicy {
    /// The names that are expected: [`NamedPolicy::NAMES`].
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "steps" => Self::Steps(1),
            "phases" => Self::Phases,
            "risk" => Self::Risk,
            "never" => Self::Never,
            other => {
                let steps = other.strip_prefix("steps:").and_then(|steps| steps.parse().ok());
                Self::Steps(steps.filter(|steps| *steps > 0).ok_or(Self::NAMES)?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_combination_of_what_speaks_for_a_checkpoint_is_decided_by_its_count() {
        const MINUTE: u64 = 60 * 1_000_000;
        for bits in 0_u32..16 {
            let on = |bit: u32| bits & (1 << bit) != 0;
            for score in 0..=5 {
                let context = TriggerContext {
                    occasion: Trigger::BeforeTool,
                    steps: 0,
                    files: if on(0) { 6 } else { 5 },
                    destructive: on(1),
                    asked: on(2),
                    since_us: Some(if on(3) { 5 * MINUTE + 1 } else { 5 * MINUTE }),
                };
                let risk = Risk { score, ..Risk::default() };
                assert_eq!(risk.marks(&context), bits.count_ones() >= score, "{context:?}");
            }
        }
    }

    #[test]
    fn no_checkpoint_at_all_counts_as_a_long_time_ago() {
        let context = TriggerContext {
            occasion: Trigger::BeforeTool,
            steps: 0,
            files: 0,
            destructive: true,
            asked: false,
            since_us: None,
        };
        assert!(Risk::default().marks(&context));
    }

    #[test]
    fn every_n_steps_marks_at_the_nth_end_and_every_phase_at_each_change() {
        let at = |occasion, steps| TriggerContext {
            occasion,
            steps,
            files: 0,
            destructive: true,
            asked: true,
            since_us: None,
        };
        let policy = EverySteps(3);
        assert!(!policy.marks(&at(Trigger::StepFinished, 2)));
        assert!(policy.marks(&at(Trigger::StepFinished, 3)));
        assert!(policy.marks(&at(Trigger::StepFailed, 3)));
        assert!(!policy.marks(&at(Trigger::PhaseChanged, 9)));
        assert!(EveryPhase.marks(&at(Trigger::PhaseChanged, 0)));
        assert!(!EveryPhase.marks(&at(Trigger::StepFinished, 9)));
        assert!(!policy.marks(&at(Trigger::BeforeTool, 9)));
        assert!(EverySteps(0).marks(&at(Trigger::StepFinished, 1)));
        assert!(!Never.marks(&at(Trigger::PhaseChanged, 9)));
        let closure = |context: &TriggerContext| context.steps == 7;
        assert!(closure.marks(&at(Trigger::BeforeTool, 7)));
    }
}
