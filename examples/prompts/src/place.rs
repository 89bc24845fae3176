//! Rounds and layers: where an optimizer is, and what comes next.

use std::fmt;

/// What a round consists of, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// What is wrong with the answers that the prompt gets.
    Extract,
    /// Prompts that might be better.
    Generate,
    /// How good they are.
    Evaluate,
    /// Which one it goes on with, and what was learned.
    Reflect,
}

/// How many layers a round has.
pub(crate) const LAYERS: u64 = 4;

impl Layer {
    /// The iteration state while it works.
    pub fn phase(self) -> &'static str {
        match self {
            Self::Extract => "extracting",
            Self::Generate => "generating",
            Self::Evaluate => "evaluating",
            Self::Reflect => "reflecting",
        }
    }
}

/// A layer of a round. Each is one step of the run; steps are numbered through, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The round, from 1.
    pub round: u64,
    /// The layer.
    pub layer: Layer,
}

impl Place {
    /// The place of a step.
    pub fn of_step(step: u64) -> Self {
        let before = step.saturating_sub(1);
        let layer = match before % LAYERS {
            0 => Layer::Extract,
            1 => Layer::Generate,
            2 => Layer::Evaluate,
            _ => Layer::Reflect,
        };
        let round = before / LAYERS + 1;
        Self { round, layer }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "round {} {}", self.round, self.layer.phase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_steps_are_a_round() {
        let places: Vec<_> = (1..=5).map(|step| Place::of_step(step).to_string()).collect();
        let expected = [
            "round 1 extracting",
            "round 1 generating",
            "round 1 evaluating",
            "round 1 reflecting",
            "round 2 extracting",
        ];
        assert_eq!(places, expected);
    }
}
