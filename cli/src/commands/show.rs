//! `show`: the event at a point, with its hash.

use milepost::events::Data;
use milepost::{Body, ErrorKind};
use milepost_api::calls::{AliasQuery, Attachments};
use milepost_api::{AttachmentForm, EventAt, EventForm, PointForm};

use super::command::{CliCommand, Examples, Needs, Run};
use crate::backend::{Backend, hints};
use crate::error::{Failure, Result};
use crate::output::{Out, Style, count, excerpt, print_body, printable, time, words};

/// Longest excerpt of attached data, in columns.
const EXCERPT: usize = 60;

/// Print the event at a point.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// The address of the point; see `milepost --help`. Of a task or a lineage, its last event.
    pub address: String,
    /// Print the body as JSON.
    #[arg(long)]
    pub raw: bool,
}

impl CliCommand for ShowArgs {
    const EXAMPLES: Examples =
        &[("show run@17", "event 17"), ("show run --json", "the last event, for a program")];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &ShowArgs, out: &mut Out) -> Result<()> {
    let mut point = source.point(&args.address)?;
    // A task or lineage without a place is shown by its last event.
    let is_whole = !args.address.contains(['@', '~']) && point.offset.0 > 0;
    if is_whole && head(source, &point)? == Some(point.offset.0) {
        let last = words::address(&point.task, point.lineage, point.offset.0 - 1);
        point = source.point(&last)?;
    }
    let found = event(source, &point)?;
    match out.json {
        true => Ok(out.json(&found)?),
        false => {
            print(&point, &found, args.raw, out)?;
            attached(source, &point, &found, out)
        }
    }
}

/// Prints what is attached to a checkpoint, by its aliases.
fn attached(source: &dyn Backend, point: &PointForm, found: &EventAt, out: &mut Out) -> Result<()> {
    let Some(Body::CheckpointMarked(mark)) = &found.event.body else {
        return Ok(());
    };
    for alias in &mark.aliases {
        let query = AliasQuery { alias: alias.clone() };
        let attached = source.call(Attachments::new(&point.task, query))?;
        for AttachmentForm { writer, index, name, data } in attached.items {
            let data = match data {
                Data::Bytes(bytes) => count(bytes.len() as u64, "byte"),
                Data::Json(json) => excerpt(json.text(), EXCERPT),
            };
            let place = [writer, index.to_string(), name];
            let place: Vec<_> = place.into_iter().filter(|part| !part.is_empty()).collect();
            let title = out.style(Style::Dim, "attached   ");
            let line = format!("{}: {data}", place.join(" "));
            out.line(format!("{title} {}", printable(&line)))?;
        }
    }
    Ok(())
}

/// Prints the event at a point as text.
pub fn print(point: &PointForm, found: &EventAt, raw: bool, out: &mut Out) -> Result<()> {
    let mut beside = vec![("hash", found.hash.to_string())];
    beside.extend(found.checkpoint.map(|id| ("checkpoint", id.to_string())));
    print_event(point, (&found.event, raw), &beside, out)
}

/// Prints an event of a point's history as text, with additional fields. `raw` prints the body as
/// JSON.
pub fn print_event(
    point: &PointForm,
    (event, raw): (&EventForm, bool),
    beside: &[(&str, String)],
    out: &mut Out,
) -> Result<()> {
    let place = words::address(&point.task, point.lineage, event.offset.0);
    let mut lines = vec![("event", place), ("time", time(event.time_us.0))];
    if event.lineage != point.lineage {
        lines.push(("lineage", event.lineage.to_string()));
    }
    let named = [
        ("actor", &event.actor),
        ("user", &event.user),
        ("correlation", &event.correlation),
        ("key", &event.key),
    ];
    for (name, text) in named {
        lines.extend(text.clone().map(|text| (name, text)));
    }
    if event.body.is_none() || !raw {
        lines.push(("kind", event.kind.to_string()));
    }
    lines.extend_from_slice(beside);
    for (name, value) in lines {
        let name = out.style(Style::Dim, &format!("{name:11}"));
        out.line(format!("{name} {}", printable(&value)))?;
    }
    match &event.body {
        None => Ok(out.line("the body was erased")?),
        Some(body) if raw => Ok(out.pretty_text(&body.to_json()?)?),
        Some(body) => Ok(print_body(body, out)?),
    }
}

/// Returns the event at a point. A failure has a hint at an existing event.
pub fn event(source: &dyn Backend, point: &PointForm) -> Result<EventAt> {
    source.event(point).map_err(|failure| {
        if failure.kind() != Some(ErrorKind::NotFound) {
            return failure;
        }
        match head(source, point) {
            Ok(Some(head)) => elsewhere(failure, point, head),
            _ => failure,
        }
    })
}

/// Returns the next offset of a point's lineage.
fn head(source: &dyn Backend, point: &PointForm) -> Result<Option<u64>> {
    let lineages = source.lineages(&point.task)?;
    let mut lineages = lineages.iter();
    let lineage = lineages.find(|lineage| lineage.id == point.lineage);
    Ok(lineage.map(|lineage| lineage.head.0))
}

/// Adds a hint at an existing event, if the point has none.
fn elsewhere(failure: Failure, point: &PointForm, head: u64) -> Failure {
    let place = |offset| words::address(&point.task, point.lineage, offset);
    let last = point.offset.0.checked_sub(1);
    match last.filter(|_| head == point.offset.0) {
        Some(last) => failure.hint(format!("the last event is `milepost show {}`", place(last))),
        None => failure.hint(hints::log_hint(&point.task, point.lineage, head)),
    }
}
