//! Output of an event: on one line, in full, or as JSON.

use milepost_api::{EventForm, PointForm};

use crate::commands::show;
use crate::error::Result;
use crate::output::{Out, Style, printable, time_short, words};

/// Width of the longest name of a kind.
const KIND_WIDTH: usize = 19;

pub struct Entry<'a> {
    point: &'a PointForm,
    full: bool,
    /// Full events are printed as JSON.
    raw: bool,
    /// Width of the largest offset.
    width: usize,
}

impl<'a> Entry<'a> {
    pub fn new(point: &'a PointForm, full: bool, raw: bool) -> Self {
        Self { point, full, raw, width: point.offset.to_string().len() + 1 }
    }

    pub fn print(&self, event: &EventForm, out: &mut Out) -> Result<()> {
        if out.json {
            return Ok(out.json(event)?);
        }
        if self.full {
            show::print_event(self.point, (event, self.raw), &[], out)?;
            return Ok(out.line("")?);
        }
        let line = self.line(event, out);
        Ok(out.line(line)?)
    }

    /// Formats an event on one line.
    pub fn line(&self, event: &EventForm, out: &Out) -> String {
        let kind = out.style(Style::Name, &format!("{:KIND_WIDTH$}", printable(&event.kind)));
        let offset = format!("@{}", event.offset);
        let time = out.style(Style::Dim, &time_short(event.time_us.0));
        let summary = words::summary(event.body.as_ref());
        let line = format!("{offset:>width$}  {time}  {kind}  {summary}", width = self.width);
        line.trim_end().to_owned()
    }
}
