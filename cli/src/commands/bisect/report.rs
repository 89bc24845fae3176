//! Report of a search: the event, its step, its changes and further commands.

use milepost::query::Bisect;
use milepost::state::{Change, ChangeLimits, diff_states_up_to};
use milepost::{Engine, Offset, Point, RunState};
use milepost_api::EventAt;
use milepost_service::forms;
use serde::Serialize;
use serde_json::{Value, json};

use crate::backend::{Backend as _, Local};
use crate::commands::{diff, show};
use crate::error::{Failure, Result};
use crate::output::{Out, Style, big, count, printable, words};

/// Limits of the printed changes.
const CHANGES: ChangeLimits = ChangeLimits { changes: 20, bytes: 1 << 20 };

/// The result of a search. No `Value`, which cannot hold every body.
#[derive(Serialize)]
struct FoundForm<'a> {
    changes: &'a [Change],
    event: &'a EventAt,
    found: &'a str,
    more_changes: bool,
    states: Value,
    step: Value,
    until: Option<String>,
}

/// Prints the event that a search found.
pub fn print(engine: &Engine, bisect: &Bisect, looked: Option<u64>, out: &mut Out) -> Result<()> {
    let Some(found) = bisect.found() else {
        return Err(undecided(bisect));
    };
    let before = engine.run_state(&found)?;
    let after = engine.run_state(&bisect.bad())?;
    let changes = diff_states_up_to(&before, &after, engine.chunks().as_ref(), CHANGES)?;
    let place = address(&found, found.offset);
    let source = Local::new(engine);
    let form = source.point(&place)?;
    if out.json {
        let form = show::event(&source, &form)?;
        return Ok(out.json(&FoundForm {
            changes: &changes.items,
            event: &form,
            found: &place,
            more_changes: changes.more,
            states: looked.map_or(Value::Null, big),
            step: step(&after),
            until: bisect.until().map(|until| address(&until, until.offset)),
        })?);
    }
    let title = format!("{} is the first event after which it is so", printable(&place));
    out.line(out.style(Style::Bold, &title))?;
    show::print(&form, &show::event(&source, &form)?, false, out)?;
    if let Some(step) = &after.step {
        let name = step.name.as_deref().map(|name| format!(": {name}"));
        let line = format!("in step {}{}", step.number, name.unwrap_or_default());
        out.line(printable(&line))?;
    }
    for change in changes.items {
        let line = diff::line(&forms::change(change), out);
        out.line(line)?;
    }
    if changes.more {
        let behind = address(&found, bisect.bad().offset);
        out.advice(format!("... `milepost diff {place} {behind}` prints all"))?;
    }
    if let Some(until) = bisect.until() {
        let events = count(until.offset.saturating_sub(found.offset), "event");
        let last = printable(&address(&until, until.offset)).into_owned();
        out.line(format!("so for {events}: after {last} it is not so"))?;
    }
    if let Some(looked) = looked {
        out.line(format!("{} looked at", count(looked, "state")))?;
    }
    out.advice(format!("`milepost show {place}` prints the event"))?;
    Ok(out.advice(format!("`milepost restore {place}` goes back to before it"))?)
}

fn step(state: &RunState) -> Value {
    let step = state.step.as_ref();
    step.map_or(Value::Null, |step| json!({"number": big(step.number), "name": step.name}))
}

/// Returns the address of an offset in a point's lineage.
pub fn address(point: &Point, offset: Offset) -> String {
    words::address(&point.task, point.lineage, offset)
}

/// Returns the failure of a search that ended without a single event.
fn undecided(bisect: &Bisect) -> Failure {
    let (good, bad) = (bisect.good(), bisect.bad());
    let last = bad.offset.saturating_sub(1);
    let message = format!(
        "it is one of the events from {} to {}: of the states between them it cannot be said",
        address(&good, good.offset),
        address(&bad, last)
    );
    let diff = format!(
        "`milepost diff {} {}` prints what changed there",
        address(&good, good.offset),
        address(&bad, bad.offset)
    );
    Failure::new(message).hint(diff)
}
