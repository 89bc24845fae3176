//! `erase`: what one event says, for good.

use milepost::{Engine, ErrorKind, Point};
use milepost_forms::EventForm;
use serde_json::json;

use super::confirm::confirm;
use super::{point, show, words};
use crate::args::Erase;
use crate::error::{Failure, Result};
use crate::output::{Out, printable, time_short};
use crate::source::{Here, Source as _};

pub fn run(engine: &Engine, args: &Erase, out: &mut Out) -> Result<()> {
    let point = point(engine, &args.address)?;
    let source = Here(engine);
    let event = show::event(&source, &source.point(&args.address)?)?.event;
    let place = words::address(&point.task, point.lineage, event.offset.0);
    let was_erased = event.body.is_none();
    let what = format!(
        "event {place}, {} of {}",
        event.kind,
        time_short(event.time_us.0)
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

fn form(event: &EventForm, point: &Point, was_erased: bool) -> serde_json::Value {
    json!({
        "task": point.task,
        "lineage": event.lineage,
        "offset": event.offset,
        "kind": event.kind,
        "time": event.time,
        "time_us": event.time_us,
        "was_erased": was_erased,
    })
}

fn refused(error: milepost::Error, point: &Point) -> Failure {
    let kind = error.kind();
    let failure = Failure::from(error);
    let task = words::encode(&point.task);
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
