//! Events as they come, after the existing ones.

use milepost_api::MovedForm;
use serde_json::json;

use super::{Entry, EventFilter, Log};
use crate::backend::{Followed, point_at};
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, Style, printable, words};

/// Number of existing events that are printed by default.
pub const LAST: u64 = 10;

pub fn run(log: &Log<'_>, entry: &Entry<'_>, out: &mut Out) -> Result<()> {
    let point = log.point;
    let task = source_task(log)?;
    if task.active != point.lineage {
        let name = words::encode(&point.task);
        let message = format!("{} is not the active lineage of the task", point.address);
        return Err(Failure::new(message)
            .code_of(USAGE)
            .hint(format!("`milepost log {name} --follow` follows the task")));
    }
    if log.source.engine().is_some() {
        return Err(unfollowed(&point.task));
    }
    log.last(&mut |event| entry.print(&event, out), false)?;
    out.flush()?;
    let mut filter = EventFilter::new(log.filter);
    filter.begin(log.source, point)?;
    log.source.follow(&point.task, point.offset.0, &mut |followed| {
        match followed {
            Followed::Event(event) if filter.takes(&event) => entry.print(&event, out)?,
            Followed::Event(_) => {}
            Followed::LineageChanged(moved) => {
                filter.begin(log.source, &point_at(&point.task, moved.to, moved.at.0))?;
                print_moved(&moved, out)?;
            }
        }
        // A reader may be waiting for it.
        Ok(out.flush()?)
    })
}

/// Returns the failure of a task to which no program appends.
fn unfollowed(task: &str) -> Failure {
    let shown = printable(task);
    Failure::new(format!("no program has the store open: nothing comes to `{shown}`")).hint(
        "start the program first: where it answers at the store's socket \
         (`milepost_server::attach`), it is followed",
    )
}

fn source_task(log: &Log<'_>) -> Result<milepost_api::TaskForm> {
    log.source.task(&words::encode(&log.point.task))
}

/// Prints that another lineage is active now: the events after the fork belong to another history.
fn print_moved(moved: &MovedForm, out: &mut Out) -> Result<()> {
    if out.json {
        return Ok(out.json(&json!({ "moved": moved }))?);
    }
    let MovedForm { from, to, at } = moved;
    let line = format!("-- from lineage {from} to {to}: from @{at} on it is another history");
    Ok(out.line(out.style(Style::Dim, &line))?)
}
