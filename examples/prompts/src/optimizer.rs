//! The optimizer: from safe point to safe point, one layer after another.

use std::fmt;

use milepost::{
    Append, Checkpoint, Engine, ErrorKind, FailedSave, Float, Json, LineageId, Result, Run,
    RunControl, RunOptions, SafePoint, StepFinished, StepStarted, Task,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::layers::{self, Ask};
use crate::model;
use crate::place::Place;
use crate::view::{Rules, Variables, View};

/// What a new optimization starts from.
#[derive(Debug, Clone)]
pub struct Brief {
    /// The first prompt.
    pub prompt: String,
    /// How many rounds.
    pub rounds: u64,
    /// What the scripted model is seeded with.
    pub seed: u64,
}

/// Starts a task with a brief: it is the state that the task begins with.
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
    engine.start_task_from(id, user, Some(Json::from_value(&initial)?))
}

/// How an optimizer's run behaves: a checkpoint at the end of each layer, and it goes on where one
/// cannot be saved.
pub fn options() -> RunOptions {
    RunOptions::default().failed_save(FailedSave::Continue).actor("optimizer")
}

/// What the optimizer tells of itself.
#[derive(Debug)]
pub enum Told<'a> {
    /// It asks the model: the answer is not in the log.
    Asks {
        /// The layer.
        place: Place,
        /// The key of the answer.
        key: &'a str,
    },
    /// It has an answer, and that is in the log.
    Answered(Place),
    /// What came of a layer is in the log. Its end is not.
    Recorded(Place),
    /// A layer ended.
    Finished {
        /// The layer.
        place: Place,
        /// What the state is now.
        view: &'a View,
        /// The checkpoint, where it could be saved.
        checkpoint: Option<&'a Checkpoint>,
    },
    /// Somebody went back, and it goes on with this lineage.
    Elsewhere(LineageId),
}

/// Why the optimizer came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All rounds are done.
    Done,
    /// Somebody stopped it.
    Stopped(RunControl),
}

type Teller<'a> = Box<dyn FnMut(&Told<'_>) -> Result<()> + 'a>;

/// An optimizer on a run. It keeps nothing itself: what it goes on with is in the state of the run.
///
/// ```
/// use milepost::{Engine, Options, Run};
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
    /// Takes a run up where it stands: at its beginning, in the middle of a layer, or after
    /// somebody went back.
    ///
    /// # Errors
    ///
    /// As [`View::of`].
    pub fn take_up(engine: &'a Engine, run: &'a Run) -> Result<Self> {
        View::of(engine, run)?;
        let told = Box::new(|_: &Told<'_>| Ok(()));
        Ok(Self { engine, run, told })
    }

    /// Tells what it does. An error of the teller ends [`Optimizer::go`] right there.
    #[must_use]
    pub fn tell(mut self, told: impl FnMut(&Told<'_>) -> Result<()> + 'a) -> Self {
        self.told = Box::new(told);
        self
    }

    /// What the state is now.
    ///
    /// # Errors
    ///
    /// As [`View::of`].
    pub fn view(&self) -> Result<View> {
        View::of(self.engine, self.run)
    }

    /// Goes on until all rounds are done, or somebody stops it. A run that is not going is begun;
    /// one that is paused waits for its person.
    ///
    /// # Errors
    ///
    /// As [`View::of`] and [`Run::finish_step`]. Another call goes on with the same layer.
    pub fn go(&mut self) -> Result<End> {
        if self.view()?.next().is_none() {
            return Ok(End::Done);
        }
        if let RunControl::Idle | RunControl::Stopped = self.run.task().control()? {
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
                // Somebody went back in the middle of the layer: what it does counts no more.
                Err(error) if error.kind() == ErrorKind::Conflict => match self.run.safe_point()? {
                    SafePoint::Elsewhere(lineage) => (self.told)(&Told::Elsewhere(lineage))?,
                    _ => return Err(error),
                },
                // Somebody paused it between the safe point and its end: it waits once more.
                Err(error) if self.is_held(&view)? => drop(error),
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether it came to its end, and is not going.
    fn is_held(&self, view: &View) -> Result<bool> {
        Ok(view.next().is_none() && self.run.task().control()? != RunControl::Running)
    }

    fn layer(&mut self, view: &View, place: Place) -> Result<()> {
        let step = view.step;
        let entered = (Some(place.layer.phase().to_owned()), place.round);
        if view.phase != entered {
            self.run.enter_phase(place.layer.phase(), place.round)?;
        }
        // After a kill between the results and the end of a layer only the end is missing.
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
        // The question is in the key: after other guidance it is another one, and asked anew.
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
