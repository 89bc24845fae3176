//! Messages about a command that ran.

use milepost::Hash;
use milepost_api::{CheckpointForm, FileCounts, ToolCallForm};
use serde_json::{Value, json};

use super::Done;
use super::outcome::Outcome;
use crate::commands::capture;
use crate::error::Result;
use crate::output::{Out, big, count, duration, grouped, note, words};

/// Describes the changes to the folder.
fn described(changes: &FileCounts) -> String {
    if *changes == FileCounts::default() {
        return "nothing changed in the folder".into();
    }
    let FileCounts { created, changed, deleted, renamed, left_out, folders } = changes;
    let (created, changed) = (grouped(created.0), grouped(changed.0));
    let deleted = grouped(deleted.0);
    let mut said = format!("{created} created, {changed} changed, {deleted} deleted");
    if renamed.0 > 0 {
        said.push_str(&format!(", {} renamed", grouped(renamed.0)));
    }
    if left_out.0 > 0 {
        said.push_str(&format!(", {} left out by one of the captures", grouped(left_out.0)));
    }
    if folders.0 > 0 {
        said.push_str(&format!(", {}", count(folders.0, "folder")));
    }
    said
}

fn place(checkpoint: &CheckpointForm) -> String {
    words::address(&checkpoint.task, checkpoint.lineage, checkpoint.at.0)
}

/// Prints the result: as JSON on standard output, or in words on standard error, after the
/// command's own output.
pub fn tell(begun: &ToolCallForm, outcome: &Outcome, done: &Done, out: &mut Out) -> Result<()> {
    if out.json {
        return Ok(out.json(&form(begun, outcome, done))?);
    }
    let mut said = format!("{}, {}", outcome.describe(), duration(outcome.ms * 1000));
    if let Some(changes) = &done.form.changes {
        said.push_str(&format!("; {}", described(changes)));
    }
    note(&said);
    if let Some(left_out) = &done.form.left_out {
        capture::tell_left_out(left_out);
    }
    let call = || words::address(&begun.task, begun.lineage, begun.at.0);
    let before = begun.before.as_ref().map_or_else(call, place);
    let back = match begun.root {
        Some(_) => "rollback",
        None => "restore",
    };
    let after = done.form.after.as_ref().map(place);
    let after = after.map_or_else(String::new, |after| format!(", after {after}"));
    note(&format!("before {before}{after}; `milepost {back} {before}` goes back"));
    Ok(())
}

fn form(begun: &ToolCallForm, outcome: &Outcome, done: &Done) -> Value {
    let side = |checkpoint: &CheckpointForm, root: Option<Hash>| {
        json!({
            "checkpoint": checkpoint.id,
            "address": place(checkpoint),
            "root": root,
        })
    };
    json!({
        "task": begun.task,
        "call": begun.call,
        "run": outcome.error.is_none(),
        "exit": outcome.exit,
        "signal": outcome.signal,
        "timed_out": outcome.timed_out,
        "ms": big(outcome.ms),
        "error": outcome.error,
        "bytes": big(outcome.output.bytes),
        "left_out": big(outcome.output.left_out),
        "before": begun.before.as_ref().map(|before| side(before, begun.root)),
        "after": done.form.after.as_ref().map(|after| side(after, done.form.root)),
        "changes": done.form.changes,
        "not_captured": {
            "before": begun.left_out.as_ref(),
            "after": done.form.left_out.as_ref(),
        },
        "recorded": done.failure.is_none(),
        "saved_to": done.saved_to.as_ref().map(|file| file.display().to_string()),
    })
}
