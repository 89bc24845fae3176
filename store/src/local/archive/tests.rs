#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;

use milepost_codec::{LineageId, LogId, Salts, SectionRef, TaskNo, begin_log_batch};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::local::markers::applied::UNKNOWN;

const STORE: StoreId = StoreId([7; 16]);

/// A log batch of a commit: its log, and the bytes of its record.
type Batch = (u64, u32, Vec<u8>);

fn header() -> SegmentHeader {
    let (store, number, first) = (STORE, 3, 11);
    SegmentHeader { store, number, epoch: 9, first, recycled: false, prev: [4; 16] }
}

/// Returns the payloads of commits, with offsets that follow each other in each log.
fn payloads(commits: &[Vec<Batch>]) -> Vec<Vec<u8>> {
    let mut offsets = std::collections::HashMap::new();
    let payload = |(seq, batches): (Seq, &Vec<Batch>)| {
        let mut batches: Vec<_> = batches
            .iter()
            .map(|(task, lineage, bytes)| {
                let log = match lineage {
                    0 => LogId::control(TaskNo(*task)),
                    n => LogId::lineage(TaskNo(*task), LineageId(n - 1)),
                };
                (log, bytes)
            })
            .collect();
        // The order in which an archive returns them.
        batches.sort_by_key(|(log, _)| reader::order(*log));
        let mut payload = Vec::new();
        for (log, bytes) in batches {
            let next = offsets.entry(log).or_insert(0);
            begin_log_batch(&mut payload, log, *next);
            *next += 1;
            let (salts, count) = (Salts::Explicit(&[5; 16]), 1);
            SectionRef { seq, salts, count, records: bytes }.encode(&mut payload);
        }
        payload
    };
    (header().first..).zip(commits).map(payload).collect()
}

fn write(path: &Path, payloads: &[Vec<u8>]) {
    let folder = FolderHandle::open(path.parent().unwrap()).unwrap();
    let mut writer = Writer::create(path, 11, (1, false), None).unwrap();
    for (n, payload) in (1..).zip(payloads) {
        writer.commit(payload, [n; 16]).unwrap();
    }
    let written = writer.finish(path, header(), &folder).unwrap();
    assert_eq!(written, fs::metadata(path).unwrap().len());
}

fn read(path: &Path) -> Result<Vec<(Seq, Vec<u8>)>> {
    let mut reader = Reader::open(path, STORE, None)?;
    let mut commits = Vec::new();
    while let Some(round) = reader.next_round()? {
        commits.extend(round.commits());
    }
    Ok(commits)
}

fn commits() -> impl Strategy<Value = Vec<Vec<Batch>>> {
    let bytes = prop_oneof![vec(any::<u8>(), 1..60), (1..90_000_usize).prop_map(|n| vec![7; n])];
    vec(vec((0..3_u64, 0..3_u32, bytes), 0..4), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn commits_of_any_logs_come_back_in_order(commits in commits()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0000000003.mpa");
        let payloads = payloads(&commits);
        write(&path, &payloads);
        let expected: Vec<(Seq, Vec<u8>)> = (11..).zip(payloads.clone())
            .filter(|(_, payload)| !payload.is_empty()).collect();
        prop_assert_eq!(read(&path).unwrap(), expected);
        let seen = look(&path, (STORE, None), 3).unwrap();
        prop_assert_eq!((seen.first, seen.next), (11, 11 + commits.len() as u64));
        let last = if commits.is_empty() { UNKNOWN } else { [commits.len() as u8; 16] };
        prop_assert_eq!(seen.check, last);
    }

    #[test]
    fn any_changed_byte_and_any_cut_is_damage(
        commits in commits(),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0000000003.mpa");
        write(&path, &payloads(&commits));
        let whole = fs::read(&path).unwrap();
        let at = at.index(whole.len());
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << bit;
        fs::write(&path, &bytes).unwrap();
        prop_assert!(read(&path).is_err(), "byte {}", at);
        fs::write(&path, &whole[..at]).unwrap();
        prop_assert!(read(&path).is_err());
        prop_assert!(look(&path, (STORE, None), 3).is_err());
    }
}

#[test]
fn small_rounds_are_packed_together_and_packed_ones_are_copied_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copied) = (dir.path().join("0000000003.mpa"), dir.path().join("copied.mpa"));
    let commit = |byte: u8| vec![(1, 1, vec![byte; 300]), (2, 1, vec![byte; 300])];
    let all = payloads(&(0..9).map(commit).collect::<Vec<_>>());
    write(&path, &all);
    let whole = fs::read(&path).unwrap();
    let parts = parts(&whole);
    assert_eq!(parts.len(), 3, "a block, a table, and the last table");
    let counts = CommitTable::decode(&parts[1], None).unwrap().commits;

    let folder = FolderHandle::open(dir.path()).unwrap();
    let header = SegmentHeader { first: 10, ..header() };
    let mut writer = Writer::create(&copied, 10, (1, false), None).unwrap();
    writer.commit(&[], [1; 16]).unwrap();
    writer.copy(&parts[..1], counts, [2; 16]).unwrap();
    assert_eq!(writer.next(), 20);
    writer.finish(&copied, header, &folder).unwrap();
    let expected: Vec<_> = (11..).zip(all).collect();
    assert_eq!(read(&copied).unwrap(), expected);
    assert_eq!(look(&copied, (STORE, None), 3).unwrap().check, [2; 16]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file is left");
    drop(Writer::create(&path, 1, (1, false), None).unwrap());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nor one that was not finished");
}

#[test]
fn copied_small_blocks_are_packed_again_and_a_file_of_large_ones_stays() {
    let dir = tempfile::tempdir().unwrap();
    let small = dir.path().join("0000000003.mpa");
    // Texts that are nearly the same, in a block for each of 40 commits, and commits without any.
    let hashes = (0..300_u32).flat_map(|n| blake3::hash(&n.to_le_bytes()).as_bytes().to_vec());
    let hashes: Vec<u8> = hashes.collect();
    let text = |n: u8| [&hashes[..], &[n]].concat();
    let commit = |n: u8| if n.is_multiple_of(5) { Vec::new() } else { vec![(1, 1, text(n))] };
    let all = payloads(&(0..50).map(commit).collect::<Vec<_>>());
    let parts_of = |path: &Path| parts(&fs::read(path).unwrap());
    let mut blocks = Vec::new();
    for payload in all.iter().filter(|payload| !payload.is_empty()) {
        let one = dir.path().join("0000000003.one");
        write(&one, std::slice::from_ref(payload));
        blocks.push(parts_of(&one).remove(0));
    }
    let counts = all.iter().map(|payload| u64::from(!payload.is_empty()));
    let folder = FolderHandle::open(dir.path()).unwrap();
    let mut writer = Writer::create(&small, 11, (1, false), None).unwrap();
    writer.copy(&blocks, counts.collect(), [8; 16]).unwrap();
    writer.finish(&small, header(), &folder).unwrap();
    let before = (read(&small).unwrap(), fs::metadata(&small).unwrap().len());
    assert_eq!(before.0.len(), 40);

    let file = look(&small, (STORE, None), 3).unwrap();
    assert!(rebuild::repack(&file, dir.path(), STORE, None).unwrap());
    assert_eq!(read(&small).unwrap(), before.0);
    assert!(fs::metadata(&small).unwrap().len() < before.1 / 4);
    let now = look(&small, (STORE, None), 3).unwrap();
    assert_eq!((now.first, now.next, now.check), (file.first, file.next, file.check));
    assert_eq!(
        Reader::open(&small, STORE, None).unwrap().header,
        SegmentHeader { epoch: 0, ..header() }
    );
    assert!(!rebuild::repack(&now, dir.path(), STORE, None).unwrap(), "its blocks are large");
}

/// Returns the blocks and the tables of a file, in order.
fn parts(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut parts, mut at) = (Vec::new(), BlockFileHeader::LEN);
    while at < bytes.len() {
        let len = match milepost_codec::BlockHeader::decode(&bytes[at..]) {
            Ok(block) => block.block_len(),
            Err(_) => CommitTableHeader::decode(&bytes[at..]).unwrap().table_len(),
        };
        parts.push(bytes[at..at + len].to_vec());
        at += len;
    }
    parts
}

#[test]
fn a_block_that_is_missing_twice_or_at_another_place_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0000000003.mpa");
    let bytes = vec![7; 200_000];
    let commit: Vec<Batch> = (1..4).map(|task| (task, 1, bytes.clone())).collect();
    write(&path, &payloads(&[commit.clone(), commit]));
    let whole = fs::read(&path).unwrap();
    let parts = parts(&whole);
    assert_eq!(parts.len(), 5, "three blocks, a table, and the last table");
    let refused = |parts: &[&Vec<u8>]| {
        let mut bytes = whole[..BlockFileHeader::LEN].to_vec();
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        fs::write(&path, &bytes).unwrap();
        let error = read(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        error.to_string()
    };
    let [one, two, three, table, end] = parts.as_slice() else { panic!("five parts") };
    refused(&[one, three, table, end]);
    refused(&[one, two, two, three, table, end]);
    refused(&[two, one, three, table, end]);
    refused(&[one, two, three, end]);
    refused(&[one, two, three, table]);
    refused(&[one, two, three, table, end, end]);
}

#[test]
fn a_table_that_counts_another_number_of_log_batches_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0000000003.mpa");
    write(&path, &payloads(&[vec![(1, 1, vec![1])], vec![(1, 1, vec![2])]]));
    let whole = fs::read(&path).unwrap();
    let parts = parts(&whole);
    for counts in [[1, 0], [1, 2], [2, 1], [0, 1]] {
        let mut table = CommitTable::decode(&parts[1], None).unwrap();
        for (count, batches) in table.commits.iter_mut().zip(counts) {
            *count = batches;
        }
        let mut bytes = [&whole[..BlockFileHeader::LEN], &parts[0]].concat();
        table.encode(0, None, &mut bytes).unwrap();
        bytes.extend_from_slice(&parts[2]);
        fs::write(&path, &bytes).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("log batches") || error.contains("commits of its table"), "{error}");
    }
}
