//! Output of an event: on one line, in full, or as JSON.

use milepost::reading::row;
use milepost_api::{EventForm, PointForm};
use milepost_reading::row_within;

use crate::backend::event_of;
use crate::commands::show;
use crate::error::Result;
use crate::output::{Out, Style, age, fitted, printable, time_short};
use crate::store_locator::now_us;

/// Width of the longest name of a kind.
const KIND_WIDTH: usize = 19;

pub struct Entry<'a> {
    point: &'a PointForm,
    full: bool,
    /// Full events are printed as JSON.
    raw: bool,
    /// Times are printed in full, not as ages.
    stamps: bool,
    now_us: u64,
    /// Width of the largest offset.
    width: usize,
}

impl<'a> Entry<'a> {
    pub fn new(point: &'a PointForm, full: bool, raw: bool, stamps: bool) -> Self {
        let width = point.offset.to_string().len() + 1;
        Self { point, full, raw, stamps, now_us: now_us(), width }
    }

    pub fn print(&self, event: &EventForm, out: &mut Out) -> Result<()> {
        if out.json {
            return Ok(out.json(event)?);
        }
        if self.full {
            show::print_event(self.point, (event, self.raw), &[], out)?;
            return Ok(out.line("")?);
        }
        let line = self.line(event, 0, out);
        Ok(out.line(line)?)
    }

    /// Formats an event on one line. On a terminal it leaves `taken` columns of the line.
    pub fn line(&self, event: &EventForm, taken: usize, out: &Out) -> String {
        let kind = format!("{:KIND_WIDTH$}", printable(&event.kind));
        let time = match self.stamps {
            true => time_short(event.time_us.0),
            false => format!("{:>4}", age(self.now_us.saturating_sub(event.time_us.0))),
        };
        let offset = format!("{:>width$}", format!("@{}", event.offset), width = self.width);
        let taken = taken + offset.len() + time.len() + KIND_WIDTH + 6;
        let event = event_of(event.clone());
        let row = match out.is_terminal() {
            true => fitted(&row(&event), out.columns().saturating_sub(taken)),
            false => printable(&row_within(&event, usize::MAX)).into_owned(),
        };
        let (kind, time) = (out.style(Style::Name, &kind), out.style(Style::Dim, &time));
        format!("{offset}  {time}  {kind}  {row}").trim_end().to_owned()
    }
}
