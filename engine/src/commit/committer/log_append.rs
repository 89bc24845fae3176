//! Appends to one log. Bodies are encoded and hashed here, on the caller's thread. The leader does
//! the work that depends on the position in the log.

use std::ops::Range;
use std::sync::Arc;

use milepost_codec::{
    Body, BodyForm, Control, Epoch, Error, FRAME_PAYLOAD_MAX, Hash, Head, Header, LineageId, LogId,
    LogKind, Offset, Origin, RecordRef, RestoreId, Result, Salts, Seed, TaskNo, body_hash,
    encode_record, salt,
};
use milepost_store::clock::Stopwatch;
use milepost_store::index::is_indexed;
use smallvec::SmallVec;

use crate::commit::conditions::{control_keeps_key, keeps_key};
use crate::commit::each_keyed::EventKeys;
use crate::context::Context;
use crate::history::checkpoint::PendingMark;

/// Events for one log, encoded and hashed.
#[derive(Debug)]
pub(crate) struct LogAppend {
    pub(crate) log: LogId,
    pub(crate) origin: Origin,
    /// The context of the caller, if it has one.
    context: Option<Arc<Context>>,
    /// The head at which this append opens the log, if it does.
    pub(crate) open: Option<Head>,
    /// The lineage that the new one forks from.
    pub(crate) parent: Option<LineageId>,
    pub(crate) expect: Option<Offset>,
    pub(crate) epoch: Option<Epoch>,
    pub(crate) key: Option<String>,
    /// The key of the operation, for the event that keeps it.
    operation_key: Option<String>,
    /// The keys of its events, if each has its own.
    pub(crate) event_keys: Option<EventKeys>,
    pub(crate) seed: Seed,
    /// The number of records that [`LogAppend::opened_by`] will put before its own.
    follows: usize,
    /// Salts of records from another store, 16 bytes each. Those records go unchanged into a task
    /// that is not visible yet.
    pub(crate) adopted: Option<Vec<u8>>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) records: SmallVec<[RecordMeta; 1]>,
    /// Headers of the records that have index entries, with the record numbers.
    pub(crate) indexed: Vec<(u32, Header)>,
    /// The effects of its control events.
    effects: Vec<Effect>,
    /// A mark after the records. Its parent is known only at the commit.
    pub(crate) mark: Option<PendingMark>,
    /// A guard that holds the chunks of this append until it is committed.
    pub(crate) storing: Option<Box<dyn std::any::Any + Send>>,
    /// The time at which building this append began.
    pub(crate) begun: Stopwatch,
}

/// One encoded record of an append.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordMeta {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) header: (u32, u32),
    /// The range of an inline payload.
    pub(crate) payload: Option<(u32, u32)>,
    pub(crate) body: Hash,
}

/// A change of the leader's caches that a control event causes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effect {
    /// A lineage of the task becomes the active one.
    Activates(TaskNo, (Epoch, LineageId)),
    /// The task's cached state is read again: its marks or lineages change.
    Changes(TaskNo),
    /// The task is deleted.
    Deletes(TaskNo),
    /// A restore of the task begins. The task takes no appends until the restore ends.
    BeginsRestore(TaskNo),
    /// A restore of the task ends.
    EndsRestore(TaskNo, RestoreId),
}

impl Effect {
    /// Returns the effect of an event in the control log of `task`. The safe one is the default:
    /// the caches of a task can always be read again.
    fn of(task: TaskNo, control: &Control) -> Option<Self> {
        match control {
            Control::Activated(to) => Some(Self::Activates(task, (to.epoch, to.lineage))),
            Control::Deleted(deleted) => Some(Self::Deletes(deleted.task)),
            Control::RestoreBegun(_) => Some(Self::BeginsRestore(task)),
            Control::RestoreEnded(ended) => Some(Self::EndsRestore(task, ended.restore)),
            Control::StoreCreated(_)
            | Control::TaskOpened(_)
            | Control::TaskPrepared(_)
            | Control::LineageRegistered(_)
            | Control::OwnerSet(_)
            | Control::FilesKept(_)
            | Control::Lost(_) => None,
            _ => Some(Self::Changes(task)),
        }
    }
}

impl LogAppend {
    /// Returns the salts of a range of records, as a section stores them.
    pub(crate) fn salts(&self, records: Range<usize>) -> Salts<'_> {
        match &self.adopted {
            Some(salts) => {
                let bytes = records.start * 16..records.end * 16;
                Salts::Explicit(salts.get(bytes).expect("each adopted record has a salt"))
            }
            None => Salts::Seeded(self.seed, records.start as u64),
        }
    }

    pub(crate) fn slice(&self, (start, end): (u32, u32)) -> &[u8] {
        let span = start as usize..end as usize;
        self.bytes.get(span).expect("a span lies in the bytes")
    }

    pub(crate) fn new(log: LogId, origin: Origin, seed: Seed) -> Self {
        Self {
            log,
            origin,
            context: None,
            open: None,
            parent: None,
            expect: None,
            epoch: None,
            key: None,
            operation_key: None,
            event_keys: None,
            seed,
            follows: 0,
            adopted: None,
            bytes: Vec::new(),
            records: SmallVec::new(),
            indexed: Vec::new(),
            effects: Vec::new(),
            mark: None,
            storing: None,
            begun: Stopwatch::start(),
        }
    }

    /// Sets the context of the caller, which its events have where they have none.
    pub(crate) fn context(mut self, context: Option<&Arc<Context>>) -> Self {
        self.context = context.map(Arc::clone);
        self
    }

    /// Returns the context of the caller.
    pub(crate) fn caller(&self) -> &Context {
        self.context.as_deref().unwrap_or(&Context::NONE)
    }

    pub(crate) fn open(mut self, at: Head) -> Self {
        self.open = Some(at);
        self
    }

    pub(crate) fn parent(mut self, parent: LineageId) -> Self {
        self.parent = Some(parent);
        self
    }

    /// Encodes its events as those that follow the only event of an opening.
    pub(crate) fn behind_opening(mut self) -> Self {
        self.follows = 1;
        self
    }

    /// Puts the event that opens a lineage before its own, which were encoded before that lineage
    /// was known.
    pub(crate) fn opened_by(mut self, mut opening: Self) -> Self {
        assert_eq!(opening.records.len(), self.follows, "the events follow one event");
        for (n, record) in (0..).zip(&mut opening.records) {
            let (start, end) = record.payload.expect("the event of an opening is inline");
            let payload = opening.bytes.get(start as usize..end as usize);
            let payload = payload.expect("a span lies in the bytes");
            record.body = body_hash(&salt(self.seed, n), BodyForm::Inline, payload);
        }
        let shift = opening.bytes.len() as u32;
        let span = |(start, end): (u32, u32)| (start + shift, end + shift);
        opening.bytes.append(&mut self.bytes);
        opening.records.extend(self.records.iter().map(|record| RecordMeta {
            start: record.start + shift,
            end: record.end + shift,
            header: span(record.header),
            payload: record.payload.map(span),
            body: record.body,
        }));
        let indexed = self.indexed.into_iter();
        opening.indexed.extend(indexed.map(|(n, header)| (n + self.follows as u32, header)));
        Self {
            log: opening.log,
            open: opening.open,
            parent: opening.parent,
            bytes: opening.bytes,
            records: opening.records,
            indexed: opening.indexed,
            follows: 0,
            ..self
        }
    }

    pub(crate) fn expect(mut self, expect: Option<Offset>) -> Self {
        self.expect = expect;
        self
    }

    /// Sets the key of the operation. The event that keeps it has to be added after this.
    pub(crate) fn operation_key(mut self, key: Option<&str>) -> Self {
        self.operation_key = key.map(str::to_owned);
        self
    }

    pub(crate) fn epoch(mut self, epoch: Option<Epoch>) -> Self {
        self.epoch = epoch;
        self
    }

    pub(crate) fn mark(mut self, mark: PendingMark) -> Self {
        let key = mark.header.key.clone();
        self.key = self.key.or(key);
        self.mark = Some(mark);
        self
    }

    /// Appends an encoded body. Fails with `Invalid` if the append exceeds the limit of a frame.
    pub(crate) fn push(&mut self, header: Header, form: BodyForm, payload: &[u8]) -> Result<()> {
        let bytes = header.encode();
        self.push_encoded(&bytes, form, payload)?;
        if let Some(key) = &header.key {
            self.key = Some(key.clone());
        }
        self.index_last(header);
        Ok(())
    }

    /// Keeps the header of the last record, if the record has index entries.
    fn index_last(&mut self, header: Header) {
        let is_control = matches!(self.log.kind, LogKind::Control);
        if header.key.is_some() || is_control || is_indexed(header.kind) {
            self.indexed.push((self.records.len() as u32 - 1, header));
        }
    }

    /// Appends an event with an encoded header and no index entry.
    pub(crate) fn push_encoded(
        &mut self,
        header: &[u8],
        form: BodyForm,
        payload: &[u8],
    ) -> Result<()> {
        let salt = salt(self.seed, (self.follows + self.records.len()) as u64);
        let body = body_hash(&salt, form, payload);
        self.push_hashed(header, form, payload, body)
    }

    /// Appends an event of another store with its salt. An erased event has a salt of zeros.
    pub(crate) fn push_adopted(
        &mut self,
        record: &RecordRef<'_>,
        salt: [u8; 16],
        body: Hash,
    ) -> Result<()> {
        self.push_hashed(record.header, record.form, record.payload, body)?;
        self.adopted.get_or_insert_default().extend(salt);
        self.index_last(record.header()?);
        Ok(())
    }

    fn push_hashed(
        &mut self,
        header: &[u8],
        form: BodyForm,
        payload: &[u8],
        body: Hash,
    ) -> Result<()> {
        let start = self.bytes.len();
        encode_record(&mut self.bytes, header, form, payload);
        let end = self.bytes.len();
        if end > FRAME_PAYLOAD_MAX / 2 {
            return Err(Error::invalid(format!(
                "one append may have {} MiB of events stored inline, split it",
                (FRAME_PAYLOAD_MAX / 2) >> 20
            )));
        }
        let payload_start = end - payload.len();
        // The header follows its length: one byte, or three for a long header.
        let header_start = start + if header.len() <= 250 { 1 } else { 3 };
        let span = |from: usize, to: usize| (from as u32, to as u32);
        self.records.push(RecordMeta {
            start: start as u32,
            end: end as u32,
            header: span(header_start, header_start + header.len()),
            payload: (form == BodyForm::Inline).then(|| span(payload_start, end)),
            body,
        });
        Ok(())
    }

    /// Returns all of its keys: that of the append, and those of its events.
    pub(super) fn keys(&self) -> impl Iterator<Item = &String> {
        let of_events = self.event_keys.iter().flat_map(|keys| &keys.keys);
        self.key.iter().chain(of_events)
    }

    /// Returns the bytes and the number of records.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.bytes.len(), self.records.len())
    }

    /// Takes the guard that holds the chunks of this append.
    pub(crate) fn storing(&mut self, storing: Option<Box<dyn std::any::Any + Send>>) {
        self.storing = storing;
    }

    /// Reserves space for `records` with about `bytes` in all.
    pub(crate) fn reserve(&mut self, records: usize, bytes: usize) {
        self.records.reserve(records);
        self.bytes.reserve(bytes);
    }

    /// Appends an inline event of a lineage.
    pub(crate) fn body(&mut self, body: &Body, time_us: u64) -> Result<()> {
        let (kind, payload) = body.encode();
        let header = self.header((kind, time_us), keeps_key(body));
        self.push(header, BodyForm::Inline, &payload)
    }

    /// Appends an event of a control log.
    pub(crate) fn control(&mut self, control: &Control, time_us: u64) -> Result<()> {
        let (kind, payload) = control.encode();
        let header = self.header((kind, time_us), control_keeps_key(control));
        self.effects.extend(Effect::of(self.log.task, control));
        self.push(header, BodyForm::Inline, &payload)
    }

    /// Returns the header of an event, with the key of the operation if the event keeps it.
    fn header(&self, (kind, time_us): (u16, u64), keeps_key: bool) -> Header {
        let key = self.operation_key.clone().filter(|_| keeps_key);
        Header {
            batch: u32::from(key.is_some()),
            key,
            ..Context::NONE.header(self.caller(), kind, time_us)
        }
    }

    pub(super) fn effects(&self) -> &[Effect] {
        &self.effects
    }
}
