//! Checkpointing for argmin: saves and loads a solver and its state.

use argmin::core::checkpointing::{Checkpoint, CheckpointingFrequency};
use argmin::core::{ArgminFloat, Error, State};
use milepost::events::{Application, Data, MarkCause};
use milepost::{Append, Body, Json, Lineage, Mark, Offset};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::form;

/// The name of the events with a solver and its state.
pub const EVENT_NAME: &str = "argmin.state";

/// Stores a solver's checkpoints in a lineage of a Milepost store.
///
/// Each save appends an event with the solver and the state, and a mark after it, in one commit.
/// Both are durable before argmin continues. A load takes the state at the newest mark of a
/// success, on the lineage or its ancestors: after a restore the solver continues from the restored
/// point.
///
/// The loaded state replaces the executor's configuration, including the limit of iterations. Use a
/// task for one type of solver and state only: the bytes do not identify the types.
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

/// Metadata of a mark, for lists and filters.
#[derive(Serialize)]
struct Metadata {
    iteration: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

impl LogCheckpoint {
    /// Creates a checkpoint that saves to and loads from `lineage`. The lineage of a
    /// [`milepost::Task`] refuses appends after the task was restored; the lineage of a branch
    /// accepts them even if it is not active.
    pub fn new(lineage: &Lineage, frequency: CheckpointingFrequency) -> Self {
        Self { lineage: lineage.clone(), frequency }
    }

    /// Returns the newest state that is marked as a success, and its offset.
    fn newest(&self) -> milepost::Result<Option<(Offset, Data)>> {
        let Some(checkpoint) = self.lineage.last_successful()? else {
            return Ok(None);
        };
        // Usually the event right before the mark. Manual marks and appends of other threads may be
        // in between; then it is the last state saved before the mark.
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

    /// Adds to an error the place of the unreadable state, and how to continue without it.
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

/// Returns the number if JSON can represent it.
fn finite<F: ArgminFloat>(number: F) -> Option<f64> {
    number.to_f64().filter(|number| number.is_finite())
}
