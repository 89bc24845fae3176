//! `show`: the event at a point, with its hash.

use milepost::{Engine, ErrorKind, Event, Hash, Point};

use super::{forms, point};
use crate::error::{Failure, Result};
use crate::output::{Look, Out, printable, time};

pub fn run(engine: &Engine, address: &str, out: &mut Out) -> Result<()> {
    let point = point(engine, address)?;
    if out.json {
        let (event, hash) = event(engine, &point)?;
        let mut form = forms::event(&event);
        form.task = Some(&point.task);
        form.hash = Some(hash);
        form.checkpoint = point.checkpoint;
        return Ok(out.json(&form)?);
    }
    print(engine, &point, out)
}

/// Prints the event at a point for people.
pub fn print(engine: &Engine, point: &Point, out: &mut Out) -> Result<()> {
    let (event, hash) = event(engine, point)?;
    let form = forms::event(&event);
    let place = forms::address(&point.task, point.lineage, event.offset);
    let mut lines = vec![("event", place), ("time", time(event.header.time_us))];
    if event.lineage != point.lineage {
        lines.push(("lineage", event.lineage.to_string()));
    }
    let named = [
        ("actor", form.actor),
        ("user", form.user),
        ("correlation", form.correlation),
        ("key", form.key),
    ];
    for (name, text) in named {
        lines.extend(text.map(|text| (name, text.to_owned())));
    }
    if event.body.is_none() {
        lines.push(("kind", forms::kind_name(&event).to_owned()));
    }
    lines.push(("hash", hash.to_string()));
    lines.extend(point.checkpoint.map(|id| ("checkpoint", id.to_string())));
    for (name, value) in lines {
        let name = out.look(Look::Dim, &format!("{name:11}"));
        out.line(format!("{name} {}", printable(&value)))?;
    }
    match &event.body {
        None => Ok(out.line("the body was erased")?),
        Some(body) => Ok(out.pretty_text(&body.to_json()?)?),
    }
}

/// The event at a point, and its hash; or where there is one.
pub fn event(engine: &Engine, point: &Point) -> Result<(Event, Hash)> {
    engine.event(point).map_err(|error| {
        if error.kind() != ErrorKind::NotFound {
            return error.into();
        }
        let failure = Failure::from(error);
        let head = engine.task(&point.task);
        let head = head.and_then(|task| task.lineage_named(point.lineage)?.head());
        let last = match head {
            Ok(head) if head.next == point.offset => point.offset.checked_sub(1),
            _ => None,
        };
        let place = |offset| forms::address(&point.task, point.lineage, offset);
        match (last, head) {
            (Some(last), _) => {
                failure.hint(format!("the last event is `milepost show {}`", place(last)))
            }
            (None, Ok(head)) => failure.hint(format!(
                "`milepost log {}` prints the events that are there",
                place(head.next)
            )),
            (None, Err(_)) => failure,
        }
    })
}
