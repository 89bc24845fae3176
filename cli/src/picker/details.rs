//! Details of the tasks and checkpoints on the screen.

use std::ops::Range;

use milepost::Body;
use milepost_api::{CheckpointForm, PointForm};

use super::filter;
use super::list::List;
pub use super::preview::{Line, Preview, Tone};
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{printable, words};

/// Number of events before a checkpoint that are searched for its step: first, then in addition.
const EVENTS: [u64; 2] = [64, 1024];

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
    let CheckpointForm { task, lineage, at, .. } = checkpoint;
    PointForm {
        address: words::address(task, lineage, at.0),
        task: task.clone(),
        lineage: *lineage,
        offset: *at,
        hash: checkpoint.hash,
        checkpoint: Some(checkpoint.id),
    }
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
        step: step(source, checkpoint),
        // A mark at an older point has no events since its parent.
        events: before.and_then(|before| at.checked_sub(before)),
    }
}

/// Returns the step that the checkpoint names, or the last step that an event before it names.
fn step(source: &dyn Backend, checkpoint: &CheckpointForm) -> Option<String> {
    if let Some(step) = filter::step(checkpoint) {
        return Some(step.to_string());
    }
    let (point, mut end) = (point(checkpoint), checkpoint.at.0);
    for count in EVENTS {
        let begin = checkpoint.at.0.saturating_sub(count);
        if let Some(step) = last_step(source, &point, begin..end).ok()? {
            return Some(step);
        }
        end = begin;
    }
    None
}

fn last_step(source: &dyn Backend, point: &PointForm, range: Range<u64>) -> Result<Option<String>> {
    let mut last = None;
    source.events(point, range, &mut |event| {
        if let Some(step) = event.body.as_ref().and_then(step_of) {
            last = Some(step);
        }
        Ok(())
    })?;
    Ok(last)
}

fn step_of(body: &Body) -> Option<String> {
    let text = match body {
        Body::StepStarted(step) => match &step.name {
            Some(name) => format!("{}: {name}", step.step),
            None => step.step.to_string(),
        },
        Body::StepFinished(step) => step.step.to_string(),
        Body::StepFailed(step) => step.step.to_string(),
        Body::PhaseChanged(phase) => format!("{} {}", phase.iteration, phase.phase),
        _ => return None,
    };
    Some(printable(&text).into_owned())
}
