//! Rounds and layers: the position of an optimizer.

use std::fmt;

/// The layers of a round, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Finds the faults of the answers to the prompt.
    Extract,
    /// Writes prompts that may be better.
    Generate,
    /// Scores the prompts.
    Evaluate,
    /// Chooses the prompt to continue with, and records the lesson.
    Reflect,
}

/// The number of layers of a round.
pub(crate) const LAYERS: u64 = 4;

impl Layer {
    /// Returns the iteration state of the layer.
    pub fn phase(self) -> &'static str {
        match self {
            Self::Extract => "extracting",
            Self::Generate => "generating",
            Self::Evaluate => "evaluating",
            Self::Reflect => "reflecting",
        }
    }
}

/// A layer of a round. Each is one step of the run; the steps of all rounds are numbered from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The round, from 1.
    pub round: u64,
    /// The layer.
    pub layer: Layer,
}

impl Place {
    /// Returns the place of a step.
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
