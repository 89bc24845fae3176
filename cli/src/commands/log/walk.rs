//! Reader of a lineage's history, backwards.

use std::ops::Range;

use milepost_api::{EventForm, PointForm};

use crate::backend::Backend;
use crate::error::Result;

/// Smallest and largest number of events in one read.
const WINDOW: Range<u64> = 32..4096;

/// Events of a lineage, newest first. Reads get larger with the distance.
pub struct Walk<'a> {
    source: &'a dyn Backend,
    point: &'a PointForm,
    /// Offsets that have not been read.
    range: Range<u64>,
    window: u64,
    read: Vec<EventForm>,
}

impl<'a> Walk<'a> {
    pub fn new(source: &'a dyn Backend, point: &'a PointForm, range: Range<u64>) -> Self {
        Self { source, point, range, window: 0, read: Vec::new() }
    }

    /// Returns the next event, before the last one. `wanted` is the number of events still needed.
    pub fn next(&mut self, wanted: u64) -> Result<Option<EventForm>> {
        if self.read.is_empty() && self.range.start < self.range.end {
            self.window = match self.window {
                0 => wanted.clamp(WINDOW.start, WINDOW.end),
                window => (window * 2).min(WINDOW.end),
            };
            let from = self.range.end.saturating_sub(self.window);
            let from = from.max(self.range.start);
            let window = from..self.range.end;
            self.range.end = from;
            let read = &mut self.read;
            self.source.events(self.point, window, &mut |event| {
                read.push(event);
                Ok(())
            })?;
        }
        Ok(self.read.pop())
    }

    /// Returns the event that [`Walk::next`] returns next.
    pub fn peek(&mut self) -> Result<Option<&EventForm>> {
        if let Some(event) = self.next(0)? {
            self.read.push(event);
        }
        Ok(self.read.last())
    }
}
