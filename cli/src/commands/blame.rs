//! `blame`: the event that set a part of the state.

use milepost::state::MessageRange;
use milepost_api::{BlameForm, BlamedForm, PointForm};
use serde_json::Value;

use super::command::{CliCommand, Examples, Needs, Run};
use super::pointers;
use crate::backend::Backend;
use crate::error::Result;
use crate::output::{Out, Style, excerpt, note, printable, time_short, words};

/// Longest excerpt of a value, in columns.
const EXCERPT: usize = 80;

/// Print the event that last set a part of the state.
#[derive(Debug, clap::Args)]
pub struct BlameArgs {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// A part of the state, as a JSON pointer: `/prompt`, `/variables/best`, `/messages/3`.
    pub pointer: String,
    /// List every event that changed it, newest first.
    #[arg(long)]
    pub history: bool,
}

impl CliCommand for BlameArgs {
    const EXAMPLES: Examples = &[
        ("blame run /variables/score", "which event set it last"),
        ("blame run /variables/score --history", "each that changed it"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &BlameArgs, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    let blamed = source.blame(&point, &args.pointer, args.history);
    let blamed = blamed.map_err(|failure| {
        let address = words::encode(&point.task);
        let all = format!("`milepost state {address}` prints what there is to point at");
        match suggestion(source, &point, &args.pointer) {
            Some(question) => failure.hint(format!("{question} {all}")),
            None => failure.hint(all),
        }
    })?;
    if out.json {
        return Ok(out.json(&blamed)?);
    }
    for blame in &blamed.changes {
        lines(&point.task, blame, out)?;
    }
    let Some(text) = rest(&blamed) else {
        return Ok(());
    };
    out.line(printable(&text))?;
    let is_nothing = blamed.value.is_none() && blamed.before_oldest.is_none();
    if let Some(question) = suggestion(source, &point, &args.pointer).filter(|_| is_nothing) {
        note(&question);
    }
    Ok(())
}

/// Returns the question about pointers that are near to one that names nothing at a point.
fn suggestion(source: &dyn Backend, point: &PointForm, pointer: &str) -> Option<String> {
    let state = source.state(point, MessageRange::None).ok()?;
    pointers::suggestion(&state, pointer)
}

/// Returns a note on a value that no existing event set.
fn rest(blamed: &BlamedForm) -> Option<String> {
    let pointer = &blamed.pointer;
    match (&blamed.before_oldest, &blamed.value) {
        (Some(begin), _) => {
            Some(format!("{pointer} was set before @{begin}, the oldest event there is"))
        }
        (None, _) if !blamed.changes.is_empty() => None,
        (None, Some(value)) => {
            let value = excerpt(&format!("{value}, as a run begins"), EXCERPT);
            Some(format!("no event set {pointer}: {value}"))
        }
        (None, None) => Some(format!("no event set {pointer}: it was never there")),
    }
}

fn lines(task: &str, blame: &BlameForm, out: &mut Out) -> Result<()> {
    let value = |value: &Option<Value>| match value {
        Some(value) => excerpt(&value.to_string(), EXCERPT),
        None => "(nothing)".to_owned(),
    };
    let place = words::address(task, blame.lineage, blame.offset.0);
    let place = out.style(Style::Name, &printable(&place));
    let when = out.style(Style::Dim, &time_short(blame.time_us.0));
    let mut line = format!("{place}  {when}  {}", blame.kind);
    if let Some(user) = &blame.user {
        line.push_str(&format!("  by {}", printable(user)));
    }
    out.line(line)?;
    let change = format!("    {} -> {}", value(&blame.before), value(&blame.after));
    Ok(out.line(change)?)
}
