//! What is looked up for what is on the screen: of a task, and of a checkpoint.

use std::ops::Range;

use milepost::Body;
use milepost_forms::{CheckpointForm, PointForm};

use super::filter;
use super::list::List;
pub use super::preview::{Line, Preview, Tone};
use crate::backend::Backend;
use crate::commands::words;
use crate::error::Result;
use crate::output::printable;

/// How many events before a checkpoint are read for its step, first and at most.
const EVENTS: [u64; 2] = [64, 1024];

/// What is said of a task.
#[derive(Debug, Default)]
pub struct About {
    pub user: String,
    pub head: u64,
    /// When its last event was appended, where that is known.
    pub last_us: Option<u64>,
}

/// What is said of a checkpoint, beyond what the list knows. What cannot be read is not said.
#[derive(Debug, Default)]
pub struct Details {
    /// The last step before it.
    pub step: Option<String>,
    /// How many events it has beyond the checkpoint before it.
    pub events: Option<u64>,
}

/// The point of a checkpoint. Nothing is asked for it.
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
    // It may have been erased or trimmed.
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
        // A mark at an older point has none beyond it.
        events: before.and_then(|before| at.checked_sub(before)),
    }
}

/// The step that the checkpoint names, or that of the last event before it that names one.
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
