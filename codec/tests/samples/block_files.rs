//! Blocks of runs, a commit table, the header of their file.

use milepost_codec::{
    BlockFileHeader, CommitTable, LogId, Packing, Run, RunBlock, Sealing, StoreKey, TaskNo,
};

use super::{hash, log, sections, segment};

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

pub fn commit_table() -> CommitTable {
    CommitTable {
        is_last: true,
        first: 12,
        commits: vec![1, 0, 300],
        blocks: vec![hash(1), hash(2)],
        last: [3; 16],
    }
}

/// The last table of an archive file.
pub fn end_table() -> CommitTable {
    CommitTable { is_last: true, first: 15, commits: Vec::new(), blocks: Vec::new(), last: [3; 16] }
}
