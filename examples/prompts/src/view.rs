//! The part of the run's state that the optimizer reads. The optimizer has no other state: any
//! process that reads this state can continue the run, also after a restore.

use std::collections::BTreeMap;

use milepost::state::StepStatus;
use milepost::{Engine, Error, Json, Result, RunState};
use milepost_runtime::run::Run;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::place::{LAYERS, Place};

/// The artifact with the faults of the answers.
pub(crate) const PATTERNS: &str = "patterns";

/// The artifact with the candidate prompts.
pub(crate) const CANDIDATES: &str = "candidate_prompts";

/// The rule system: the lessons of the optimizer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The lesson of each round.
    pub learned: Vec<String>,
    /// The fault to ignore for a round, because the candidate against it scored worst.
    pub set_aside: Option<String>,
}

/// The variables of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Variables {
    /// The number of rounds.
    pub(crate) rounds: u64,
    /// The seed of the scripted model.
    pub(crate) seed: u64,
    /// The last step whose results are in the state. Its end may still be missing.
    pub(crate) done: u64,
    /// The points of the prompt, after its evaluation.
    pub(crate) score: Option<u64>,
    /// The points of the last evaluation, by prompt.
    pub(crate) scores: BTreeMap<String, u64>,
}

/// The state that the optimizer continues from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The prompt.
    pub prompt: String,
    /// The rule system.
    pub rules: Rules,
    /// The faults of the answers to the prompt.
    pub patterns: Vec<String>,
    /// The candidate prompts.
    pub candidates: Vec<String>,
    /// The texts of the guidance, in order.
    pub guidance: Vec<String>,
    pub(crate) variables: Variables,
    /// Iteration state and round.
    pub(crate) phase: (Option<String>, u64),
    /// The next step, or the step to repeat.
    pub(crate) step: u64,
}

impl View {
    /// Reads the state of a run.
    ///
    /// # Errors
    ///
    /// `Invalid`: the task is not an optimizer's, or an artifact was edited into another type than
    /// a list of texts. Otherwise as [`Run::state`].
    pub fn of(engine: &Engine, run: &Run) -> Result<Self> {
        Self::at(engine, run.state()?)
    }

    /// Reads the state of any point.
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
        // Long guidance is in chunks of the engine.
        let chunks = engine.chunks();
        let said = state.guidance.iter(chunks.as_ref());
        let guidance = said.map(|said| said.map(|said| said.given.text));
        // A step without an end is repeated.
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

    /// Returns the next layer, or `None` if all rounds are done.
    pub fn next(&self) -> Option<Place> {
        (self.step <= self.variables.rounds.saturating_mul(LAYERS))
            .then(|| Place::of_step(self.step))
    }

    /// Returns the points of the prompt, after its evaluation.
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
