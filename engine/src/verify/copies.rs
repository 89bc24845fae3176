//! The other copy: what the journal and its archive hold, compared section by section with what the
//! chains were computed over.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use milepost_codec::{ChunkId, Error, GroupRef, Groups, LogId, Offset, Result, Seq};

use super::{Fault, Remedy};
use crate::catalog::Catalog;
use crate::digest::Digest;
use crate::index::keys;
use crate::live::{Live, Part};

/// What a log's own check of its files saw.
#[derive(Debug)]
pub(crate) struct StorageCheck {
    pub(crate) frames: u64,
    pub(crate) chunks: u64,
    /// Commits up to here are looked at.
    pub(crate) until: Seq,
    faults: Vec<Fault>,
    /// Chunks that are damaged.
    pub(super) lost: Vec<Fault>,
    copy: Option<Sections>,
    digests: HashMap<LogId, Digest>,
    /// What retention let go of may be there in one copy and not in the other.
    live: Arc<Live>,
}

/// The sections of some logs, by their first offsets: the commit, and the hash of the bytes.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    wanted: HashSet<LogId>,
    found: HashMap<LogId, BTreeMap<Offset, (Seq, blake3::Hash)>>,
}

impl StorageCheck {
    pub(super) fn new(until: Seq, live: Arc<Live>) -> Self {
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

    pub(crate) fn fault(&mut self, error: &Error) {
        self.faults.push(Fault::of("storage", error).mended_by(Remedy::Archive));
    }

    /// There is one copy of a chunk. Once the index does not name it, it can be stored again.
    pub(crate) fn lost_chunk(&mut self, key: &[u8], error: &Error) {
        let fault = Fault::of("storage", error).mended_by(Remedy::Note(key.to_vec()));
        self.lost.push(fault);
    }

    /// The chunks that are damaged.
    pub(super) fn lost_chunks(&self) -> HashSet<ChunkId> {
        let key = |fault: &Fault| match &fault.remedy {
            Remedy::Note(key) => keys::chunk_id(key),
            _ => None,
        };
        self.lost.iter().filter_map(key).collect()
    }

    pub(super) fn take_faults(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.faults)
    }

    /// Whether there is another copy.
    pub(super) fn has_copy(&self) -> bool {
        self.frames > 0
    }

    pub(super) fn digest(&self, log: LogId) -> Digest {
        self.digests.get(&log).copied().unwrap_or_default()
    }

    /// Takes the groups of a frame of the other copy.
    pub(crate) fn frame(&mut self, seq: Seq, payload: &[u8]) -> Result<()> {
        self.frames += 1;
        if seq > self.until {
            return Ok(());
        }
        for group in Groups::new(payload) {
            let GroupRef { log, first, span, section } = group?;
            let part = self.live.part(log, first, &section)?;
            let bytes = payload.get(span.0..span.1).unwrap_or_default();
            let (first, bytes) = match &part {
                Part::Nothing => continue,
                Part::Whole => (first, bytes),
                Part::Other(first, bytes) => (*first, bytes.as_slice()),
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

/// Where a section is, as it counts in the digest.
pub(super) fn place(first: Offset) -> [u8; 8] {
    first.to_le_bytes()
}

/// Reads logs in which the copies differ again, and says where they do.
pub(super) fn locate(
    catalog: &Catalog,
    until: Seq,
    differ: &HashSet<LogId>,
    faults: &mut Vec<Fault>,
) -> Result<()> {
    let live = Arc::new(Live::of(catalog.log().as_ref())?);
    let mut check = StorageCheck::new(until, Arc::clone(&live));
    check.copy = Some(Sections { wanted: differ.clone(), found: HashMap::new() });
    catalog.log().check_storage(&mut check)?;
    let copy = check.copy.unwrap_or_default();
    for id in differ {
        let theirs = copy.found.get(id).cloned().unwrap_or_default();
        let mut mine = BTreeMap::new();
        let Some(head) = catalog.log().head(*id)? else {
            continue;
        };
        let mut at = head.start;
        while at < head.head.next {
            let Some(stretch) = catalog.log().stretch(*id, at)? else {
                break;
            };
            let mut first = stretch.first;
            for section in stretch.sections_and_bytes() {
                let (section, bytes) = section?;
                if section.seq <= until {
                    let hashed = |bytes: &[u8]| (section.seq, blake3::hash(bytes));
                    match live.part(*id, first, &section)? {
                        Part::Nothing => {}
                        Part::Whole => drop(mine.insert(first, hashed(bytes))),
                        Part::Other(at, bytes) => drop(mine.insert(at, hashed(&bytes))),
                    }
                }
                first += u64::from(section.count);
            }
            at = stretch.end();
        }
        let first = mine.iter().chain(&theirs).filter_map(|(offset, found)| {
            let same = mine.get(offset) == theirs.get(offset);
            (!same).then_some((*offset, found.0))
        });
        if let Some((offset, seq)) = first.min() {
            faults.push(Fault {
                place: format!("{id} at offset {offset}"),
                event: None,
                remedy: Remedy::Archive,
                message: format!(
                    "the two copies differ from offset {offset} on: what archive and journal have of \
                     commit {seq} is not what the blocks have"
                ),
            });
        }
    }
    Ok(())
}
