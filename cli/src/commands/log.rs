//! `log`: the events before a point, oldest first, printed as they are read.

use milepost::{Engine, ErrorKind, Event};

use super::{forms, point};
use crate::args;
use crate::error::Result;
use crate::output::{Look, Out, time_short};

/// As wide as the longest name of a kind.
const KIND_WIDTH: usize = 19;

pub fn run(engine: &Engine, args: &args::Log, out: &mut Out) -> Result<()> {
    let point = point(engine, &args.address)?;
    let first = args
        .last
        .map_or(0, |last| point.offset.saturating_sub(last));
    let lineage = engine.task(&point.task)?.lineage_named(point.lineage)?;
    let width = point.offset.to_string().len();
    let events = match lineage.read(first..point.offset) {
        // A cleanup let go of some of the last N: those that are there are printed.
        Err(error) if args.last.is_some() && error.kind() == ErrorKind::NotFound => {
            lineage.read(..point.offset)
        }
        events => events,
    };
    for event in events? {
        let event = event?;
        if out.json {
            out.json(&forms::event(&event))?;
        } else {
            let line = line(&event, width, out);
            out.line(line)?;
        }
    }
    Ok(())
}

fn line(event: &Event, width: usize, out: &Out) -> String {
    let kind = forms::kind_name(event);
    let kind = out.look(Look::Name, &format!("{kind:KIND_WIDTH$}"));
    let offset = format!(
        "{:>width$}",
        format!("@{}", event.offset),
        width = width + 1
    );
    let time = out.look(Look::Dim, &time_short(event.header.time_us));
    let line = format!(
        "{offset}  {time}  {kind}  {}",
        forms::summary(event.body.as_ref())
    );
    line.trim_end().to_owned()
}
