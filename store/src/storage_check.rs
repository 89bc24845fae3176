//! The check of a log's files, and the faults that it finds.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use milepost_codec::{
    ChunkId, Error, LineageId, LogBatchRef, LogBatches, LogId, LogKind, Offset, Result, Seq, TaskNo,
};

use crate::digest::Digest;
use crate::index::keys;
use crate::liveness::{LiveSection, Liveness};

/// A difference from the stored data as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The log or file.
    pub place: String,
    /// The difference from the written content.
    pub message: String,
    /// The affected event, if there is one.
    pub event: Option<EventPlace>,
    /// The remedy.
    pub remedy: Remedy,
}

/// The place of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPlace {
    /// The task's number in the store.
    pub task: TaskNo,
    /// The lineage; `None` for the control log.
    pub lineage: Option<LineageId>,
    /// The offset.
    pub offset: Offset,
}

/// The remedy of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Rebuilding sled.
    Sled,
    /// Rewriting damaged files of the archive, and packs, from their other copies.
    Files,
    /// Removing the entry with this key, of a snapshot or a chunk: no event accounts for it.
    Note(Vec<u8>),
    /// There is no other copy.
    None,
}

impl Fault {
    /// Returns a fault.
    pub fn new(place: impl ToString, message: String, remedy: Remedy) -> Self {
        Self { place: place.to_string(), message, event: None, remedy }
    }

    /// Returns a fault for an error, with a rebuild of sled as remedy.
    pub fn of(place: impl ToString, error: &Error) -> Self {
        Self::new(place, error.to_string(), Remedy::Sled)
    }

    /// Sets the remedy.
    pub fn mended_by(mut self, remedy: Remedy) -> Self {
        self.remedy = remedy;
        self
    }

    /// Returns a fault for an event whose body cannot be read.
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

/// The state and the findings of a log's check of its files.
#[derive(Debug)]
pub struct StorageCheck {
    /// The number of frames that were read.
    pub frames: u64,
    /// The number of chunks that were read.
    pub chunks: u64,
    /// The last commit to check.
    pub until: Seq,
    faults: Vec<Fault>,
    /// Damaged chunks.
    pub lost: Vec<Fault>,
    /// Sections of selected logs, if they are collected for a close comparison.
    pub copy: Option<Sections>,
    digests: HashMap<LogId, Digest>,
    /// The filter for withdrawn content, which may be in one copy and not in the other.
    live: Arc<Liveness>,
}

/// The sections of some logs by their first offsets: the commit, and the hash of the bytes.
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

    /// Adds a fault that rewriting the file from another copy repairs.
    pub fn fault(&mut self, error: &Error) {
        self.faults.push(Fault::of("storage", error).mended_by(Remedy::Files));
    }

    /// Adds a damaged chunk of which no copy is intact. When the index no longer names it, it can
    /// be stored again.
    pub fn lost_chunk(&mut self, key: &[u8], error: &Error) {
        let fault = Fault::of("storage", error).mended_by(Remedy::Note(key.to_vec()));
        self.lost.push(fault);
    }

    /// Returns the damaged chunks.
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

    /// Adds the log batches of a frame of the other copy.
    pub fn frame(&mut self, seq: Seq, payload: &[u8]) -> Result<()> {
        self.frames += 1;
        if seq > self.until {
            return Ok(());
        }
        for group in LogBatches::new(payload) {
            let LogBatchRef { log, first, bytes, section, .. } = group?;
            let part = self.live.part(log, first, &section)?;
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

/// Returns a section's key in the digest.
pub fn place(first: Offset) -> [u8; 8] {
    first.to_le_bytes()
}
