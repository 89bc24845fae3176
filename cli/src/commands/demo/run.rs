//! The optimizer's run as events. Each iteration is one durable append. The variables hold the
//! whole optimizer, so that a run can resume at any point.

use std::collections::BTreeMap;

use milepost::events::{
    ControlChanged, Float, GuidanceGiven, MarkCause, PatchForm, PhaseChanged, RunControl,
    StepFinished, StepStarted, VariablesPatched,
};
use milepost::state::MessageRange;
use milepost::{Append, Body, Engine, Hash, Json, Lineage, Mark, Offset, Point};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::optimizer::{Optimizer, Position, on_grid};
use crate::error::{Failure, Result};

/// Number of iterations between checkpoints.
pub const CHECKPOINT_EVERY: u64 = 100;

/// A durable append.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Acknowledged {
    /// The offset of its last event.
    pub offset: Offset,
    /// The chain hash after that event, which commits to all events up to it.
    pub hash: Hash,
    /// Number of events.
    pub events: u64,
    /// Number of completed iterations.
    pub iteration: u64,
}

/// An optimizer that records itself.
pub struct DemoRun {
    pub lineage: Lineage,
    pub optimizer: Optimizer,
}

impl DemoRun {
    /// Begins a run on a task that was just started.
    pub fn begin(lineage: Lineage, optimizer: Optimizer) -> Result<(Self, Acknowledged)> {
        let run = Self { lineage, optimizer };
        let phase = PhaseChanged { previous: None, phase: "search".into(), iteration: 0 };
        let begun = run.append([
            control(RunControl::Idle, RunControl::Running, None),
            phase.into(),
            run.variables()?,
        ])?;
        Ok((run, begun))
    }

    /// Resumes a run from the state at a point.
    pub fn take_up(engine: &Engine, lineage: Lineage, point: &Point) -> Result<Self> {
        Ok(Self { lineage, optimizer: optimizer_at(engine, point)? })
    }

    /// Runs and records one iteration, with a checkpoint after every [`CHECKPOINT_EVERY`]
    /// iterations. Reports durable appends to `heard`.
    fn step(&mut self, heard: &mut impl FnMut(Acknowledged) -> Result<()>) -> Result<()> {
        self.optimizer.step();
        let step = self.optimizer.iteration;
        let metrics = BTreeMap::from([
            ("score".to_owned(), Float(self.optimizer.score())),
            ("step_size".to_owned(), Float(self.optimizer.step_size)),
        ]);
        heard(self.append([
            StepStarted { step, name: None, iteration: Some(step) }.into(),
            self.variables()?,
            StepFinished { step, result: None, metrics }.into(),
        ])?)?;
        if step.is_multiple_of(CHECKPOINT_EVERY) {
            heard(self.mark()?)?;
        }
        Ok(())
    }

    /// Runs up to this iteration. Reports durable appends to `heard`.
    pub fn until(
        &mut self,
        iteration: u64,
        mut heard: impl FnMut(Acknowledged) -> Result<()>,
    ) -> Result<()> {
        while self.optimizer.iteration < iteration {
            self.step(&mut heard)?;
        }
        Ok(())
    }

    fn mark(&self) -> Result<Acknowledged> {
        let iteration = self.optimizer.iteration;
        let metadata = json!({"iteration": iteration, "score": on_grid(self.optimizer.score())});
        let mark = Mark::new()
            .cause(MarkCause::Step)
            .label(label(iteration))
            .metadata(Json::from_value(&metadata)?);
        let offset = self.lineage.checkpoint(mark)?.mark;
        let hash = self.lineage.head()?.hash;
        Ok(Acknowledged { offset, hash, events: 1, iteration })
    }

    pub fn pause(&self) -> Result<Acknowledged> {
        let reason = Some("a person wants to look".to_owned());
        self.append([control(RunControl::Running, RunControl::Paused, reason)])
    }

    pub fn resume(&self) -> Result<Acknowledged> {
        self.append([control(RunControl::Paused, RunControl::Running, None)])
    }

    pub fn end(&self) -> Result<Acknowledged> {
        self.append([control(RunControl::Running, RunControl::Idle, Some("done".to_owned()))])
    }

    /// Records guidance, and applies its step size.
    pub fn guide(&mut self, text: &str, step_size: f64) -> Result<Acknowledged> {
        self.optimizer.step_size = on_grid(step_size);
        let data = Json::from_value(&json!({"step_size": step_size}))?;
        let given = GuidanceGiven { text: text.to_owned(), data: Some(data) };
        self.append([given.into(), self.variables()?])
    }

    fn append<const N: usize>(&self, bodies: [Body; N]) -> Result<Acknowledged> {
        let appended = self.lineage.append(Append::batch(bodies).actor("optimizer"))?;
        let events = u64::from(appended.count);
        let offset = appended.first + events - 1;
        let iteration = self.optimizer.iteration;
        Ok(Acknowledged { offset, hash: appended.head.hash, events, iteration })
    }

    /// Returns the whole optimizer as variables. The generator's state may exceed 2^53, so it is a
    /// string.
    fn variables(&self) -> Result<Body> {
        let optimizer = &self.optimizer;
        let patch = json!({
            "iteration": optimizer.iteration,
            "score": on_grid(optimizer.score()),
            "step_size": optimizer.step_size,
            "centre": optimizer.centre,
            "best": optimizer.best,
            "random": optimizer.random.to_string(),
        });
        let patch = Json::from_value(&patch)?;
        Ok(VariablesPatched { form: PatchForm::Merge, patch }.into())
    }
}

pub fn label(iteration: u64) -> String {
    format!("iteration-{iteration}")
}

fn control(from: RunControl, to: RunControl, reason: Option<String>) -> Body {
    ControlChanged { from, to, reason }.into()
}

/// Reads the optimizer from the state at a point.
pub fn optimizer_at(engine: &Engine, point: &Point) -> Result<Optimizer> {
    #[derive(Deserialize)]
    struct Variables {
        iteration: u64,
        step_size: f64,
        centre: Position,
        best: Position,
        random: String,
    }
    let state = engine.run_state(point)?;
    let mut state = state.to_json(engine.chunks().as_ref(), MessageRange::None)?;
    let variables = state.get_mut("variables").map(serde_json::Value::take).unwrap_or_default();
    let variables: Variables = serde_json::from_value(variables)?;
    let random = variables.random.parse();
    Ok(Optimizer {
        iteration: variables.iteration,
        centre: variables.centre.map(on_grid),
        best: variables.best.map(on_grid),
        step_size: on_grid(variables.step_size),
        random: random.map_err(|_| Failure::new("the state has no generator to go on with"))?,
    })
}
