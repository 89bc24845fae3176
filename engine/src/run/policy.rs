//! When a run marks a checkpoint by itself.

/// What just happened, or is about to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Occasion {
    /// A step ended well.
    StepFinished,
    /// A step ended badly.
    StepFailed,
    /// The iteration went from one state to the next.
    PhaseChanged,
    /// A tool is about to be called.
    BeforeTool,
}

/// What a policy decides by. All counts are since the last checkpoint of the lineage.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moment {
    /// What just happened, or is about to.
    pub occasion: Occasion,
    /// Steps that ended.
    pub steps: u64,
    /// Files that were touched, and that are about to be.
    pub files: u64,
    /// Whether something destructive was done, or is about to be.
    pub destructive: bool,
    /// Whether the user asked for a checkpoint.
    pub asked: bool,
    /// How long ago the last checkpoint was, in microseconds; nothing where there is none.
    pub since_us: Option<u64>,
}

/// When a checkpoint is marked. Any closure from a [`Moment`] to yes or no is one.
pub trait Policy: Send + Sync {
    /// Whether this moment gets a checkpoint.
    fn marks(&self, moment: &Moment) -> bool;
}

impl<F: Fn(&Moment) -> bool + Send + Sync> Policy for F {
    fn marks(&self, moment: &Moment) -> bool {
        self(moment)
    }
}

/// Marks at the end of each n-th step, failed or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EverySteps(
    /// How many steps from one checkpoint to the next; 0 counts as 1.
    pub u64,
);

impl Policy for EverySteps {
    fn marks(&self, moment: &Moment) -> bool {
        match moment.occasion {
            Occasion::StepFinished | Occasion::StepFailed => moment.steps >= self.0.max(1),
            Occasion::PhaseChanged | Occasion::BeforeTool => false,
        }
    }
}

/// Marks at each change of phase, for engines whose layers are phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EveryPhase;

impl Policy for EveryPhase {
    fn marks(&self, moment: &Moment) -> bool {
        moment.occasion == Occasion::PhaseChanged
    }
}

/// Marks nothing: checkpoints are marked where the embedder says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Never;

impl Policy for Never {
    fn marks(&self, _: &Moment) -> bool {
        false
    }
}

/// Marks where enough speaks for it: many files touched, something destructive, the user's wish,
/// a long time since the last checkpoint. Each counts one.
///
/// ```
/// use milepost::Risk;
/// // A cautious one: any of the four is enough.
/// let cautious = Risk { score: 1, ..Risk::default() };
/// # let _ = cautious;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Risk {
    /// More files than these count. Default: 5.
    pub files: u64,
    /// A longer time than this counts, in microseconds; no checkpoint at all does too. Default: five
    /// minutes.
    pub since_us: u64,
    /// How many of the four have to hold. Default: 2.
    pub score: u32,
}

impl Default for Risk {
    fn default() -> Self {
        Self { files: 5, since_us: 5 * 60 * 1_000_000, score: 2 }
    }
}

impl Policy for Risk {
    fn marks(&self, moment: &Moment) -> bool {
        let factors = [
            moment.files > self.files,
            moment.destructive,
            moment.asked,
            moment.since_us.is_none_or(|since| since > self.since_us),
        ];
        let score: u32 = factors.into_iter().map(u32::from).sum();
        score >= self.score
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
                let moment = Moment {
                    occasion: Occasion::BeforeTool,
                    steps: 0,
                    files: if on(0) { 6 } else { 5 },
                    destructive: on(1),
                    asked: on(2),
                    since_us: Some(if on(3) { 5 * MINUTE + 1 } else { 5 * MINUTE }),
                };
                let risk = Risk { score, ..Risk::default() };
                assert_eq!(risk.marks(&moment), bits.count_ones() >= score, "{moment:?}");
            }
        }
    }

    #[test]
    fn no_checkpoint_at_all_counts_as_a_long_time_ago() {
        let moment = Moment {
            occasion: Occasion::BeforeTool,
            steps: 0,
            files: 0,
            destructive: true,
            asked: false,
            since_us: None,
        };
        assert!(Risk::default().marks(&moment));
    }

    #[test]
    fn every_n_steps_marks_at_the_nth_end_and_every_phase_at_each_change() {
        let at = |occasion, steps| Moment {
            occasion,
            steps,
            files: 0,
            destructive: true,
            asked: true,
            since_us: None,
        };
        let policy = EverySteps(3);
        assert!(!policy.marks(&at(Occasion::StepFinished, 2)));
        assert!(policy.marks(&at(Occasion::StepFinished, 3)));
        assert!(policy.marks(&at(Occasion::StepFailed, 3)));
        assert!(!policy.marks(&at(Occasion::PhaseChanged, 9)));
        assert!(EveryPhase.marks(&at(Occasion::PhaseChanged, 0)));
        assert!(!EveryPhase.marks(&at(Occasion::StepFinished, 9)));
        assert!(!policy.marks(&at(Occasion::BeforeTool, 9)));
        assert!(EverySteps(0).marks(&at(Occasion::StepFinished, 1)));
        assert!(!Never.marks(&at(Occasion::PhaseChanged, 9)));
        let closure = |moment: &Moment| moment.steps == 7;
        assert!(closure.marks(&at(Occasion::BeforeTool, 7)));
    }
}
