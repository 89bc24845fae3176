//! Tests that every log must pass, run on each implementation: in memory, and in a folder with
//! everything in the tail, with everything applied, and after a reopen.

mod chunks;

use std::collections::BTreeMap;
use std::sync::Arc;

use milepost_codec::{
    BodyForm, Chain, Control, ErrorKind, Head, LineageId, LogId, Origin, OwnerSet, Salts,
    SectionRef, Seed, TaskNo, begin_log_batch, body_hash, encode_record, salt,
};

use crate::commit_batch::{CommitBatch, LogBatchMeta};
use crate::entropy::Entropy;
use crate::index::{Entry, LogHead, keys};
use crate::local::LocalStore;
use crate::log::Log;
use crate::memory::MemoryStore;
use crate::options::OpenOptions;

/// A log, and the stage that its content is brought to.
struct Subject {
    log: Arc<dyn Log>,
    origin: Origin,
    dir: Option<tempfile::TempDir>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Memory,
    Tail,
    Applied,
    Reopened,
}

impl Subject {
    fn new(stage: Stage) -> Self {
        if stage == Stage::Memory {
            return Self {
                log: Arc::new(MemoryStore::default()),
                origin: Origin([3; 16]),
                dir: None,
                stage,
            };
        }
        let dir = tempfile::tempdir().unwrap();
        let log = open(&dir);
        let origin = Origin(log.store().0);
        Self { log: Arc::new(log), origin, dir: Some(dir), stage }
    }

    /// Brings everything to the stage.
    fn settle(&mut self) {
        match (self.stage, &self.dir) {
            (Stage::Applied, _) => self.log.drain().unwrap(),
            (Stage::Reopened, Some(dir)) => {
                self.log.close().unwrap();
                self.log = Arc::new(open(dir));
            }
            _ => {}
        }
    }

    /// Appends events with these texts in one batch, with entries of the index.
    fn append(&self, texts: &[String], entries: &[(Vec<u8>, Option<Vec<u8>>)]) {
        let batch = batch(&*self.log, self.origin, texts, entries);
        self.log.append(batch).unwrap();
    }
}

fn open(dir: &tempfile::TempDir) -> LocalStore {
    let entropy = Arc::new(Entropy::from_system().unwrap());
    LocalStore::open(&dir.path().join("store"), &OpenOptions::default(), entropy).unwrap()
}

/// Runs a test at each stage.
fn each(test: impl Fn(&mut Subject)) {
    for stage in [Stage::Memory, Stage::Tail, Stage::Applied, Stage::Reopened] {
        println!("{stage:?}");
        test(&mut Subject::new(stage));
    }
}

/// The store's own log: a log in a folder knows its origin without an index entry.
const LOG: LogId = LogId::STORE;

/// Returns a batch that appends messages to the store's log, as the committer would.
fn batch(
    log: &dyn Log,
    origin: Origin,
    texts: &[String],
    entries: &[(Vec<u8>, Option<Vec<u8>>)],
) -> CommitBatch {
    let mut batch = CommitBatch::new(log.seq() + 1);
    let chain = Chain::new(origin, LOG);
    let before = log.head(LOG).unwrap().unwrap_or(LogHead {
        head: Head { next: 0, hash: chain.root() },
        bytes: 0,
        start: 0,
    });
    let (seed, mut records, mut head) = (Seed([7; 16]), Vec::new(), before.head);
    for (n, text) in (0_u64..).zip(texts) {
        // An owner set: a control event that has no entry in the index.
        let owner = OwnerSet { user: text.clone() };
        let (kind, payload) = Control::from(owner).encode();
        let header = milepost_codec::Header { kind, ..Default::default() };
        let header = header.encode();
        encode_record(&mut records, &header, BodyForm::Inline, &payload);
        let body = body_hash(&salt(seed, n), BodyForm::Inline, &payload);
        head.hash = chain.next(head.next, &head.hash, &header, &body);
        head.next += 1;
    }
    begin_log_batch(&mut batch.buf, LOG, before.head.next);
    let start = batch.buf.len();
    let section = SectionRef {
        seq: batch.seq,
        salts: Salts::Seeded(seed, 0),
        count: texts.len() as u32,
        records: &records,
    };
    section.encode(&mut batch.buf);
    batch.groups.push(LogBatchMeta {
        log: LOG,
        first: before.head.next,
        count: texts.len() as u32,
        prev: before.head.hash,
        head: LogHead { head, bytes: before.bytes + records.len() as u64, start: 0 },
        section: start..batch.buf.len(),
    });
    batch.index.extend(entries.iter().cloned());
    batch
}

fn names(range: std::ops::Range<u64>, len: usize) -> Vec<String> {
    range.map(|n| format!("{n} {}", "x".repeat(len))).collect()
}

/// Returns all texts of the store's log, read extent by extent.
fn texts(log: &dyn Log) -> Vec<String> {
    let (mut found, mut next) = (Vec::new(), 0);
    while let Some(extent) = log.extent(LOG, next).unwrap() {
        assert!((extent.first..extent.end()).contains(&next), "the extent holds it");
        let mut at = extent.first;
        for section in extent.sections() {
            for record in section.unwrap().iter() {
                let record = record.unwrap();
                let kind = record.header().unwrap().kind;
                let Control::OwnerSet(owner) = Control::decode(kind, record.payload).unwrap()
                else {
                    panic!("another event");
                };
                if at >= next {
                    found.push(owner.user);
                }
                at += 1;
            }
        }
        assert_eq!(at, extent.end(), "as many as it says");
        next = at;
    }
    found
}

#[test]
fn what_was_appended_is_read_back_in_order() {
    each(|subject| {
        assert!(subject.log.head(LOG).unwrap().is_none());
        let mut all = Vec::new();
        for n in 0..40 {
            let new = names(n * 10..n * 10 + 1 + n % 9, (n as usize * 97) % 4000);
            subject.append(&new, &[]);
            all.extend(new);
            if n % 13 == 0 {
                subject.settle();
            }
        }
        let head = subject.log.head(LOG).unwrap().unwrap();
        subject.settle();
        assert_eq!(subject.log.head(LOG).unwrap(), Some(head), "the head stays");
        assert_eq!(head.head.next, all.len() as u64);
        assert_eq!(texts(&*subject.log), all);
        for offset in 0..head.head.next {
            let extent = subject.log.extent(LOG, offset).unwrap().unwrap();
            assert!((extent.first..extent.end()).contains(&offset));
        }
        for offset in [head.head.next, head.head.next + 1, u64::MAX] {
            assert!(subject.log.extent(LOG, offset).unwrap().is_none());
        }
        let other = LogId::lineage(TaskNo(7), LineageId(0));
        assert!(subject.log.extent(other, 0).unwrap().is_none());
        assert!(subject.log.head(other).unwrap().is_none());
    });
}

#[test]
fn commits_are_numbered_and_a_settled_log_has_applied_them() {
    each(|subject| {
        let before = subject.log.seq();
        for n in 0..5 {
            subject.append(&names(n..n + 1, 10), &[]);
            assert_eq!(subject.log.seq(), before + n + 1);
        }
        subject.log.drain().unwrap();
        assert_eq!(subject.log.applied(), subject.log.seq());
        subject.settle();
        assert!(subject.log.seq() >= before + 5);
        assert_eq!(subject.log.applied(), subject.log.seq());
    });
}

#[test]
#[should_panic(expected = "commits follow each other")]
fn a_commit_that_does_not_follow_is_a_bug_of_the_caller() {
    let subject = Subject::new(Stage::Tail);
    let mut batch = batch(&*subject.log, subject.origin, &names(0..1, 10), &[]);
    batch.seq += 1;
    let _ = subject.log.append(batch);
}

fn key(n: u32) -> Vec<u8> {
    // A kind of entry that the other tests do not create.
    let mut key = keys::all(keys::KeyKind::MarkLabel);
    key.extend(n.to_be_bytes());
    key
}

#[test]
fn a_scan_gives_a_range_of_the_index_from_either_end_up_to_a_limit() {
    each(|subject| {
        let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        let mut random = 1_u32;
        for round in 0..30_u64 {
            let mut entries = Vec::new();
            for _ in 0..8 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = key((random >> 16) % 64);
                // Removals from the third round on, of stored entries and of those in the tail.
                if round > 1 && random.is_multiple_of(3) {
                    model.remove(&at);
                    entries.push((at, None));
                } else {
                    let value = random.to_be_bytes().to_vec();
                    model.insert(at.clone(), value.clone());
                    entries.push((at, Some(value)));
                }
            }
            subject.append(&names(round..round + 1, 10), &entries);
            // Some entries are stored, and later ones are in the tail above them.
            if round % 7 == 3 {
                subject.settle();
            }
            compare(&*subject.log, &model);
        }
        subject.settle();
        compare(&*subject.log, &model);
    });
}

fn compare(log: &dyn Log, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
    for n in 0..64 {
        assert_eq!(log.get(&key(n)).unwrap().as_ref(), model.get(&key(n)));
    }
    for (from, to) in [(0, 64), (10, 50), (31, 32), (20, 20), (40, 30)] {
        let (from, to) = (key(from), key(to));
        let expected: Vec<Entry> = model
            .iter()
            .filter(|(key, _)| (&from..&to).contains(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        for limit in [0, 1, 2, 7, usize::MAX] {
            let forwards = log.scan(&from, &to, false, limit).unwrap();
            let take = limit.min(expected.len());
            assert_eq!(forwards, expected[..take], "forwards, {limit}");
            let mut last = expected[expected.len() - take..].to_vec();
            last.reverse();
            let backwards = log.scan(&from, &to, true, limit).unwrap();
            assert_eq!(backwards, last, "backwards, {limit}");
        }
    }
}

#[test]
fn a_note_is_there_at_once_and_stays() {
    // The kind of entry that no record accounts for.
    let key = |n| [keys::all(keys::KeyKind::Snapshot), vec![n]].concat();
    each(|subject| {
        subject.append(&names(0..1, 10), &[(key(1), Some(vec![1]))]);
        subject.log.put_note(key(2), vec![2]).unwrap();
        subject.log.put_note(key(3), vec![3]).unwrap();
        subject.log.put_note(key(3), vec![4]).unwrap();
        for _ in 0..2 {
            let all = subject.log.scan(&key(0), &key(9), false, 9).unwrap();
            let values: Vec<_> = all.into_iter().map(|(_, value)| value[0]).collect();
            assert_eq!(values, [1, 2, 4]);
            assert_eq!(subject.log.get(&key(2)).unwrap(), Some(vec![2]));
            subject.settle();
        }
    });
}

#[test]
fn a_log_that_is_closed_is_unavailable() {
    each(|subject| {
        subject.append(&names(0..1, 10), &[(key(1), Some(vec![1]))]);
        let late = batch(&*subject.log, subject.origin, &names(1..2, 10), &[]);
        subject.settle();
        let log = &subject.log;
        log.close().unwrap();
        log.close().unwrap();
        let kinds = [
            log.append(late).unwrap_err().kind(),
            log.head(LOG).unwrap_err().kind(),
            log.extent(LOG, 0).unwrap_err().kind(),
            log.get(&key(1)).unwrap_err().kind(),
            log.scan(&key(0), &key(9), false, 1).unwrap_err().kind(),
            log.put_note(key(2), vec![1]).unwrap_err().kind(),
            log.put_chunk(b"x", false).unwrap_err().kind(),
        ];
        assert_eq!(kinds, [ErrorKind::Unavailable; 7]);
    });
}
