//! What the optimizer reads from the state of its run. It keeps nothing else, so that whoever reads
//! this state goes on where it stands: the same process, the next one, or one that was taken back.

use std::collections::BTreeMap;

use milepost::{Engine, Error, Json, Result, Run, RunState, StepStatus};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::place::{LAYERS, Place};

/// The artifact that holds what is wrong with the answers.
pub(crate) const PATTERNS: &str = "patterns";

/// The artifact that holds the prompts that may be chosen.
pub(crate) const CANDIDATES: &str = "candidate_prompts";

/// The rule system: what the optimizer learned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// What each round taught.
    pub learned: Vec<String>,
    /// The fault that is let be for a round, since what was tried against it did worst.
    pub set_aside: Option<String>,
}

/// The variables of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Variables {
    /// How many rounds there are to be.
    pub(crate) rounds: u64,
    /// What the scripted model is seeded with.
    pub(crate) seed: u64,
    /// The last step whose results are in the state. Its end may be missing still.
    pub(crate) done: u64,
    /// The points of the prompt, once it was evaluated.
    pub(crate) score: Option<u64>,
    /// The points of what was evaluated last, by prompt.
    pub(crate) scores: BTreeMap<String, u64>,
}

/// What the optimizer goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The prompt.
    pub prompt: String,
    /// The rule system.
    pub rules: Rules,
    /// What is wrong with the answers that the prompt gets.
    pub patterns: Vec<String>,
    /// Prompts that may be chosen.
    pub candidates: Vec<String>,
    /// What people said, in order.
    pub guidance: Vec<String>,
    pub(crate) variables: Variables,
    /// Iteration state and round.
    pub(crate) phase: (Option<String>, u64),
    /// The step that comes next, or has to be done again.
    pub(crate) step: u64,
}

impl View {
    /// Reads the state of a run.
    ///
    /// # Errors
    ///
    /// `Invalid` where the task is no optimizer's, or somebody edited an artifact into something
    /// else than a list of texts. Else as [`Run::state`].
    pub fn of(engine: &Engine, run: &Run) -> Result<Self> {
        Self::at(engine, run.state()?)
    }

    /// The same for a state of any point.
    ///
    /// # Errors
    ///
    /// As [`View::of`].
    pub fn at(engine: &Engine, state: RunState) -> Result<Self> {
        let Some(prompt) = state.prompt else {
            return Err(Error::invalid(
                "the task has no prompt: it is no optimizer's, give another task or store",
            ));
        };
        let variables = serde_json::from_value(state.variables.to_value()).map_err(|e| {
            Error::invalid(format!(
                "the variables are no optimizer's: {e}; go back to a checkpoint before the edit"
            ))
        })?;
        let list = |name: &str| match state.artifacts.get(name) {
            Some(json) => read(name, json),
            None => Ok(Vec::new()),
        };
        // Long guidance is in chunks, and those are the engine's.
        let chunks = engine.chunks();
        let said = state.guidance.iter(chunks.as_ref());
        let guidance = said.map(|said| said.map(|said| said.given.text));
        // A step that was begun and did not end has to be done again.
        let step = match state.step {
            None => 1,
            Some(step) if step.status == StepStatus::Finished => step.number + 1,
            Some(step) => step.number,
        };
        Ok(Self {
            prompt,
            rules: match &state.rules {
                Some(json) => read("rules", json)?,
                None => Rules::default(),
            },
            patterns: list(PATTERNS)?,
            candidates: list(CANDIDATES)?,
            guidance: guidance.collect::<Result<_>>()?,
            variables,
            phase: (state.phase, state.iteration),
            step,
        })
    }

    /// The layer that comes next; nothing where all rounds are done.
    pub fn next(&self) -> Option<Place> {
        (self.step <= self.variables.rounds.saturating_mul(LAYERS))
            .then(|| Place::of_step(self.step))
    }

    /// The points of the prompt, once it was evaluated.
    pub fn score(&self) -> Option<u64> {
        self.variables.score
    }
}

fn read<T: DeserializeOwned>(name: &str, json: &Json) -> Result<T> {
    serde_json::from_str(json.text()).map_err(|e| {
        Error::invalid(format!(
            "`{name}` was edited into something else: {e}; edit it again, or go back to a \
             checkpoint before the edit"
        ))
    })
}
