//! The forger: knows the format, has every file, and lacks the key.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use milepost::ids::{Origin, Seq, StoreId, TaskNo};
use milepost::{Body, Hash, Header, LineageId, Offset};
use milepost_codec::{
    AckWatermark, BodyForm, Chain, ChunkEntry, Control, FRAME_HEADER_LEN, FrameHeader, LogBatches,
    LogId, LogKind, SEGMENT_HEADER_LEN, Salts, SectionRef, Sections, SegmentHeader,
    begin_log_batch, encode_record, seal_frame,
};
use milepost_tests::{archive, folder};

use crate::tamper::groups;

/// A record, taken apart.
#[derive(Debug, Clone)]
pub struct Record {
    pub header: Header,
    pub form: BodyForm,
    pub payload: Vec<u8>,
    pub salt: [u8; 16],
}

impl Record {
    pub fn body(&self) -> Body {
        Body::decode(self.header.kind, &self.payload).unwrap()
    }

    pub fn set(&mut self, body: &Body) {
        (self.header.kind, self.payload) = body.encode();
    }

    pub fn control(&self) -> Control {
        Control::decode(self.header.kind, &self.payload).unwrap()
    }

    pub fn set_control(&mut self, control: &Control) {
        (self.header.kind, self.payload) = control.encode();
    }
}

/// Part of a commit for one log.
#[derive(Debug, Clone)]
pub struct Group {
    pub log: LogId,
    pub records: Vec<Record>,
}

/// All commits of a store, to be edited and written again.
#[derive(Debug, Clone)]
pub struct History {
    store: StoreId,
    pub commits: Vec<Vec<Group>>,
}

impl Group {
    fn of(log: LogId, section: &SectionRef<'_>) -> Self {
        let records = (0_u32..).zip(section.iter()).map(|(n, record)| {
            let record = record.unwrap();
            Record {
                header: record.header().unwrap(),
                form: record.form,
                payload: record.payload.to_vec(),
                salt: section.salt(n),
            }
        });
        Self { log, records: records.collect() }
    }
}

/// Parses consecutive frames without their checks.
fn frames(bytes: &[u8], epoch: u64, commits: &mut BTreeMap<Seq, Vec<Group>>) {
    let mut rest = bytes;
    while rest.len() >= FRAME_HEADER_LEN && FrameHeader::looks_like_any(rest) {
        if !FrameHeader::looks_like(rest, epoch) {
            return;
        }
        let len = FrameHeader::payload_len(rest).unwrap();
        let seq = u64::from_le_bytes(rest[24..32].try_into().unwrap());
        let payload = &rest[FRAME_HEADER_LEN..FRAME_HEADER_LEN + len];
        let groups = LogBatches::new(payload).map(|group| {
            let group = group.unwrap();
            Group::of(group.log, &group.section)
        });
        commits.insert(seq, groups.collect());
        let end = (FRAME_HEADER_LEN + len).next_multiple_of(8).min(rest.len());
        rest = &rest[end..];
    }
}

impl History {
    /// Reads archive and journal.
    pub fn read(root: &Path) -> Self {
        let mut commits = BTreeMap::new();
        for path in folder::files(&root.join("archive"), ".mpa").unwrap() {
            let mut bytes = fs::read(path).unwrap();
            // Reading needs no key; only the checks do.
            archive::seal(&mut bytes, true);
            for (seq, batches) in archive::commits(&bytes, None) {
                let groups = batches.iter().map(|(log, _, section)| {
                    Group::of(*log, &Sections::new(section).next().unwrap().unwrap())
                });
                commits.insert(seq, groups.collect());
            }
        }
        for path in folder::files(&root.join("journal"), ".seg").unwrap() {
            let bytes = fs::read(path).unwrap();
            let header = SegmentHeader::decode(&bytes).unwrap();
            let rest = &bytes[SEGMENT_HEADER_LEN..];
            frames(rest, header.epoch, &mut commits);
        }
        let store = AckWatermark::decode(&fs::read(root.join("acked")).unwrap()).unwrap().store;
        assert!(commits.keys().copied().eq(1..=commits.len() as u64));
        Self { store, commits: commits.into_values().collect() }
    }

    /// The records of a log, in order.
    pub fn log(&mut self, log: LogId) -> Vec<&mut Record> {
        let groups = self.commits.iter_mut().flatten();
        groups.filter(|group| group.log == log).flat_map(|group| &mut group.records).collect()
    }

    /// The commit and group that hold a record of a log, and its place in the group.
    pub fn place(&self, log: LogId, index: usize) -> (usize, usize, usize) {
        let mut left = index;
        for (c, commit) in self.commits.iter().enumerate() {
            for (g, group) in commit.iter().enumerate() {
                if group.log != log {
                    continue;
                }
                if left < group.records.len() {
                    return (c, g, left);
                }
                left -= group.records.len();
            }
        }
        panic!("no record {index} in {log}");
    }

    /// Puts a record behind another of a log.
    pub fn insert(&mut self, log: LogId, index: usize, record: Record) {
        let (c, g, n) = self.place(log, index);
        self.commits[c][g].records.insert(n + 1, record);
    }

    /// Takes a record out.
    pub fn remove(&mut self, log: LogId, index: usize) -> Record {
        let (c, g, n) = self.place(log, index);
        let record = self.commits[c][g].records.remove(n);
        self.commits[c].retain(|group| !group.records.is_empty());
        record
    }

    /// Takes commits out that bring nothing any more.
    pub fn drop_empty(&mut self) {
        self.commits.retain(|commit| !commit.is_empty());
    }

    /// Writes the store anew from it: one segment with right checks, hashes that name others right,
    /// the witness; and no archive, and no sled. None of it needs more than the format.
    pub fn write(mut self, root: &Path) {
        self.drop_empty();
        for dir in ["archive", "journal", "sled"] {
            fs::remove_dir_all(root.join(dir)).unwrap();
        }
        for dir in ["archive", "journal"] {
            fs::create_dir(root.join(dir)).unwrap();
        }
        let _ = fs::remove_file(root.join("sled-closed"));
        let (store, epoch) = (self.store, 77);
        let header =
            SegmentHeader { store, number: 1, epoch, first: 1, recycled: false, prev: [0; 16] };
        let mut out = header.encode();
        let (mut prev, mut logs) = ([0; 16], Logs::of(store));
        let count = self.commits.len() as u64;
        for (seq, commit) in (1..).zip(&mut self.commits) {
            let mut frame = vec![0; FRAME_HEADER_LEN];
            for group in commit {
                logs.group(seq, group, &mut frame);
            }
            prev = seal_frame(&mut frame, seq, epoch, false, &prev, None);
            out.extend_from_slice(&frame);
        }
        out.resize(out.len() + 4096, 0);
        fs::write(root.join("journal/0000000001.seg"), out).unwrap();
        fs::write(root.join("acked"), AckWatermark { store, seq: count }.encode()).unwrap();
    }
}

/// The chains of all logs, computed anew.
struct Logs {
    origins: HashMap<TaskNo, Origin>,
    /// The hash before each offset, from the first on.
    chains: HashMap<LogId, (Offset, Vec<Hash>)>,
}

impl Logs {
    fn of(store: StoreId) -> Self {
        Self { origins: HashMap::from([(TaskNo::STORE, Origin(store.0))]), chains: HashMap::new() }
    }

    fn hash(&self, task: TaskNo, lineage: LineageId, offset: Offset) -> Hash {
        let (start, hashes) = &self.chains[&LogId::lineage(task, lineage)];
        hashes[(offset - start) as usize]
    }

    fn group(&mut self, seq: Seq, group: &mut Group, out: &mut Vec<u8>) {
        let log = group.log;
        for record in &mut group.records {
            self.mend(log, record);
        }
        let chain = Chain::new(self.origins[&log.task], log);
        let opened = match (log.kind, self.chains.get(&log)) {
            (LogKind::Lineage(_), None) => match group.records[0].body() {
                Body::LineageOpened(opened) => opened.parent,
                other => panic!("{other:?}"),
            },
            _ => None,
        };
        let (start, hashes) = self.chains.entry(log).or_insert_with(|| match opened {
            Some(parent) => (parent.offset, vec![parent.hash]),
            None => (0, vec![chain.root()]),
        });
        begin_log_batch(out, log, *start + hashes.len() as u64 - 1);
        let (mut records, mut salts) = (Vec::new(), Vec::new());
        for record in &group.records {
            let header = record.header.encode();
            encode_record(&mut records, &header, record.form, &record.payload);
            salts.extend_from_slice(&record.salt);
            let body = milepost_codec::body_hash(&record.salt, record.form, &record.payload);
            let offset = *start + hashes.len() as u64 - 1;
            let prev = hashes[hashes.len() - 1];
            hashes.push(chain.next(offset, &prev, &header, &body));
        }
        SectionRef {
            seq,
            salts: Salts::Explicit(&salts),
            count: group.records.len() as u32,
            records: &records,
        }
        .encode(out);
    }

    /// Hashes in a body that name a point of another log.
    fn mend(&mut self, log: LogId, record: &mut Record) {
        match log.kind {
            LogKind::Control => match record.control() {
                Control::TaskOpened(opened) => {
                    self.origins.insert(opened.task, opened.origin);
                }
                Control::LineageRegistered(mut registered) => {
                    if let Some(parent) = &mut registered.parent {
                        parent.hash = self.hash(log.task, parent.lineage, parent.offset);
                        record.set_control(&registered.into());
                    }
                }
                _ => {}
            },
            LogKind::Lineage(_) => {
                if let Body::LineageOpened(mut opened) = record.body()
                    && let Some(parent) = &mut opened.parent
                {
                    parent.hash = self.hash(log.task, parent.lineage, parent.offset);
                    record.set(&opened.into());
                }
            }
        }
    }
}

/// sled's entries, to be edited.
pub struct Entries {
    db: sled::Db,
    pub root: std::path::PathBuf,
}

impl Entries {
    pub fn open(root: &Path) -> Self {
        let config = sled::Config::new().path(root.join("sled"));
        let config = config.mode(sled::Mode::HighThroughput);
        let config = config.flush_every_ms(None).segment_size(256 << 10);
        // A process that another test is just starting holds the lock of sled's file for a moment.
        let mut tries = 0;
        let db = loop {
            match config.open() {
                Err(sled::Error::Io(_)) if tries < 100 => tries += 1,
                opened => break opened.unwrap(),
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        let root = root.to_owned();
        Self { db, root }
    }

    pub fn all(&self, kind: u8) -> Vec<(Vec<u8>, Vec<u8>)> {
        let stored = self.db.scan_prefix([kind]).map(Result::unwrap);
        stored.flat_map(|(key, value)| groups::apart(&key, &value)).collect()
    }

    pub fn put(&self, key: &[u8], value: Option<&[u8]>) {
        groups::put(&self.db, key, value);
    }

    /// Appends a block to the block file, and returns its location there.
    pub fn append_block(&self, block: &[u8]) -> Vec<u8> {
        let path = self.root.join("sled/blocks/0000000001.blocks");
        let mut bytes = fs::read(&path).unwrap();
        let place = |at: usize, len: usize| {
            let mut place = 1_u32.to_le_bytes().to_vec();
            place.extend_from_slice(&(at as u64).to_le_bytes());
            place.extend_from_slice(&(len as u32).to_le_bytes());
            place
        };
        let at = bytes.len();
        bytes.extend_from_slice(block);
        fs::write(path, &bytes).unwrap();
        let mut applied = self.db.get([3]).unwrap().unwrap().to_vec();
        applied[56..72].copy_from_slice(&place(bytes.len(), 0));
        self.db.insert([3], applied).unwrap();
        place(at, block.len())
    }

    /// Writes the digests of all entries anew, and what sled's files are after a close.
    pub fn close(self) {
        // Digests of the index, of keys, of blocks: a count and a sum each.
        let mut digests = [[0_u64; 5]; 3];
        let stored = self.db.iter().map(Result::unwrap);
        for (key, value) in stored.flat_map(|(key, value)| groups::apart(&key, &value)) {
            if [3, 4, 50, 51, 52].contains(&key[0]) {
                continue;
            }
            let mut input = value;
            input.extend_from_slice(&key);
            input.extend_from_slice(&(key.len() as u64).to_le_bytes());
            let [count, sum @ ..] = match key[0] {
                40 => &mut digests[1],
                1 => &mut digests[2],
                _ => &mut digests[0],
            };
            *count += 1;
            let hash = ChunkEntry::id_of(&input).0;
            for (sum, word) in sum.iter_mut().zip(hash.chunks_exact(8)) {
                *sum = sum.wrapping_add(u64::from_le_bytes(word.try_into().unwrap()));
            }
        }
        let mut applied = self.db.get([3]).unwrap().unwrap().to_vec();
        applied.truncate(applied.len() - 120);
        let words = digests.as_flattened().iter();
        applied.extend(words.flat_map(|word| word.to_le_bytes()));
        self.db.insert([3], applied).unwrap();
        self.db.flush().unwrap();
        drop(self.db);
        let mut states = BTreeMap::new();
        let folders = ["sled", "sled/blocks"].map(|dir| fs::read_dir(self.root.join(dir)).unwrap());
        for entry in folders.into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                let bytes = fs::read(path).unwrap();
                let hash = (bytes.len() <= 1 << 20).then(|| ChunkEntry::id_of(&bytes));
                let hash = hash.map(|hash| hash.to_string());
                let state = serde_json::json!({ "name": name, "len": bytes.len(), "hash": hash });
                states.insert(name, state);
            }
        }
        let states: Vec<_> = states.into_values().collect();
        let text = serde_json::to_vec(&states).unwrap();
        fs::write(self.root.join("sled-closed"), text).unwrap();
    }
}

/// Replaces the hash in a head as sled stores it.
pub fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let at = bytes.windows(from.len()).position(|w| w == from).unwrap();
    bytes[at..at + to.len()].copy_from_slice(to);
}
