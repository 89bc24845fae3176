//! The check of a log's files, and the faults that it finds.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use milepost_codec::{
    ChunkId, Error, LineageId, LogBatchRef, LogBatches, LogId, LogKind, Offset, Result, Seq, TaskNo,
};

use crate::digest::Digest;
use crate::index::keys;
use crate::liveness::{LiveSection, Liveness};

/// One thing that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The log or file.
    pub place: String,
    /// The difference from what was written.
    pub message: String,
    /// The event that it hits, where it is one.
    pub event: Option<EventPlace>,
    /// The way to mend it.
    pub remedy: Remedy,
}

/// The place of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPlace {
    /// The task's number in the store.
    pub task: TaskNo,
    /// The lineage; nothing for the control log.
    pub lineage: Option<LineageId>,
    /// The offset.
    pub offset: Offset,
}

/// The way to mend a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Building sled anew.
    Sled,
    /// Writing the archive again.
    Archive,
    /// Removing an entry that no event accounts for, of a snapshot or a chunk: its key.
    Note(Vec<u8>),
    /// There is one copy of it.
    None,
}

impl Fault {
    /// Makes a fault.
    pub fn new(place: impl ToString, message: String, remedy: Remedy) -> Self {
        Self { place: place.to_string(), message, event: None, remedy }
    }

    /// Makes a fault of an error. Building sled anew mends it.
    pub fn of(place: impl ToString, error: &Error) -> Self {
        Self::new(place, error.to_string(), Remedy::Sled)
    }

    /// Sets the way to mend it.
    pub fn mended_by(mut self, remedy: Remedy) -> Self {
        self.remedy = remedy;
        self
    }

    /// An event whose body cannot be read.
    pub fn of_event(id: LogId, offset: Offset, error: &Error) -> Self {
        let lineage = match id.kind {
            LogKind::Lineage(lineage) => Some(lineage),
            LogKind::Control => None,
        };
        Self {
            event: Some(EventPlace { task: id.task, lineage, offset }),
            ..Self::of(format!("{id} at offset {offset}"), error).mended_by(Remedy::None)
        }
    }
}

/// Findings of a log's own check of its files.
#[derive(Debug)]
pub struct StorageCheck {
    /// Frames that were read.
    pub frames: u64,
    /// Chunks that were read.
    pub chunks: u64,
    /// Commits up to here are looked at.
    pub until: Seq,
    faults: Vec<Fault>,
    /// Chunks that are damaged.
    pub lost: Vec<Fault>,
    /// Sections of the logs that are looked at closely.
    pub copy: Option<Sections>,
    digests: HashMap<LogId, Digest>,
    /// Content that retention removed may be there in one copy and not in the other.
    live: Arc<Liveness>,
}

/// The sections of some logs, by their first offsets: the commit, and the hash of the bytes.
#[derive(Debug, Default)]
pub struct Sections {
    /// Logs whose sections are collected.
    pub wanted: HashSet<LogId>,
    /// Sections by log and first offset.
    pub found: HashMap<LogId, BTreeMap<Offset, (Seq, blake3::Hash)>>,
}

impl StorageCheck {
    /// Begins a check.
    pub fn new(until: Seq, live: Arc<Liveness>) -> Self {
        Self {
            frames: 0,
            chunks: 0,
            until,
            faults: Vec::new(),
            lost: Vec::new(),
            copy: None,
            digests: HashMap::new(),
            live,
        }
    }

    /// Adds a fault that writing the archive again mends.
    pub fn fault(&mut self, error: &Error) {
        self.faults.push(Fault::of("storage", error).mended_by(Remedy::Archive));
    }

    /// There is one copy of a chunk. Once the index does not name it, it can be stored again.
    pub fn lost_chunk(&mut self, key: &[u8], error: &Error) {
        let fault = Fault::of("storage", error).mended_by(Remedy::Note(key.to_vec()));
        self.lost.push(fault);
    }

    /// The chunks that are damaged.
    pub fn lost_chunks(&self) -> HashSet<ChunkId> {
        let key = |fault: &Fault| match &fault.remedy {
            Remedy::Note(key) => keys::chunk_id(key),
            _ => None,
        };
        self.lost.iter().filter_map(key).collect()
    }

    /// Takes the faults found so far.
    pub fn take_faults(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.faults)
    }

    /// Returns `true` if there is another copy.
    pub fn has_copy(&self) -> bool {
        self.frames > 0
    }

    /// Returns the digest of a log's sections in the other copy.
    pub fn digest(&self, log: LogId) -> Digest {
        let digest = self.digests.get(&log).copied();
        digest.unwrap_or(Digest::default())
    }

    /// Takes the groups of a frame of the other copy.
    pub fn frame(&mut self, seq: Seq, payload: &[u8]) -> Result<()> {
        self.frames += 1;
        if seq > self.until {
            return Ok(());
        }
        for group in LogBatches::new(payload) {
            let LogBatchRef { log, first, span, section } = group?;
            let part = self.live.part(log, first, &section)?;
            let bytes = payload.get(span.0..span.1).expect("a group lies in its frame");
            let (first, bytes) = match &part {
                LiveSection::Nothing => continue,
                LiveSection::Whole => (first, bytes),
                LiveSection::Other(first, bytes) => (*first, bytes.as_slice()),
            };
            match &mut self.copy {
                None => self.digests.entry(log).or_default().add(&place(first), bytes),
                Some(sections) => sections.take(log, first, seq, bytes),
            }
        }
        Ok(())
    }
}

impl Sections {
    fn take(&mut self, log: LogId, first: Offset, seq: Seq, bytes: &[u8]) {
        if self.wanted.contains(&log) {
            let found = self.found.entry(log).or_default();
            found.insert(first, (seq, blake3::hash(bytes)));
        }
    }
}

/// The place of a section, as it counts in the digest.
pub fn place(first: Offset) -> [u8; 8] {
    first.to_le_bytes()
}
