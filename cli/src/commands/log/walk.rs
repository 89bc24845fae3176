//! A lineage's history read backwards.

use std::ops::Range;

use milepost_forms::{EventForm, PointForm};

use crate::backend::Backend;
use crate::error::Result;

/// How many events are read at once, at least and at most.
const WINDOW: Range<u64> = 32..4096;

/// Events of a lineage, newest first. Some are read at a time, and more the further it goes.
pub struct Walk<'a> {
    source: &'a dyn Backend,
    point: &'a PointForm,
    /// Those that have not been read.
    range: Range<u64>,
    window: u64,
    read: Vec<EventForm>,
}

impl<'a> Walk<'a> {
    pub fn new(source: &'a dyn Backend, point: &'a PointForm, range: Range<u64>) -> Self {
        Self { source, point, range, window: 0, read: Vec::new() }
    }

    /// The next event before the last one. `wanted`: how many more it may be asked for.
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

    /// The event that [`Walk::next`] gives next.
    pub fn peek(&mut self) -> Result<Option<&EventForm>> {
        if let Some(event) = self.next(0)? {
            self.read.push(event);
        }
        Ok(self.read.last())
    }
}
