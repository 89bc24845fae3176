//! Append requests. Bodies are encoded and hashed here, on the caller's thread. The leader does the
//! work that depends on the position in the log.

use std::ops::Range;

use milepost_codec::{
    Body, BodyForm, Control, Epoch, Error, FRAME_PAYLOAD_MAX, Hash, Head, Header, LineageId, LogId,
    Offset, Origin, RecordRef, RestoreId, Result, Salts, Seed, TaskNo, body_hash, encode_record,
    salt,
};
use milepost_store::clock::Stopwatch;
use milepost_store::index::is_indexed;
use smallvec::{SmallVec, smallvec};

use crate::commit::conditions;
use crate::context;
use crate::history::checkpoint::PendingMark;

/// An atomic request: all of its parts are committed, or none.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) parts: SmallVec<[Part; 1]>,
    /// The activation that this request makes, if any.
    pub(crate) activates: Option<Activate>,
    /// The task whose lineages this request changes. Its cached state is read again afterwards.
    pub(crate) changes: Option<TaskNo>,
    /// The task that this request deletes.
    pub(crate) deletes: Option<TaskNo>,
    /// The task for which this request begins a restore. The task takes no appends until the
    /// restore ends.
    pub(crate) begins: Option<TaskNo>,
    /// The restore that this request ends. It does not block this request.
    pub(crate) settles: Option<RestoreId>,
    /// Heads that logs must still have at the commit: the request was computed from them.
    pub(crate) heads: Vec<(LogId, Offset)>,
}

/// An activation: the new active lineage of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Activate {
    pub(crate) task: TaskNo,
    pub(crate) epoch: Epoch,
    pub(crate) lineage: LineageId,
}

/// Events for one log.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) log: LogId,
    pub(crate) origin: Origin,
    /// The head at which this part opens the log, if it does.
    pub(crate) open: Option<Head>,
    /// The lineage that the new one forks from.
    pub(crate) parent: Option<LineageId>,
    pub(crate) expect: Option<Offset>,
    pub(crate) epoch: Option<Epoch>,
    pub(crate) key: Option<String>,
    pub(crate) seed: Seed,
    /// Salts of records from another store, 16 bytes each. Those records go unchanged into a task
    /// that is not visible yet.
    pub(crate) adopted: Option<Vec<u8>>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) records: SmallVec<[RecordMeta; 1]>,
    /// Headers of the records that have index entries, with the record numbers.
    pub(crate) indexed: Vec<(u32, Header)>,
    /// A mark after the records. Its parent is known only at the commit.
    pub(crate) mark: Option<PendingMark>,
    /// A guard that holds the chunks of this part until it is committed.
    pub(crate) storing: Option<Box<dyn std::any::Any + Send>>,
    /// The time at which building this part began.
    pub(crate) begun: Stopwatch,
}

/// One encoded record of a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordMeta {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) header: (u32, u32),
    /// The range of an inline payload.
    pub(crate) payload: Option<(u32, u32)>,
    pub(crate) body: Hash,
}

impl Request {
    /// Creates a request of one part, as an append has.
    pub(crate) fn one(part: Part) -> Self {
        Self::of(smallvec![part])
    }

    pub(crate) fn of(parts: impl Into<SmallVec<[Part; 1]>>) -> Self {
        Self {
            parts: parts.into(),
            activates: None,
            changes: None,
            deletes: None,
            begins: None,
            settles: None,
            heads: Vec::new(),
        }
    }

    /// Makes the commit fail with `Conflict` if one of these logs has grown.
    pub(crate) fn unless_grown(mut self, heads: Vec<(LogId, Offset)>) -> Self {
        self.heads = heads;
        self
    }

    /// Notes that the request changes the lineages of a task.
    pub(crate) fn changing(mut self, task: TaskNo) -> Self {
        self.changes = Some(task);
        self
    }

    /// Notes that the request deletes a task.
    pub(crate) fn deleting(mut self, task: TaskNo) -> Self {
        self.deletes = Some(task);
        self.changing(task)
    }

    /// Notes that the request begins a restore of the task.
    pub(crate) fn beginning(mut self, task: TaskNo) -> Self {
        self.begins = Some(task);
        self.changing(task)
    }

    /// Notes that the request ends a restore of the task.
    pub(crate) fn settling(mut self, task: TaskNo, restore: RestoreId) -> Self {
        self.settles = Some(restore);
        self.changing(task)
    }

    /// Returns the time at which the request was begun, before encoding.
    pub(crate) fn begun(&self) -> Option<Stopwatch> {
        self.parts.first().map(|part| part.begun)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes.len() + 256).sum()
    }
}

impl Part {
    /// Returns the salts of a range of records, as a section stores them.
    pub(crate) fn salts(&self, records: Range<usize>) -> Salts<'_> {
        match &self.adopted {
            Some(salts) => {
                let bytes = records.start * 16..records.end * 16;
                Salts::Explicit(salts.get(bytes).unwrap_or_default())
            }
            None => Salts::Seeded(self.seed, records.start as u64),
        }
    }

    pub(crate) fn slice(&self, (start, end): (u32, u32)) -> &[u8] {
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }
}

/// A builder of parts.
pub(crate) struct PartBuilder(Part);

impl PartBuilder {
    pub(crate) fn new(log: LogId, origin: Origin, seed: Seed) -> Self {
        Self(Part {
            log,
            origin,
            open: None,
            parent: None,
            expect: None,
            epoch: None,
            key: None,
            seed,
            adopted: None,
            bytes: Vec::new(),
            records: SmallVec::new(),
            indexed: Vec::new(),
            mark: None,
            storing: None,
            begun: Stopwatch::start(),
        })
    }

    pub(crate) fn open(mut self, at: Head) -> Self {
        self.0.open = Some(at);
        self
    }

    pub(crate) fn parent(mut self, parent: LineageId) -> Self {
        self.0.parent = Some(parent);
        self
    }

    pub(crate) fn expect(mut self, expect: Option<Offset>) -> Self {
        self.0.expect = expect;
        self
    }

    pub(crate) fn epoch(mut self, epoch: Option<Epoch>) -> Self {
        self.0.epoch = epoch;
        self
    }

    pub(crate) fn mark(mut self, mark: PendingMark) -> Self {
        let key = mark.header.key.clone();
        self.0.key = self.0.key.or(key);
        self.0.mark = Some(mark);
        self
    }

    /// Appends an encoded body. Fails with `Invalid` if the part exceeds the limit of a frame.
    pub(crate) fn push(&mut self, header: Header, form: BodyForm, payload: &[u8]) -> Result<()> {
        let bytes = header.encode();
        self.push_encoded(&bytes, form, payload)?;
        let part = &mut self.0;
        let is_control = matches!(part.log.kind, milepost_codec::LogKind::Control);
        if header.key.is_some() || is_control || is_indexed(header.kind) {
            if let Some(key) = &header.key {
                part.key = Some(key.clone());
            }
            part.indexed.push((part.records.len() as u32 - 1, header));
        }
        Ok(())
    }

    /// Appends an event with an encoded header and no index entry.
    pub(crate) fn push_encoded(
        &mut self,
        header: &[u8],
        form: BodyForm,
        payload: &[u8],
    ) -> Result<()> {
        let part = &self.0;
        let salt = salt(part.seed, part.records.len() as u64);
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
        let part = &mut self.0;
        part.adopted.get_or_insert_default().extend(salt);
        let header = record.header()?;
        let is_control = matches!(part.log.kind, milepost_codec::LogKind::Control);
        if header.key.is_some() || is_control || is_indexed(header.kind) {
            part.indexed.push((part.records.len() as u32 - 1, header));
        }
        Ok(())
    }

    fn push_hashed(
        &mut self,
        header: &[u8],
        form: BodyForm,
        payload: &[u8],
        body: Hash,
    ) -> Result<()> {
        let part = &mut self.0;
        let start = part.bytes.len();
        encode_record(&mut part.bytes, header, form, payload);
        let end = part.bytes.len();
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
        part.records.push(RecordMeta {
            start: start as u32,
            end: end as u32,
            header: span(header_start, header_start + header.len()),
            payload: (form == BodyForm::Inline).then(|| span(payload_start, end)),
            body,
        });
        Ok(())
    }

    /// Returns the bytes and the number of records.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.0.bytes.len(), self.0.records.len())
    }

    /// Takes the guard that holds the chunks of this part.
    pub(crate) fn storing(&mut self, storing: Option<Box<dyn std::any::Any + Send>>) {
        self.0.storing = storing;
    }

    /// Reserves space for `records` with about `bytes` in all.
    pub(crate) fn reserve(&mut self, records: usize, bytes: usize) {
        self.0.records.reserve(records);
        self.0.bytes.reserve(bytes);
    }

    /// Appends an inline event of a lineage.
    pub(crate) fn body(&mut self, body: &Body, time_us: u64) -> Result<()> {
        let (kind, payload) = body.encode();
        let header = conditions::on_body(body, context::header(kind, time_us))?;
        self.push(header, BodyForm::Inline, &payload)
    }

    /// Appends an event of a control log.
    pub(crate) fn control(&mut self, control: &Control, time_us: u64) -> Result<()> {
        let (kind, payload) = control.encode();
        let header = conditions::on_control(control, context::header(kind, time_us))?;
        self.push(header, BodyForm::Inline, &payload)
    }

    pub(crate) fn finish(self) -> Part {
        self.0
    }
}
