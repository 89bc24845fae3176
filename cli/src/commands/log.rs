//! `log`: the events before a point, oldest first, printed as they are read.

use milepost_forms::EventForm;

use super::words;
use crate::args;
use crate::error::Result;
use crate::output::{Look, Out, time_short};
use crate::source::Source;

/// As wide as the longest name of a kind.
const KIND_WIDTH: usize = 19;

pub fn run(source: &dyn Source, args: &args::Log, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    let end = point.offset.0;
    let mut first = args.last.map_or(0, |last| end.saturating_sub(last));
    if args.last.is_some() {
        let lineages = source.lineages(&point.task)?;
        let lineage = lineages.iter().find(|lineage| lineage.id == point.lineage);
        // A cleanup let go of some of the last N: those that are there are printed.
        first = first.max(lineage.map_or(0, |lineage| lineage.begin.0));
    }
    let width = end.to_string().len();
    source.events(&point, first..end, &mut |event| {
        match out.json {
            true => out.json(&event)?,
            false => {
                let line = line(&event, width, out);
                out.line(line)?;
            }
        }
        Ok(())
    })
}

fn line(event: &EventForm, width: usize, out: &Out) -> String {
    let kind = out.look(Look::Name, &format!("{:KIND_WIDTH$}", event.kind));
    let offset = format!(
        "{:>width$}",
        format!("@{}", event.offset),
        width = width + 1
    );
    let time = out.look(Look::Dim, &time_short(event.time_us.0));
    let summary = words::summary(event.body.as_ref());
    let line = format!("{offset}  {time}  {kind}  {summary}");
    line.trim_end().to_owned()
}
