//! `erase`: what one event says, for good.

use milepost::{Engine, ErrorKind, Event, Point};
use serde_json::json;

use super::confirm::confirm;
use super::{forms, point, show};
use crate::args::Erase;
use crate::error::{Failure, Result};
use crate::output::{Out, big, printable, time, time_short};

pub fn run(engine: &Engine, args: &Erase, out: &mut Out) -> Result<()> {
    let point = point(engine, &args.address)?;
    let (event, _) = show::event(engine, &point)?;
    let place = forms::address(&point.task, point.lineage, event.offset);
    let was_erased = event.body.is_none();
    let what = format!(
        "event {place}, {} of {}",
        forms::kind_name(&event),
        time_short(event.header.time_us)
    );
    if !was_erased {
        let note = "what it says goes for good; its kind, time, actor and key stay, and its hash";
        confirm(args.yes, note, &format!("Erase {what}?"))?;
        let erased = engine.erase(&point, args.reason.as_deref());
        erased.map_err(|error| refused(error, &point))?;
    }
    if out.json {
        return Ok(out.json(&form(&event, &point, was_erased))?);
    }
    let said = match was_erased {
        true => format!("was erased before: {what}"),
        false => format!("erased: {what}"),
    };
    out.line(printable(&said))?;
    Ok(out.line("`milepost compact` takes what it said off the disk")?)
}

fn form(event: &Event, point: &Point, was_erased: bool) -> serde_json::Value {
    json!({
        "task": point.task,
        "lineage": event.lineage,
        "offset": big(event.offset),
        "kind": forms::kind_name(event),
        "time": time(event.header.time_us),
        "time_us": big(event.header.time_us),
        "was_erased": was_erased,
    })
}

fn refused(error: milepost::Error, point: &Point) -> Failure {
    let kind = error.kind();
    let failure = Failure::from(error);
    let task = forms::encode(&point.task);
    match kind {
        ErrorKind::Conflict => failure.hint(format!(
            "it goes with the lineage that is named, or with the task: `milepost delete {task}`"
        )),
        ErrorKind::Invalid => failure.hint(format!(
            "`milepost log {task}` lists the events and their kinds"
        )),
        _ => failure,
    }
}
