//! `diff`: differences between the states at two points.

use milepost::state::ChangeKind;
use milepost_api::ChangeForm;
use serde_json::Value;

use crate::args;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, Style, excerpt, hint, printable};

/// Longest excerpt of a value, in columns.
const EXCERPT: usize = 80;

pub fn run(source: &dyn Backend, args: &args::Diff, out: &mut Out) -> Result<()> {
    let (before, after) = (source.point(&args.before)?, source.point(&args.after)?);
    if out.json {
        return Ok(out.json(&source.patch(&before, &after)?)?);
    }
    let changes = source.changes(&before, &after)?;
    if changes.more {
        hint("there are more changes than are answered at once: look at parts of both states");
    }
    if changes.items.is_empty() {
        out.line("the states are the same")?;
    }
    for change in &changes.items {
        let line = line(change, out);
        out.line(line)?;
    }
    Ok(())
}

/// Formats a change on one line.
pub fn line(change: &ChangeForm, out: &Out) -> String {
    let value = |value: &Option<Value>| {
        value.as_ref().map(|value| excerpt(&value.to_string(), EXCERPT)).unwrap_or_default()
    };
    let path = printable(&change.path);
    let (before, after) = (value(&change.before), value(&change.after));
    match change.kind {
        ChangeKind::Add => out.style(Style::Good, &format!("+ {path}: {after}")),
        ChangeKind::Remove => out.style(Style::Bad, &format!("- {path}: {before}")),
        ChangeKind::Replace => format!("~ {path}: {before} -> {after}"),
    }
}
