//! What people do to a run, from any thread, best while it is paused: what a layer that is at work
//! has read already it does not read again.

use std::collections::BTreeMap;

use milepost::{ArtifactsEdited, Engine, GuidanceGiven, Json, Result, Task};

use crate::view::{CANDIDATES, View};

/// Says what to do. The next layer that asks the model tells it.
///
/// # Errors
///
/// As [`Task::append`].
pub fn guide(task: &Task, text: &str) -> Result<()> {
    let text = text.to_owned();
    task.append(GuidanceGiven { text, data: None }).map(|_| ())
}

/// Puts a candidate in by hand, behind those that are there.
///
/// # Errors
///
/// As [`View::of`] and [`Task::append`].
pub fn propose(engine: &Engine, task: &Task, prompt: &str) -> Result<()> {
    let head = task.head()?.next;
    let state = engine.run_state(&task.point(head)?)?;
    let mut candidates = View::at(engine, state)?.candidates;
    candidates.push(prompt.to_owned());
    let candidates = Json::from_value(&candidates)?;
    let artifacts = BTreeMap::from([(CANDIDATES.to_owned(), candidates)]);
    // Where a layer changed the list meanwhile this is a conflict, and not its end.
    let edit = milepost::Append::from(ArtifactsEdited { artifacts }).expect_head(head);
    task.append(edit).map(|_| ())
}
