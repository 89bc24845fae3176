//! What argmin calls to save and to load.

use argmin::core::checkpointing::{Checkpoint, CheckpointingFrequency};
use argmin::core::{ArgminFloat, Error, State};
use milepost::{Append, Application, Body, Data, Json, Lineage, Mark, MarkCause, Offset};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::form;

/// The name of the events that hold a solver and its state.
pub const EVENT_NAME: &str = "argmin.state";

/// Keeps a solver's checkpoints in a lineage of a Milepost store.
///
/// Each save is one event, with the solver and the state, and a mark behind it, in one commit. Both
/// are durable when argmin goes on. A load takes the state of the newest mark of a success, on the
/// lineage or on those it came from: after a restore the solver goes on from where the task was
/// restored to.
///
/// What is loaded replaces what the executor was configured with, the limit of iterations too. A
/// task is for one type of solver and of state: the bytes do not say which types they are of.
///
/// ```
/// use argmin::core::checkpointing::CheckpointingFrequency;
/// use milepost::{Engine, Options};
/// use milepost_example_argmin::{LogCheckpoint, rosenbrock};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("valley", "ana")?;
/// let checkpoint = LogCheckpoint::new(task.lineage(), CheckpointingFrequency::Every(50));
/// rosenbrock::executor().checkpointing(checkpoint).run()?;
/// let newest = task.last_successful()?.and_then(|checkpoint| checkpoint.label);
/// assert_eq!(newest.as_deref(), Some("iteration-200"));
/// # Ok::<(), argmin::core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LogCheckpoint {
    lineage: Lineage,
    frequency: CheckpointingFrequency,
}

/// What a mark says of its state, for lists and filters.
#[derive(Serialize)]
struct Metadata {
    iteration: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

impl LogCheckpoint {
    /// Saves to a lineage, and loads from it. The lineage of a [`milepost::Task`] refuses what
    /// comes after the task was restored; that of a branch goes on whatever is active.
    pub fn new(lineage: &Lineage, frequency: CheckpointingFrequency) -> Self {
        Self { lineage: lineage.clone(), frequency }
    }

    /// The newest state that is marked as a success, and where it is.
    fn newest(&self) -> milepost::Result<Option<(Offset, Data)>> {
        let Some(checkpoint) = self.lineage.last_successful()? else {
            return Ok(None);
        };
        // As a rule it is the event right before the mark. Others are in between where somebody
        // marked by hand, or another thread appended: it is the last state that was saved by then.
        for offset in (0..checkpoint.at).rev() {
            for event in self.lineage.read(offset..=offset)? {
                if let Some(Body::Application(Application { name, data })) = event?.body
                    && name == EVENT_NAME
                {
                    return Ok(Some((offset, data)));
                }
            }
        }
        Ok(None)
    }

    /// Says where the state is that cannot be read, and how to go on without it.
    fn explain(&self, offset: Offset, error: milepost::Error) -> milepost::Error {
        let (task, lineage) = (self.lineage.task_id(), self.lineage.id());
        let message = format!(
            "the state at {task}/{lineage}@{offset} cannot be used: {error}; go back to an \
             earlier checkpoint with `milepost restore {task}~2` (`milepost checkpoints {task}` \
             lists them), or start another task"
        );
        milepost::Error::new(error.kind(), message).with_source(error)
    }
}

impl<S, I> Checkpoint<S, I> for LogCheckpoint
where
    S: Serialize + DeserializeOwned,
    I: State + Serialize + DeserializeOwned,
{
    fn save(&self, solver: &S, state: &I) -> Result<(), Error> {
        let iteration = state.get_iter();
        let metadata = Metadata { iteration, cost: finite(state.get_best_cost()) };
        let event = Application {
            name: EVENT_NAME.to_owned(),
            data: Data::Bytes(form::encode(&(solver, state))?),
        };
        let mark = Mark::new()
            .cause(MarkCause::Step)
            .label(format!("iteration-{iteration}"))
            .metadata(Json::from_value(&metadata)?);
        self.lineage.append(Append::from(event).mark(mark))?;
        Ok(())
    }

    fn load(&self) -> Result<Option<(S, I)>, Error> {
        let Some((offset, data)) = self.newest()? else {
            return Ok(None);
        };
        let loaded = form::decode(&data).map_err(|error| self.explain(offset, error))?;
        Ok(Some(loaded))
    }

    fn frequency(&self) -> CheckpointingFrequency {
        self.frequency
    }
}

/// The number, where JSON has one for it.
fn finite<F: ArgminFloat>(number: F) -> Option<f64> {
    number.to_f64().filter(|number| number.is_finite())
}
