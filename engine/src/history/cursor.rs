//! The records of one log, one extent in memory at a time.

use std::sync::Arc;

use milepost_codec::{Error, LogId, Offset, RecordRef, Records, Result};
use milepost_store::{Extent, Log};

/// Reader of the records of one log.
pub(crate) struct Cursor<'a> {
    log: &'a Arc<dyn Log>,
    id: LogId,
    next: Offset,
    extent: Option<StretchCursor>,
}

/// A position in an extent.
pub(super) struct StretchCursor {
    pub(super) extent: Extent,
    /// Byte range of the sections that are not begun.
    sections: (usize, usize),
    /// Byte range of the remaining records of the current section; `left` is their number.
    records: (usize, usize),
    left: u32,
    at: Offset,
}

impl StretchCursor {
    fn new(extent: Extent) -> Self {
        let (start, end, at) = (extent.range.start, extent.range.end, extent.first);
        Self { extent, sections: (start, end), records: (0, 0), left: 0, at }
    }

    /// Returns the next record; `None` at the end of the extent.
    fn next(&mut self) -> Result<Option<(Offset, RecordRef<'_>)>> {
        let bytes: &[u8] = &self.extent.bytes;
        let slice = |(from, to)| bytes.get(from..to).expect("an extent lies in its bytes");
        while self.left == 0 {
            let mut sections = milepost_codec::Sections::new(slice(self.sections));
            let Some(section) = sections.next().transpose()? else {
                return Ok(None);
            };
            let next = self.sections.1 - sections.rest().len();
            self.records = (next - section.records.len(), next);
            self.sections.0 = next;
            self.left = section.count;
        }
        let mut records = Records::new(slice(self.records));
        let Some(record) = records.next().transpose()? else {
            return Err(Error::corrupt("section", format!("{} more records", self.left), "none"));
        };
        self.records.0 = self.records.1 - records.rest().len();
        self.left -= 1;
        let at = self.at;
        self.at += 1;
        Ok(Some((at, record)))
    }
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(log: &'a Arc<dyn Log>, id: LogId, from: Offset) -> Self {
        Self { log, id, next: from, extent: None }
    }

    /// Sets the offset of the next record.
    pub(crate) fn seek(&mut self, to: Offset) {
        self.next = to;
    }

    /// Returns the offset of the next record.
    pub(crate) fn next(&self) -> Offset {
        self.next
    }

    /// Passes the next record to `take`; returns `None` at the end of the log.
    pub(crate) fn next_record<T>(
        &mut self,
        take: impl FnOnce(Offset, &RecordRef<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let (id, next) = (self.id, self.next);
        let fetch = |at| self.log.extent(id, at);
        step(fetch, &mut self.next, &mut self.extent, take)
            .map_err(|e| e.at(format!("{id} at offset {next}")))
    }
}

/// Passes the next record to `take`; returns `None` at the end of the log. `fetch` returns the
/// extent that holds an offset.
pub(super) fn step<T>(
    mut fetch: impl FnMut(Offset) -> Result<Option<Extent>>,
    next: &mut Offset,
    place: &mut Option<StretchCursor>,
    take: impl FnOnce(Offset, &RecordRef<'_>) -> Result<T>,
) -> Result<Option<T>> {
    loop {
        if place.as_ref().is_none_or(|place| !(place.at..place.extent.end()).contains(next)) {
            match fetch(*next)? {
                Some(extent) => *place = Some(StretchCursor::new(extent)),
                None => return Ok(None),
            }
        }
        let Some(extent) = place.as_mut() else {
            return Ok(None);
        };
        match extent.next()? {
            Some((at, record)) if at == *next => {
                // Advances only if `take` succeeds, so that a failed read can be repeated.
                let taken = take(at, &record)?;
                *next += 1;
                return Ok(Some(taken));
            }
            Some(_) => {}
            None => {
                return Err(Error::corrupt("extent", format!("offset {next}"), "fewer records"));
            }
        }
    }
}
