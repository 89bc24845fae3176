//! Blocks of runs and of contents, a commit table, the header of their file.

use milepost_codec::{
    BlockFileHeader, ChunkEntry, CommitCount, CommitTable, ContentBlock, ContentEntry, LogId,
    Packing, Run, RunBlock, Sealing, StoreKey, TaskNo,
};

use super::{hash, incompressible, log, sections, segment};

pub fn block_file() -> BlockFileHeader {
    BlockFileHeader(segment())
}

pub fn sealing(packing: Packing, key: Option<&StoreKey>) -> Sealing<'_> {
    Sealing { packing, rewritten: false, epoch: 0x0102_0304_0506_0708, key }
}

/// A run of a lineage and a run of a control log: as they are, and packed.
pub fn run_blocks(key: Option<&StoreKey>) -> [Vec<u8>; 2] {
    let sections = sections();
    let run = |log: LogId, first, indexed| Run { log, first, count: 2, indexed, prev: hash(6) };
    let long = sections.repeat(40);
    [(Packing::Later, &sections), (Packing::Level(1), &long)].map(|(packing, sections)| {
        let (front, back) = sections.split_at(sections.len() / 2);
        let runs = [
            (run(log(), 300, false), vec![sections.as_slice()]),
            (run(LogId::control(TaskNo(9)), 0, true), vec![front, back]),
        ];
        let mut out = Vec::new();
        RunBlock::encode(&runs, &sealing(packing, key), &mut out).unwrap();
        out
    })
}

/// Three contents that nothing shrinks, and two that are packed.
pub fn content_blocks() -> [Vec<u8>; 2] {
    let block = |contents: &[&[u8]], rewritten| {
        let entry = |content: &[u8]| {
            let id = ChunkEntry::id_of(content);
            ContentEntry { id, refers: content.is_empty() }
        };
        let contents: Vec<_> = contents.iter().map(|content| (entry(content), *content)).collect();
        let of = Sealing { rewritten, ..sealing(Packing::Level(1), None) };
        let mut out = Vec::new();
        ContentBlock::encode(&contents, &of, &mut out).unwrap();
        out
    };
    [block(&[&incompressible(20), b"", b"second"], true), block(&[&[7; 3000], &[8; 2000]], false)]
}

pub fn commit_table() -> CommitTable {
    CommitTable {
        is_last: true,
        first: 12,
        commits: vec![
            CommitCount { batches: 1, bodies: 0 },
            CommitCount { batches: 0, bodies: 0 },
            CommitCount { batches: 300, bodies: 70_000 },
        ],
        blocks: vec![hash(1), hash(2)],
        last: [3; 16],
    }
}

/// The last table of an archive file.
pub fn end_table() -> CommitTable {
    CommitTable { is_last: true, first: 15, commits: Vec::new(), blocks: Vec::new(), last: [3; 16] }
}
