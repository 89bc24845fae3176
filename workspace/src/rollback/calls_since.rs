//! Facts of the calls since a point, as their marks have them: folders that captures do not have,
//! and captures that came late.

use std::collections::BTreeSet;

use milepost::events::CheckpointMarked;
use milepost::{Body, Engine, Point, Result, Task};
use serde_json::Value;

use super::authors::is_unreadable;
use super::by_hand::is_behind;
use crate::plan::{NotCovered, Plan};

/// Returns a fact of a mark.
pub(super) fn fact(mark: &CheckpointMarked, name: &str) -> Option<Value> {
    mark.metadata.as_ref()?.value().ok()?.get(name).cloned()
}

/// Returns `true` if a mark has a fact.
pub(super) fn says(mark: &CheckpointMarked, name: &str) -> bool {
    fact(mark, name) == Some(Value::Bool(true))
}

/// Adds the declarations of marks of calls since its point to a plan. They are ignored if the point
/// is not in the history of the task's lineage.
pub(super) fn look_at_calls(
    engine: &Engine,
    task: &Task,
    to: &Point,
    preview: &mut Plan,
) -> Result<()> {
    if !is_behind(engine, task, to)? {
        return Ok(());
    }
    let mut folders = BTreeSet::new();
    for event in task.read(to.offset..)? {
        let event = match event {
            Ok(event) => event,
            // After it all authors are unknown, and the plan marks each path so.
            Err(error) if is_unreadable(&error) => break,
            Err(error) => return Err(error),
        };
        let (Some(Body::CheckpointMarked(mark)), Some(_)) = (event.body, event.header.correlation)
        else {
            continue;
        };
        preview.late += u64::from(says(&mark, "uncaptured"));
        if let Some(Value::String(folder)) = fact(&mark, "folder") {
            folders.insert(folder);
        }
    }
    preview.not_covered = folders.into_iter().map(NotCovered::new).collect();
    Ok(())
}
