//! Reads of events, through a lineage's ancestors, with a few extents in memory at a time.
//!
//! ```text
//! ancestry   the lineage that holds an offset
//! inherited  index entries of a lineage and its ancestors
//! cursor     the records of one log
//! readahead  extents that are read in advance
//! ```

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use milepost_codec::{
    Body, BodyForm, ChunkedBody, Error, LineageId, LogId, Offset, RecordRef, Result, TaskNo,
};
use milepost_replay::Event;

pub(crate) use super::ancestry::{Ancestry, LineageTrees};
use super::contents::read_body;
pub(crate) use super::cursor::Cursor;
use super::cursor::{StretchCursor, step};
pub(crate) use super::inherited::Inherited;
use super::readahead::Ahead;
use crate::history::catalog::Catalog;
use crate::history::erased::ErasedEvents;
use milepost_store::Log;

/// Decodes the event of a record, reading its body from chunks unless it is inline. An erased event
/// has no body, even if its bytes remain until the store is compacted.
pub(crate) fn event(
    log: &Arc<dyn Log>,
    lineage: LineageId,
    offset: Offset,
    record: &RecordRef<'_>,
    erased: bool,
) -> Result<Event> {
    let header = record.header()?;
    let body = match record.form {
        _ if erased => None,
        BodyForm::Inline => Some(Body::decode(header.kind, record.payload)?),
        BodyForm::Erased => None,
        BodyForm::Chunked => {
            let payload = read_body(log, &ChunkedBody::decode(record.payload)?)?;
            Some(Body::decode(header.kind, &payload)?)
        }
    };
    Ok(Event { lineage, offset, header, body })
}

/// Events of a lineage and its ancestors, in order. It holds a few blocks at a time, for a range of
/// any length. For a long range another thread reads ahead.
///
/// The range ends at the head that the lineage had when the range was requested. A range that
/// begins at 0 begins at the first event that exists: retention may have trimmed earlier ones.
pub struct Events {
    catalog: Catalog,
    task: TaskNo,
    lineage: LineageId,
    /// The count of withdrawals when `erased` and `ancestry` were read.
    withdrawals: u64,
    erased: ErasedEvents,
    ancestry: Ancestry,
    next: Offset,
    end: Offset,
    owner: Option<LineageId>,
    place: Option<StretchCursor>,
    ahead: Ahead,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("next", &self.next).field("end", &self.end).finish()
    }
}

impl Events {
    pub(crate) fn new(
        catalog: &Catalog,
        task: TaskNo,
        lineage: LineageId,
        range: impl RangeBounds<Offset>,
    ) -> Result<Self> {
        let head = catalog.head(LogId::lineage(task, lineage))?;
        let next = match range.start_bound() {
            Bound::Included(from) => *from,
            Bound::Excluded(from) => from.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(to) => to.saturating_add(1),
            Bound::Excluded(to) => *to,
            Bound::Unbounded => Offset::MAX,
        };
        if next > head.next {
            return Err(Error::invalid(format!(
                "offset {next} is past the head, which is {}",
                head.next
            )));
        }
        let withdrawals = catalog.withdrawals();
        // A deleted task is not readable, even before it is compacted.
        catalog.task(task)?;
        let ancestry = Ancestry::of(catalog, task, lineage)?;
        let next = if next == 0 { ancestry.begin() } else { next };
        ancestry.check(next)?;
        let end = end.min(head.next).max(next);
        Ok(Self {
            catalog: catalog.clone(),
            task,
            lineage,
            withdrawals,
            erased: catalog.erased_of(task),
            ancestry,
            next,
            end,
            owner: None,
            place: None,
            ahead: Ahead::default(),
        })
    }

    /// Returns the events for reads that nothing cancels.
    #[cfg(not(shuttle))]
    pub(crate) fn without_cancel(self) -> Self {
        Self { catalog: self.catalog.cancelled_by(&crate::cancel::Cancel::NEVER), ..self }
    }

    /// Extends the range to a later head.
    pub(crate) fn extend(&mut self, end: Offset) {
        self.end = self.end.max(end);
    }

    /// Skips to `offset` if that is ahead.
    pub(crate) fn seek(&mut self, offset: Offset) {
        self.next = self.next.max(offset);
    }

    /// Returns `true` if the event at `offset` is in the range, or was passed.
    pub(crate) fn reaches(&self, offset: Offset) -> bool {
        offset < self.end || self.next > offset
    }

    pub(crate) fn next_offset(&self) -> Offset {
        self.next
    }

    /// Returns the next offset and the end of the range.
    pub(crate) fn range(&self) -> (Offset, Offset) {
        (self.next, self.end)
    }

    /// Returns the error for a missing event: retention may have removed it since the read began.
    fn missing(&self) -> Error {
        let at = self.next;
        let live = match self.catalog.log().live() {
            Ok(live) => live,
            Err(error) => return error,
        };
        let id = LogId::lineage(self.task, self.owner.unwrap_or(self.lineage));
        if live.is_gone(id) || live.base(id).is_some_and(|base| at < base.next) {
            return Error::not_found(format!("{id}: retention took the event away"));
        }
        Error::corrupt("log", format!("offset {at}"), "nothing")
    }

    /// Returns `true` if content was withdrawn since the last refresh.
    pub(crate) fn is_stale(&self) -> bool {
        self.catalog.withdrawals() != self.withdrawals
    }

    /// Refreshes erased events if content was withdrawn since the last refresh.
    ///
    /// # Errors
    ///
    /// `NotFound`: the task was deleted, the lineage dropped or the next event trimmed.
    pub(crate) fn renew(&mut self) -> Result<()> {
        if !self.is_stale() {
            return Ok(());
        }
        let now = self.catalog.withdrawals();
        let catalog = &self.catalog;
        catalog.readable((self.task, self.lineage, self.next))?;
        self.erased = catalog.erased_of(self.task);
        self.withdrawals = now;
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Event>> {
        self.renew()?;
        let owner = self
            .ancestry
            .owner(self.next)
            .ok_or_else(|| Error::not_found(format!("no lineage holds offset {}", self.next)))?;
        if self.owner != Some(owner) {
            self.owner = Some(owner);
            self.place = None;
            self.ahead = Ahead::default();
        }
        let id = LogId::lineage(self.task, owner);
        let (log, erased, end) = (self.catalog.log(), &self.erased, self.end);
        let ahead = &mut self.ahead;
        let fetch = |at| ahead.extent(log, id, at, end);
        step(fetch, &mut self.next, &mut self.place, |at, record| {
            event(log, owner, at, record, erased.has(owner, at))
        })
    }
}

impl Iterator for Events {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let at = self.next;
        let read = match self.catalog.cancel().check().and_then(|()| self.read()) {
            Ok(Some(event)) => Ok(event),
            Ok(None) => Err(self.missing()),
            Err(error) => Err(error),
        };
        if read.is_err() {
            self.end = self.next;
        }
        Some(read.map_err(|e| e.at(format!("offset {at}"))))
    }
}
