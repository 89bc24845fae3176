//! tau-bench results: an array of `{task_id, trial, reward, info, traj[]}`.
//!
//! The trials of one task become lineages of one task, with steps as in `turns`. Reward, info and
//! trial of an entry become variables.

use milepost::Body;
use milepost::events::{MarkStatus, ToolReturned};
use std::collections::BTreeMap;

use super::plan::{Plan, Run};
use super::turns::Turns;
use crate::json_object::{Object, as_text};

/// Tolerance of tau-bench: a trial passes with a reward of at least 1 minus this.
const REWARD_SLACK: f64 = 1e-6;

/// Returns a plan for each task, in the order of their first entries.
pub fn plans(entries: Vec<Object>) -> Result<Vec<Plan>, String> {
    let mut plans: Vec<Plan> = Vec::new();
    let mut by_task: BTreeMap<String, usize> = BTreeMap::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let place = format!("entry {index}");
        let task = entry.get("task_id").ok_or_else(|| format!("{place} has no `task_id`"))?;
        let task = as_text(task).unwrap_or_else(|| task.text().to_owned());
        let run = run(entry, &place)?;
        let at = *by_task.entry(task.clone()).or_insert(plans.len());
        match plans.get_mut(at) {
            Some(plan) => plan.runs.push(run),
            None => plans.push(Plan { suffix: Some(task), runs: vec![run] }),
        }
    }
    Ok(plans)
}

fn run(mut entry: Object, place: &str) -> Result<Run, String> {
    let messages = entry
        .take_list("traj")
        .ok_or_else(|| format!("{place} has no list of messages under `traj`"))?;
    let trial = entry.get("trial").map(|json| format!("trial {}", json.text()));
    let mut run = Run { description: trial, items: Vec::new() };
    let mut turns = Turns::new(&mut run);
    for (index, message) in messages.into_iter().enumerate() {
        let place = format!("message {index} of {place}");
        turns.message(message, &place, with_outcome)?;
    }
    let status = status(&entry);
    turns.end(entry, status)?;
    Ok(run)
}

fn status(entry: &Object) -> MarkStatus {
    match entry.get("reward").and_then(|json| json.value().ok()).and_then(|reward| reward.as_f64())
    {
        Some(reward) if reward < 1.0 - REWARD_SLACK => MarkStatus::Failure,
        _ => MarkStatus::Success,
    }
}

/// Sets the outcome of a tool call. The tools of tau-bench report a failure by a text that begins
/// with `Error`.
fn with_outcome(body: Body) -> Body {
    match body {
        Body::ToolReturned(returned) => {
            let text = returned.output.as_ref().and_then(as_text);
            let ok = !text.is_some_and(|text| text.starts_with("Error"));
            Body::ToolReturned(ToolReturned { ok, ..returned })
        }
        other => other,
    }
}
