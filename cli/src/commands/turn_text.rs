//! Texts of turns and of their parts.

use milepost::reading::{Turn, TurnCall};
use milepost_api::PointForm;

use crate::backend::Backend;
use crate::error::{Failure, Result};

/// Returns the first readable offset of a point's lineage.
pub fn begin_of(source: &dyn Backend, point: &PointForm) -> Result<u64> {
    let lineages = source.lineages(&point.task)?;
    let lineage = lineages.iter().find(|lineage| lineage.id == point.lineage);
    let dropped = || Failure::new("the lineage was dropped by another command");
    lineage.map(|lineage| lineage.begin.0).ok_or_else(dropped)
}

/// Returns what a turn did: its call, or what was said.
pub fn what(turn: &Turn) -> String {
    let call = |call: &TurnCall| format!("{} {}", call.tool, call.arguments);
    let more = (turn.calls.len() as u64 + turn.more_calls).saturating_sub(1);
    match (turn.calls.first(), &turn.said, &turn.heard, &turn.name) {
        (Some(first), ..) if more > 0 => format!("{} (+{more})", call(first)),
        (Some(first), ..) => call(first),
        (None, Some(said), ..) => said.clone(),
        (None, None, Some(heard), _) => heard.clone(),
        (None, None, None, Some(name)) => name.clone(),
        (None, None, None, None) => "-".to_owned(),
    }
}

/// Returns the result: the reason of a failure, the last result, a reply, or the metrics.
pub fn result(turn: &Turn) -> String {
    let of_calls = turn.calls.iter().rev().find_map(|call| call.result.clone());
    let heard = || turn.heard.clone().filter(|_| turn.said.is_some() && turn.calls.is_empty());
    let metrics = || {
        let all = turn.metrics.iter().map(|(name, value)| format!("{name}={value}"));
        all.collect::<Vec<_>>().join(" ")
    };
    let result = turn.failed.clone().or(of_calls).or_else(heard);
    let label = turn.mark.as_ref().and_then(|mark| mark.label.as_ref());
    let result = result.unwrap_or_else(metrics);
    match label {
        Some(label) => format!("[{label}] {result}"),
        None => result,
    }
}
