//! `diff`: what is different between the states at two points.

use milepost::{Change, ChangeKind, Engine, diff_states};
use serde_json::Value;

use super::point;
use crate::args;
use crate::error::Result;
use crate::output::{Look, Out, excerpt, printable};

/// How many characters of a value people are shown.
const EXCERPT: usize = 80;

pub fn run(engine: &Engine, args: &args::Diff, out: &mut Out) -> Result<()> {
    let before = engine.run_state(&point(engine, &args.before)?)?;
    let after = engine.run_state(&point(engine, &args.after)?)?;
    let changes = diff_states(&before, &after, engine.chunks().as_ref())?;
    if out.json {
        let changes = changes
            .iter()
            .map(serde_json::to_value)
            .collect::<Result<Vec<_>, _>>()?;
        return Ok(out.json(&Value::Array(changes))?);
    }
    if changes.is_empty() {
        out.line("the states are the same")?;
    }
    for change in &changes {
        let line = line(change, out);
        out.line(line)?;
    }
    Ok(())
}

/// A change on one line.
pub fn line(change: &Change, out: &Out) -> String {
    let value = |value: &Option<Value>| {
        value
            .as_ref()
            .map(|value| excerpt(&value.to_string(), EXCERPT))
            .unwrap_or_default()
    };
    let path = printable(&change.path);
    let (before, after) = (value(&change.before), value(&change.after));
    match change.kind {
        ChangeKind::Add => out.look(Look::Good, &format!("+ {path}: {after}")),
        ChangeKind::Remove => out.look(Look::Bad, &format!("- {path}: {before}")),
        ChangeKind::Replace => format!("~ {path}: {before} -> {after}"),
    }
}
