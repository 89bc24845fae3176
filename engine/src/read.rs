//! Reading events back: through a lineage's ancestors, one stretch in memory at a time.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use milepost_codec::{
    Body, BodyForm, ChunkList, Error, LineageId, LogId, Offset, RecordRef, Records, Result, TaskNo,
};
use milepost_replay::Event;

use crate::catalog::Catalog;
use crate::index::BaseEntry;
use crate::live::Live;
use crate::log::{Log, Stretch};
use crate::retention::ErasedEvents;

/// A lineage and what it inherits: for each owner, from which offset and up to which.
#[derive(Debug, Clone)]
pub(crate) struct Ancestry {
    /// Oldest first.
    spans: Vec<(LineageId, Offset, Offset)>,
    /// Where the oldest of them begins since it was trimmed.
    base: Option<BaseEntry>,
}

impl Ancestry {
    /// The ancestry of a lineage. Its own span is open at the end.
    pub(crate) fn of(catalog: &Catalog, task: TaskNo, lineage: LineageId) -> Result<Self> {
        let mut spans = Vec::new();
        let (mut at, mut to) = (lineage, Offset::MAX);
        let base = loop {
            let entry = catalog.lineage_ever(task, at)?;
            if let Some(base) = catalog.base(task, at)? {
                spans.push((at, base.head.next, to));
                break Some(base);
            }
            let from = entry.parent.map_or(0, |parent| parent.offset);
            if from > to {
                return Err(Error::corrupt(
                    format!("lineage {at}"),
                    format!("a fork at {to} or before"),
                    from,
                ));
            }
            spans.push((at, from, to));
            match entry.parent {
                // A parent was opened before its child: a cycle cannot pass.
                Some(parent) if parent.lineage < at => (at, to) = (parent.lineage, parent.offset),
                Some(parent) => {
                    let found = format!("lineage {}", parent.lineage);
                    return Err(Error::corrupt(
                        format!("lineage {at}"),
                        "an older parent",
                        found,
                    ));
                }
                None => break None,
            }
        };
        spans.reverse();
        Ok(Self { spans, base })
    }

    /// The first offset that is there.
    pub(crate) fn begin(&self) -> Offset {
        self.base.map_or(0, |base| base.head.next)
    }

    /// The base it begins with, and whose that is.
    pub(crate) fn base(&self) -> Option<(LineageId, BaseEntry)> {
        let (owner, ..) = self.spans.first()?;
        Some((*owner, self.base?))
    }

    /// `NotFound` where an offset is before what is there.
    pub(crate) fn check(&self, offset: Offset) -> Result<()> {
        let begin = self.begin();
        if offset >= begin {
            return Ok(());
        }
        Err(Error::not_found(format!(
            "offset {offset} is gone: retention trimmed what is before offset {begin}"
        )))
    }

    /// Up to where two histories are one; nothing where what they shared was trimmed, or is none.
    pub(crate) fn common(&self, other: &Self) -> Option<Offset> {
        let spans = self.spans.iter().rev();
        let mut shared = spans.filter_map(|(owner, _, to)| {
            let theirs = other.spans.iter().find(|(found, ..)| found == owner);
            theirs.map(|(_, _, their_to)| *to.min(their_to))
        });
        shared.next()
    }

    /// The owners of offsets before `before`, newest first: lineage, from, to.
    pub(crate) fn newest_first(
        &self,
        before: Offset,
    ) -> impl Iterator<Item = (LineageId, Offset, Offset)> + '_ {
        let spans = self.spans.iter().rev();
        spans
            .map(move |(owner, from, to)| (*owner, *from, (*to).min(before)))
            .filter(|(_, from, to)| from < to)
    }

    /// The lineage that holds the event at an offset.
    pub(crate) fn owner(&self, offset: Offset) -> Option<LineageId> {
        let spans = self.spans.iter();
        spans
            .rev()
            .find(|(_, from, to)| (*from..*to).contains(&offset))
            .map(|(owner, ..)| *owner)
    }

    /// The lineage whose chain has a hash at an offset: the owner of the event before it.
    pub(crate) fn hash_owner(&self, offset: Offset) -> Option<LineageId> {
        match offset.checked_sub(1).filter(|_| offset > self.begin()) {
            Some(before) => self.owner(before),
            None => self.spans.first().map(|(owner, ..)| *owner),
        }
    }
}

/// Walks through the records of one log.
pub(crate) struct Cursor<'a> {
    log: &'a Arc<dyn Log>,
    id: LogId,
    next: Offset,
    stretch: Option<StretchCursor>,
}

/// A place in a stretch.
struct StretchCursor {
    stretch: Stretch,
    /// Sections of the stretch that are not begun.
    sections: (usize, usize),
    /// Records of the section that are left, and where they are.
    records: (usize, usize),
    left: u32,
    at: Offset,
}

impl StretchCursor {
    fn new(stretch: Stretch) -> Self {
        let (start, end, at) = (stretch.range.start, stretch.range.end, stretch.first);
        Self {
            stretch,
            sections: (start, end),
            records: (0, 0),
            left: 0,
            at,
        }
    }

    /// The next record; nothing at the end of the stretch.
    fn next(&mut self) -> Result<Option<(Offset, RecordRef<'_>)>> {
        let bytes: &[u8] = &self.stretch.bytes;
        let slice = |(from, to): (usize, usize)| bytes.get(from..to).unwrap_or_default();
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
            return Err(Error::corrupt(
                "section",
                format!("{} more records", self.left),
                "none",
            ));
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
        Self {
            log,
            id,
            next: from,
            stretch: None,
        }
    }

    /// Gives the next record to `take`; nothing at the end of the log.
    pub(crate) fn next_record<T>(
        &mut self,
        take: impl FnOnce(Offset, &RecordRef<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let (id, next) = (self.id, self.next);
        step(self.log, id, &mut self.next, &mut self.stretch, take)
            .map_err(|e| e.at(format!("{id} at offset {next}")))
    }
}

fn step<T>(
    log: &Arc<dyn Log>,
    id: LogId,
    next: &mut Offset,
    place: &mut Option<StretchCursor>,
    take: impl FnOnce(Offset, &RecordRef<'_>) -> Result<T>,
) -> Result<Option<T>> {
    loop {
        if place
            .as_ref()
            .is_none_or(|place| !(place.at..place.stretch.end()).contains(next))
        {
            match log.stretch(id, *next)? {
                Some(stretch) => *place = Some(StretchCursor::new(stretch)),
                None => return Ok(None),
            }
        }
        let Some(stretch) = place.as_mut() else {
            return Ok(None);
        };
        match stretch.next()? {
            Some((at, record)) if at == *next => {
                // Only what was taken is passed: what could not be read is tried again.
                let taken = take(at, &record)?;
                *next += 1;
                return Ok(Some(taken));
            }
            Some(_) => {}
            None => {
                return Err(Error::corrupt(
                    "stretch",
                    format!("offset {next}"),
                    "fewer records",
                ));
            }
        }
    }
}

/// An event of a record: its body read from chunks where it is not inline. One that was erased has none,
/// though its bytes may be there until the store is compacted.
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
            let list = ChunkList::decode(record.payload)?;
            Some(Body::decode(header.kind, &read_chunks(log, &list)?)?)
        }
    };
    Ok(Event {
        lineage,
        offset,
        header,
        body,
    })
}

/// The content of a chunk list.
pub(crate) fn read_chunks(log: &Arc<dyn Log>, list: &ChunkList) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    for id in &list.chunks {
        let chunk = log.get_chunk(id)?;
        let chunk = chunk.ok_or_else(|| Error::corrupt(format!("chunk {id}"), "it", "nothing"))?;
        content.extend_from_slice(&chunk);
    }
    if content.len() as u64 != list.len {
        return Err(Error::corrupt(
            "chunk list",
            format!("{} bytes", list.len),
            content.len(),
        ));
    }
    Ok(content)
}

/// Events of a lineage and its ancestors, in order. It holds one block at a time, whatever the
/// length of the range.
///
/// The range ends where the lineage ended when it was asked for. One that begins at 0 begins at the
/// first event that is there: retention may have trimmed what came before it.
pub struct Events {
    log: Arc<dyn Log>,
    task: TaskNo,
    erased: ErasedEvents,
    ancestry: Ancestry,
    next: Offset,
    end: Offset,
    owner: Option<LineageId>,
    place: Option<StretchCursor>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events")
            .field("next", &self.next)
            .field("end", &self.end)
            .finish()
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
        // What is left of a deleted task is not shown.
        catalog.task(task)?;
        let ancestry = Ancestry::of(catalog, task, lineage)?;
        let next = if next == 0 { ancestry.begin() } else { next };
        ancestry.check(next)?;
        let log = Arc::clone(catalog.log());
        let end = end.min(head.next).max(next);
        Ok(Self {
            log,
            task,
            erased: catalog.erased_of(task),
            ancestry,
            next,
            end,
            owner: None,
            place: None,
        })
    }

    /// Reads on up to a later head.
    pub(crate) fn extend(&mut self, end: Offset) {
        self.end = self.end.max(end);
    }

    /// Goes on from `offset`, if that is ahead.
    pub(crate) fn seek(&mut self, offset: Offset) {
        self.next = self.next.max(offset);
    }

    /// Whether the range holds the event at `offset`.
    pub(crate) fn reaches(&self, offset: Offset) -> bool {
        offset < self.end || self.next > offset
    }

    pub(crate) fn next_offset(&self) -> Offset {
        self.next
    }

    /// Why there is no event where one is due: retention may have taken it away since this was begun.
    fn missing(&self) -> Error {
        let (at, owner) = (self.next, self.owner.unwrap_or_default());
        let live = Live::of(self.log.as_ref()).unwrap_or_default();
        let id = LogId::lineage(self.task, owner);
        if live.is_gone(id) || live.base(id).is_some_and(|base| at < base.next) {
            return Error::not_found(format!("{id}: retention took the event away"));
        }
        Error::corrupt("log", format!("offset {at}"), "nothing")
    }

    fn read(&mut self) -> Result<Option<Event>> {
        let owner = self
            .ancestry
            .owner(self.next)
            .ok_or_else(|| Error::not_found(format!("no lineage holds offset {}", self.next)))?;
        if self.owner != Some(owner) {
            self.owner = Some(owner);
            self.place = None;
        }
        let id = LogId::lineage(self.task, owner);
        let (log, erased) = (&self.log, &self.erased);
        step(log, id, &mut self.next, &mut self.place, |at, record| {
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
        let read = match self.read() {
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
