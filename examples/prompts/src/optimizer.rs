//! The optimizer: runs one layer after another, with safe points in between.

use std::fmt;

use milepost::events::{Float, RunControl, StepFinished, StepStarted};
use milepost::{Append, Checkpoint, Engine, ErrorKind, Json, LineageId, Result, Task};
use milepost_runtime::run::{Run, RunOptions, SafePoint};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::layers::{self, Ask};
use crate::model;
use crate::place::Place;
use crate::view::{Rules, Variables, View};

/// Configuration of a new optimization.
#[derive(Debug, Clone)]
pub struct Brief {
    /// The first prompt.
    pub prompt: String,
    /// The number of rounds.
    pub rounds: u64,
    /// The seed of the scripted model.
    pub seed: u64,
}

/// Starts a task with the brief as its initial state.
///
/// # Errors
///
/// As [`Engine::start_task_from`].
pub fn start(engine: &Engine, id: &str, user: &str, brief: &Brief) -> Result<Task> {
    let variables = Variables { rounds: brief.rounds, seed: brief.seed, ..Variables::default() };
    let initial = serde_json::json!({
        "prompt": brief.prompt,
        "rules": Rules::default(),
        "variables": variables,
    });
    engine.start_task_from(id, user, Some(Json::from_value(&initial)?), None)
}

/// Returns the options of an optimizer's run: a checkpoint at the end of each layer, and no stop if
/// a checkpoint cannot be saved.
pub fn options() -> RunOptions {
    RunOptions::default().actor("optimizer")
}

/// A progress message of the optimizer.
#[derive(Debug)]
pub enum Told<'a> {
    /// Asks the model, because the log does not have the answer.
    Asks {
        /// The layer.
        place: Place,
        /// The key of the answer.
        key: &'a str,
    },
    /// The log has an answer.
    Answered(Place),
    /// The log has the events of a layer, but not its end.
    Recorded(Place),
    /// A layer ended.
    Finished {
        /// The layer.
        place: Place,
        /// The state after the layer.
        view: &'a View,
        /// The checkpoint, if it could be saved.
        checkpoint: Option<&'a Checkpoint>,
    },
    /// The task was restored; the optimizer continues with this lineage.
    Elsewhere(LineageId),
}

/// Reason for the end of [`Optimizer::go`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All rounds are done.
    Done,
    /// The run was stopped.
    Stopped(RunControl),
}

type Teller<'a> = Box<dyn FnMut(&Told<'_>) -> Result<()> + 'a>;

/// An optimizer on a run. It holds no state itself: the run's state is all that it needs.
///
/// ```
/// use milepost_runtime::run::Run;
/// use milepost::{Engine, Options};
/// use milepost_example_prompts::{Brief, End, Optimizer, options, start};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let brief = Brief { prompt: "Help the customer.".into(), rounds: 2, seed: 7 };
/// let run = Run::of(start(&engine, "prompts", "ana", &brief)?, options())?;
/// let mut optimizer = Optimizer::take_up(&engine, &run)?;
/// assert_eq!(optimizer.go()?, End::Done);
/// assert_ne!(optimizer.view()?.prompt, brief.prompt);
/// # Ok::<(), milepost::Error>(())
/// ```
pub struct Optimizer<'a> {
    engine: &'a Engine,
    run: &'a Run,
    told: Teller<'a>,
}

impl fmt::Debug for Optimizer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Optimizer").field("run", self.run).finish_non_exhaustive()
    }
}

impl<'a> Optimizer<'a> {
    /// Continues a run from its state: at its beginning, in the middle of a layer, or after a
    /// restore.
    ///
    /// # Errors
    ///
    /// As [`View::of`].
    pub fn take_up(engine: &'a Engine, run: &'a Run) -> Result<Self> {
        View::of(engine, run)?;
        let told = Box::new(|_: &Told<'_>| Ok(()));
        Ok(Self { engine, run, told })
    }

    /// Sets a callback for progress messages. An error of the callback ends [`Optimizer::go`].
    #[must_use]
    pub fn tell(mut self, told: impl FnMut(&Told<'_>) -> Result<()> + 'a) -> Self {
        self.told = Box::new(told);
        self
    }

    /// Returns the current state.
    ///
    /// # Errors
    ///
    /// As [`View::of`].
    pub fn view(&self) -> Result<View> {
        View::of(self.engine, self.run)
    }

    /// Runs until all rounds are done or the run is stopped. Starts an idle or stopped run; a
    /// paused run waits until it is resumed.
    ///
    /// # Errors
    ///
    /// As [`View::of`] and [`Run::finish_step`]. Another call continues with the same layer.
    pub fn go(&mut self) -> Result<End> {
        if self.view()?.next().is_none() {
            return Ok(End::Done);
        }
        if let RunControl::Idle | RunControl::Stopped = self.run.task().control().now()? {
            self.run.begin()?;
        }
        loop {
            match self.run.safe_point()? {
                SafePoint::Go => {}
                SafePoint::Stop(control) => return Ok(End::Stopped(control)),
                SafePoint::Elsewhere(lineage) => {
                    (self.told)(&Told::Elsewhere(lineage))?;
                    continue;
                }
            }
            let view = self.view()?;
            let done = match view.next() {
                Some(place) => self.layer(&view, place).map(|()| None),
                None => self.run.end().map(|()| Some(End::Done)),
            };
            match done {
                Ok(None) => {}
                Ok(Some(end)) => return Ok(end),
                // The task was restored in the middle of the layer, whose results are void.
                Err(error) if error.kind() == ErrorKind::Conflict => match self.run.safe_point()? {
                    SafePoint::Elsewhere(lineage) => (self.told)(&Told::Elsewhere(lineage))?,
                    _ => return Err(error),
                },
                // The run was paused between the safe point and its end: wait again.
                Err(error) if self.is_held(&view)? => drop(error),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns `true` if all rounds are done and the run is not running.
    fn is_held(&self, view: &View) -> Result<bool> {
        Ok(view.next().is_none() && self.run.task().control().now()? != RunControl::Running)
    }

    fn layer(&mut self, view: &View, place: Place) -> Result<()> {
        let step = view.step;
        let entered = (Some(place.layer.phase().to_owned()), place.round);
        if view.phase != entered {
            self.run.enter_phase(place.layer.phase(), place.round)?;
        }
        // After a kill between the results and the end of a layer, only the end is missing.
        if view.variables.done != step {
            self.run.start_step(StepStarted {
                step,
                name: Some(place.layer.phase().to_owned()),
                iteration: Some(place.round),
            })?;
            let bodies = layers::work(view, place, self)?;
            self.run.append(Append::batch(bodies))?;
            (self.told)(&Told::Recorded(place))?;
        }
        let score = self.view()?.score();
        let metrics = score.map(|points| ("score".to_owned(), Float(points as f64)));
        let checkpoint = self.run.finish_step(StepFinished {
            step,
            metrics: metrics.into_iter().collect(),
            ..Default::default()
        })?;
        let view = &self.view()?;
        let checkpoint = checkpoint.as_ref();
        (self.told)(&Told::Finished { place, view, checkpoint })
    }
}

impl Ask for Optimizer<'_> {
    fn ask<Q: Serialize, A: Serialize + DeserializeOwned>(
        &mut self,
        place: Place,
        question: &Q,
        answer: impl FnOnce() -> A,
    ) -> Result<A> {
        // The key contains the question: with other guidance it is a new question.
        let question = Json::from_value(question)?;
        let key = format!("{place} {:016x}", model::hash(&[question.text()]));
        let told = &mut self.told;
        let answered = self.run.once(&key, || {
            told(&Told::Asks { place, key: &key })?;
            Ok(answer())
        })?;
        (self.told)(&Told::Answered(place))?;
        Ok(answered)
    }
}
