//! Details of the tasks and checkpoints on the screen.

use std::ops::Range;

use milepost::Body;
use milepost::events::{StepFailed, StepFinished};
use milepost_api::{CheckpointForm, PointForm};

use super::filter;
use super::list::List;
pub use super::preview::Preview;
use crate::backend::{Backend, point_at};
use crate::error::Result;
use crate::output::{printable, words};

/// Numbers of events before a checkpoint that are searched for its step: the first, and if it is
/// not among them the second. A list of all checkpoints only searches the near ones.
const EVENTS: &[u64] = &[64, 1024];
pub const NEAR: &[u64] = &[64];

/// Details of a task.
#[derive(Debug, Default)]
pub struct About {
    pub user: String,
    pub head: u64,
    /// Time of its last event, if known.
    pub last_us: Option<u64>,
}

/// Details of a checkpoint that the list does not have. A detail that cannot be read is missing.
#[derive(Debug, Default)]
pub struct Details {
    /// The last step before it.
    pub step: Option<String>,
    /// Number of events since its parent checkpoint.
    pub events: Option<u64>,
}

/// Returns the point of a checkpoint, without reading the store.
pub fn point(checkpoint: &CheckpointForm) -> PointForm {
    point_at(&checkpoint.task, checkpoint.lineage, checkpoint.at.0)
}

pub fn about(source: &dyn Backend, id: &str) -> Result<About> {
    let task = source.task(id)?;
    let last = task.head.0.checked_sub(1);
    // The event may have been erased or trimmed.
    let last_us = last.and_then(|last| {
        let point = source.point(&words::address(id, task.active, last)).ok()?;
        Some(source.event(&point).ok()?.event.time_us.0)
    });
    Ok(About { user: printable(&task.user).into_owned(), head: task.head.0, last_us })
}

pub fn details(source: &dyn Backend, list: &List, checkpoint: &CheckpointForm) -> Details {
    let at = checkpoint.at.0;
    let before = match &checkpoint.parent {
        Some(parent) => list.offset(parent).or_else(|| {
            let point = source.point(&format!("@{parent}"));
            Some(point.ok()?.offset.0)
        }),
        None => Some(0),
    };
    Details {
        step: step(source, checkpoint, EVENTS),
        // A mark at an older point has no events since its parent.
        events: before.and_then(|before| at.checked_sub(before)),
    }
}

/// Returns the number and the name of a checkpoint's step: the one that its metadata names,
/// otherwise the last one that an event before it names. Events are searched for the name, up to
/// the given numbers of them.
pub fn step(source: &dyn Backend, checkpoint: &CheckpointForm, counts: &[u64]) -> Option<String> {
    let number = filter::step(checkpoint);
    let (point, mut end) = (point(checkpoint), checkpoint.at.0);
    for count in counts {
        let begin = checkpoint.at.0.saturating_sub(*count);
        match last_step(source, &point, begin..end, number) {
            Ok(None) => end = begin,
            Ok(Some(step)) => return Some(step),
            Err(_) => break,
        }
    }
    number.map(|number| number.to_string())
}

/// Returns the last step that an event of a range names; with a number, the last beginning of that
/// step.
fn last_step(
    source: &dyn Backend,
    point: &PointForm,
    range: Range<u64>,
    number: Option<u64>,
) -> Result<Option<String>> {
    let mut last: Option<(Option<u64>, String)> = None;
    source.events(point, range, &mut |event| {
        let named = match &event.body {
            Some(Body::StepStarted(step)) if number.is_none_or(|number| number == step.step) => {
                let name = step.name.as_ref().map_or_else(String::new, |name| format!(": {name}"));
                Some((Some(step.step), format!("{}{name}", step.step)))
            }
            // With a number, only the beginning of the step counts: its end has no name.
            _ if number.is_some() => None,
            Some(
                Body::StepFinished(StepFinished { step, .. })
                | Body::StepFailed(StepFailed { step, .. }),
            ) => {
                let is_begun = last.as_ref().is_some_and(|(known, _)| *known == Some(*step));
                (!is_begun).then(|| (Some(*step), step.to_string()))
            }
            Some(Body::PhaseChanged(phase)) => {
                Some((None, format!("{} {}", phase.iteration, phase.phase)))
            }
            _ => None,
        };
        last = named.or_else(|| last.take());
        Ok(())
    })?;
    Ok(last.map(|(_, text)| printable(&text).into_owned()))
}
