//! Archive files, read with the types of the codec alone (`docs/FORMAT.md`).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeMap;
use std::ops::Range;

use milepost_codec::{
    BlockFileHeader, BlockHeader, CommitTable, CommitTableHeader, LogId, LogKind, Offset, RunBlock,
    Seq, StoreKey,
};

/// A log batch: its log, the offset of its first record, and the bytes of its section.
pub type Batch = (LogId, Offset, Vec<u8>);

/// A block or a commit table of a block file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Set if it is a table.
    pub is_table: bool,
    /// Its bytes. Those of the last part may end after the file.
    pub range: Range<usize>,
    /// Its bytes without a payload.
    pub head: Range<usize>,
}

/// The parts of a block file, as far as their magic and lengths can be read.
pub fn parts(file: &[u8]) -> Vec<Part> {
    let number = |at: usize| -> Option<usize> {
        let bytes = file.get(at..)?.first_chunk::<4>()?;
        usize::try_from(u32::from_le_bytes(*bytes)).ok()
    };
    let mut at = BlockFileHeader::LEN;
    let next = || {
        let is_table = file.get(at..at + 4)? == CommitTableHeader::MAGIC;
        let (head, payload) = match is_table {
            true => (CommitTableHeader::LEN + 32 * number(at + 20)? + number(at + 24)?, 0),
            false if file[at..].starts_with(BlockHeader::MAGIC) => {
                (BlockHeader::LEN + number(at + 16)?, number(at + 12)?)
            }
            false => return None,
        };
        let part = Part { is_table, range: at..at + head + payload, head: at..at + head };
        at = part.range.end;
        Some(part)
    };
    std::iter::from_fn(next).collect()
}

/// The commits of an archive file, with their log batches by task, control log first, then by
/// lineage and offset.
///
/// # Panics
///
/// If anything of the file is damaged.
pub fn commits(file: &[u8], key: Option<&StoreKey>) -> BTreeMap<Seq, Vec<Batch>> {
    let mut next = BlockFileHeader::decode(file).unwrap().0.first;
    let (mut found, mut blocks, mut ended) = (BTreeMap::new(), Vec::new(), false);
    let mut end = BlockFileHeader::LEN;
    for part in parts(file) {
        assert!(!ended, "a part after the last table");
        end = part.range.end;
        let bytes = &file[part.range];
        if !part.is_table {
            blocks.push(bytes);
            continue;
        }
        let table = CommitTable::decode(bytes, key).unwrap();
        let hashes = blocks.iter().map(|block| BlockHeader::decode(block).unwrap().hash);
        assert!(table.blocks.iter().copied().eq(hashes), "the hashes of the round's blocks");
        assert_eq!(table.first, next);
        let mut round = round(&blocks, key);
        for count in &table.commits {
            let batches = round.remove(&next).unwrap_or_default();
            assert_eq!(batches.len() as u64, *count, "log batches of commit {next}");
            found.insert(next, batches);
            next += 1;
        }
        assert!(round.is_empty(), "commits of the table");
        assert!(!table.is_last || table.commits.is_empty() && blocks.is_empty());
        ended = table.is_last;
        blocks.clear();
    }
    assert!(ended && end == file.len(), "a whole file");
    found
}

/// The log batches of the blocks of a round, by commit.
fn round(blocks: &[&[u8]], key: Option<&StoreKey>) -> BTreeMap<Seq, Vec<Batch>> {
    let mut found: BTreeMap<Seq, Vec<Batch>> = BTreeMap::new();
    for block in blocks {
        let block = RunBlock::decode(block, key).unwrap();
        for (n, run) in block.runs().enumerate() {
            let (mut sections, mut at) = (block.sections(n), run.first);
            let mut rest = sections.rest();
            while let Some(section) = sections.next() {
                let section = section.unwrap();
                let bytes = &rest[..rest.len() - sections.rest().len()];
                found.entry(section.seq).or_default().push((run.log, at, bytes.to_vec()));
                at += u64::from(section.count);
                rest = sections.rest();
            }
            assert_eq!(at, run.end(), "records of a run of {}", run.log);
        }
    }
    let order = |(log, first, _): &Batch| {
        (log.task, matches!(log.kind, LogKind::Lineage(_)), log.kind.number(), *first)
    };
    found.values_mut().for_each(|batches| batches.sort_by_key(order));
    found
}

/// Makes the hashes of blocks and the checks of tables those of a store without a key. With
/// `follow` each table also has the hashes of the blocks before it, and begins after the table
/// before it.
pub fn seal(file: &mut [u8], follow: bool) {
    let mut next = word(file, 40);
    let mut hashes = Vec::new();
    for part in parts(file) {
        let Some(bytes) = file.get_mut(part.range) else {
            return;
        };
        if !part.is_table {
            let hash = digest(&bytes[..32], &bytes[BlockHeader::LEN..]);
            bytes[32..64].copy_from_slice(&hash);
            hashes.push(hash);
            continue;
        }
        let commits = word(bytes, 16) & 0xffff_ffff;
        let blocks = (word(bytes, 16) >> 32) as usize;
        if follow {
            bytes[8..16].copy_from_slice(&next.to_le_bytes());
            let rooms = bytes[CommitTableHeader::LEN..].chunks_exact_mut(32).take(blocks);
            rooms.zip(&hashes).for_each(|(room, hash)| room.copy_from_slice(hash));
        }
        next = next.wrapping_add(commits);
        hashes.clear();
        let check = digest(&bytes[..56], &bytes[CommitTableHeader::LEN..]);
        bytes[56..72].copy_from_slice(&check[..16]);
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
    u64::from_le_bytes(bytes.copied().unwrap_or_default())
}

fn digest(header: &[u8], rest: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new().update(header).update(rest).finalize().as_bytes()
}
