//! Actions of people on a run. They are possible from any thread, but best on a paused run: a layer
//! in progress does not read its input again.

use std::collections::BTreeMap;

use milepost::events::{ArtifactsEdited, GuidanceGiven};
use milepost::{Engine, Json, Result, Task};

use crate::view::{CANDIDATES, View};

/// Gives guidance. The next layer that asks the model passes it on.
///
/// # Errors
///
/// As [`Lineage::append`].
pub fn guide(task: &Task, text: &str) -> Result<()> {
    let text = text.to_owned();
    task.append(GuidanceGiven { text, data: None }).map(|_| ())
}

/// Appends a candidate to the list.
///
/// # Errors
///
/// As [`View::of`] and [`Lineage::append`].
pub fn propose(engine: &Engine, task: &Task, prompt: &str) -> Result<()> {
    let head = task.head()?.next;
    let state = engine.run_state(&task.point(head)?)?;
    let mut candidates = View::at(engine, state)?.candidates;
    candidates.push(prompt.to_owned());
    let candidates = Json::from_value(&candidates)?;
    let artifacts = BTreeMap::from([(CANDIDATES.to_owned(), candidates)]);
    // If a layer changed the list in between, the append fails with a conflict.
    let edit = milepost::Append::from(ArtifactsEdited { artifacts }).expect_head(head);
    task.append(edit).map(|_| ())
}
