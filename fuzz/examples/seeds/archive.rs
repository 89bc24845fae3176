//! Archive files.

use milepost_codec::{
    BlockFileHeader, CommitTable, Hash, LogId, Packing, Run, RunBlock, Salts, Sealing, SectionRef,
    SegmentHeader,
};

use super::samples;

/// Returns an archive file. Its first round has two commits in two blocks, one of which has several
/// logs; its second one has a commit with `copies` sections, and one without any.
pub fn file(packing: Packing, copies: u32) -> Vec<u8> {
    let header = SegmentHeader { epoch: 0, ..samples::segment() };
    let mut file = BlockFileHeader(header).encode();
    let of = Sealing { packing, rewritten: false, epoch: 0, key: None };
    let (records, salts) = (samples::records(), samples::explicit_salts());
    let section = |seq, salts| {
        let mut out = Vec::new();
        SectionRef { seq, salts, count: 3, records: &records }.encode(&mut out);
        out
    };
    let (explicit, seeded) = (Salts::Explicit(&salts), Salts::Seeded(samples::SEED, 300));
    let run = |log, first, sections: u32| {
        let (count, prev) = (3 * sections, Hash::ZERO);
        Run { log, first, count, indexed: true, prev }
    };
    let (one, two, three) = (header.first, header.first + 1, header.first + 2);
    let (first, second) = (section(one, explicit), section(two, seeded));
    let many = section(three, explicit).repeat(copies as usize);
    let (task, lineage) = (LogId::control(samples::log().task), samples::log());
    let rounds = [
        (
            vec![
                vec![(run(LogId::STORE, 0, 1), vec![&*first]), (run(task, 40, 1), vec![&*second])],
                vec![(run(lineage, 7, 2), vec![&*first, &*second])],
            ],
            vec![2, 2],
        ),
        (vec![vec![(run(lineage, 13, copies), vec![&*many])]], vec![u64::from(copies), 0]),
        (vec![], vec![]),
    ];
    let mut next = header.first;
    for (blocks, batches) in rounds {
        let pack = |runs: Vec<_>| RunBlock::encode(&runs, &of, &mut file).unwrap();
        let blocks: Vec<_> = blocks.into_iter().map(pack).collect();
        let (first, commits) = (next, batches);
        next += commits.len() as u64;
        let is_last = commits.is_empty();
        let table = CommitTable { is_last, first, commits, blocks, last: [next as u8; 16] };
        table.encode(0, None, &mut file).unwrap();
    }
    file
}
