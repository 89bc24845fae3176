//! Blocks of the index: the runs of a round packed, and one run read.

use std::sync::Arc;

use milepost_codec::{
    BLOCK_RAW_TARGET, Error, LogId, Offset, Packing, Result, Run, RunBlock, Sealing, StoreKey,
};

use crate::extent::Extent;
use crate::index::{IndexPut, keys};
use crate::local::index::block_files::BlockFiles;
use crate::local::index::kv::Kv;
use crate::local::location::Location;
use crate::tail::LogRuns;
use crate::threads;

/// The bytes in a round from which on a log has blocks of its own. Smaller runs share blocks: alone
/// they would hardly be compressed.
const ALONE: usize = BLOCK_RAW_TARGET / 4;

/// The zstd level. Level 3 is 4 % smaller at 0.75 of the speed.
const LEVEL: i32 = 1;

/// The bytes of sections that justify another thread.
const BYTES_EACH: usize = 1 << 20;

/// The runs of a block, each with the bytes of its sections.
pub(crate) type BlockPlan<'a> = Vec<(Run, Vec<&'a [u8]>)>;

/// Returns the extent that holds `offset`. Reads again if a compaction replaced sled's folder
/// between the location and the block.
pub(crate) fn read(
    kv: &Kv,
    key: Option<&StoreKey>,
    log: LogId,
    offset: Offset,
) -> Result<Option<Extent>> {
    loop {
        let files = kv.blocks()?;
        let read = read_from(&files, kv, key, log, offset);
        if read.is_ok() || Arc::ptr_eq(&files, &kv.blocks()?) {
            return read;
        }
    }
}

fn read_from(
    files: &BlockFiles,
    kv: &Kv,
    key: Option<&StoreKey>,
    log: LogId,
    offset: Offset,
) -> Result<Option<Extent>> {
    let to = keys::after_prefix(&keys::block(log, offset));
    let Some((found, place)) = kv.scan(&keys::block(log, 0), &to, true, 1)?.pop() else {
        return Ok(None);
    };
    let first = keys::block_first(&found);
    let (run, extent) = files.run(Location::decode(&place)?, key)?;
    if (run.log, run.first) != (log, first) {
        let expected = format!("a run of {log} from offset {first}");
        let found = format!("one of {} from offset {}", run.log, run.first);
        return Err(Error::corrupt("location of a run", expected, found));
    }
    Ok((run.end() > offset).then_some(extent))
}

/// Packs and writes the logs of a round, and adds the locations of their runs to `puts`. Blocks are
/// packed on `processors` threads. Returns the blocks.
pub(crate) fn append(
    kv: &Kv,
    key: Option<&StoreKey>,
    logs: &[LogRuns],
    processors: usize,
    puts: &mut Vec<IndexPut>,
) -> Result<Vec<Vec<u8>>> {
    let logs: Vec<_> = logs.iter().map(|log| (log.log, log.extents.as_slice())).collect();
    let plans = plan(&logs, BLOCK_RAW_TARGET, ALONE);
    let packed = pack(&plans, key, processors)?;
    let places = kv.blocks()?.append(&packed)?;
    for (runs, place) in plans.iter().zip(places) {
        for (n, (run, _)) in (0..).zip(runs) {
            let place = Location { member: Some(n), ..place };
            puts.push((keys::block(run.log, run.first), Some(place.encode())));
        }
    }
    Ok(packed)
}

/// Divides the extents of a round, by log, among blocks of about `target` bytes. Logs with `alone`
/// bytes or more share no block with others.
pub(crate) fn plan<'a>(
    logs: &[(LogId, &'a [Extent])],
    target: usize,
    alone: usize,
) -> Vec<BlockPlan<'a>> {
    let is_alone = |log: &&(LogId, &[Extent])| {
        log.1.iter().map(|extent| extent.range.len()).sum::<usize>() >= alone
    };
    let (alone, together): (Vec<_>, Vec<_>) = logs.iter().partition(is_alone);
    let mut planner = Planner { finished: Vec::new(), block: Vec::new(), bytes: 0, target };
    planner.add(&together);
    for log in alone {
        planner.finish_block();
        planner.add(&[log]);
    }
    planner.finish_block();
    planner.finished
}

struct Planner<'a> {
    finished: Vec<BlockPlan<'a>>,
    block: BlockPlan<'a>,
    bytes: usize,
    target: usize,
}

impl<'a> Planner<'a> {
    fn add(&mut self, logs: &[&(LogId, &'a [Extent])]) {
        for (log, extents) in logs.iter().copied() {
            for extent in *extents {
                self.extent(*log, extent);
            }
        }
    }

    fn extent(&mut self, log: LogId, extent: &'a Extent) {
        let bytes = extent.section_bytes();
        let continues = |(run, _): &(Run, Vec<&[u8]>)| run.log == log && run.end() == extent.first;
        let is_full = self.bytes + bytes.len() > self.target
            || self.block.len() >= RunBlock::RUNS_MAX && !self.block.last().is_some_and(continues);
        if is_full {
            self.finish_block();
        }
        self.bytes += bytes.len();
        if let Some((run, sections)) = self.block.last_mut().filter(|last| continues(last)) {
            run.count += extent.count;
            sections.push(bytes);
            return;
        }
        let Extent { first, count, prev, .. } = *extent;
        self.block.push((Run { log, first, count, indexed: true, prev }, vec![bytes]));
    }

    fn finish_block(&mut self) {
        self.bytes = 0;
        if !self.block.is_empty() {
            self.finished.push(std::mem::take(&mut self.block));
        }
    }
}

/// Returns the stored bytes of blocks, in order.
fn pack(
    plans: &[BlockPlan<'_>],
    key: Option<&StoreKey>,
    processors: usize,
) -> Result<Vec<Vec<u8>>> {
    let bytes = |plans: &[BlockPlan<'_>]| {
        let sections = plans.iter().flatten().flat_map(|(_, sections)| sections);
        sections.map(|bytes| bytes.len()).sum::<usize>()
    };
    let half = plans.len() / 2;
    if processors < 2 || half == 0 || bytes(plans) < 2 * BYTES_EACH {
        let of = Sealing { packing: Packing::Level(LEVEL), rewritten: false, epoch: 0, key };
        let packed = plans.iter().map(|runs| {
            let mut block = Vec::new();
            RunBlock::encode(runs, &of, &mut block).map(|_| block)
        });
        return packed.collect();
    }
    let (front, back) = plans.split_at(half);
    let rest = || pack(back, key, processors / 2);
    std::thread::scope(|scope| {
        let second = threads::start_in(scope, "packing", rest);
        let mut packed = pack(front, key, processors / 2)?;
        let done = second.ok().and_then(|thread| thread.join().ok());
        packed.extend(done.unwrap_or_else(rest)?);
        Ok(packed)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use milepost_codec::{Hash, Head, TaskNo};
    use proptest::prelude::*;

    use super::*;
    use crate::index::LogHead;

    /// Returns logs whose extents have these lengths, in order of their tasks.
    fn logs(lengths: &[Vec<usize>]) -> Vec<LogRuns> {
        let head = LogHead { head: Head { next: 0, hash: Hash::ZERO }, bytes: 0, start: 0 };
        let logs = lengths.iter().zip(1..).map(|(lengths, task)| {
            let mut first = 0;
            let extents = lengths.iter().map(|len| {
                let bytes = Arc::new(vec![first as u8; *len]);
                let prev = Hash([first as u8; 32]);
                let extent = Extent { first, count: 2, prev, range: 0..*len, bytes };
                first += 2;
                extent
            });
            let (log, extents) = (LogId::control(TaskNo(task)), extents.collect());
            LogRuns { log, extents, head }
        });
        logs.collect()
    }

    fn slices(logs: &[LogRuns]) -> Vec<(LogId, &[Extent])> {
        logs.iter().map(|log| (log.log, log.extents.as_slice())).collect()
    }

    fn bytes(block: &BlockPlan<'_>) -> usize {
        block.iter().flat_map(|(_, sections)| sections).map(|bytes| bytes.len()).sum()
    }

    #[test]
    fn small_logs_share_a_block_and_a_large_one_has_its_own() {
        let logs = logs(&[vec![10, 20], vec![16 << 10], vec![30], vec![60_000, 3000, 3000]]);
        let blocks = plan(&slices(&logs), BLOCK_RAW_TARGET, ALONE);
        let tasks: Vec<Vec<u64>> = blocks
            .iter()
            .map(|block| block.iter().map(|(run, _)| run.log.task.0).collect())
            .collect();
        assert_eq!(tasks, [vec![1, 3], vec![2], vec![4], vec![4]]);
        assert_eq!(bytes(&blocks[2]), 63_000);
        assert_eq!((blocks[3][0].0.first, blocks[3][0].0.prev), (4, Hash([4; 32])));
    }

    proptest! {
        #[test]
        fn blocks_hold_all_extents_of_a_round_in_the_order_of_their_logs(
            lengths in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![2..200_usize, 2..70_000_usize], 0..20), 0..12,
            ),
            processors in 1..3_usize,
        ) {
            let logs = logs(&lengths);
            let blocks = plan(&slices(&logs), BLOCK_RAW_TARGET, ALONE);
            for block in &blocks {
                let sections = block.iter().map(|(_, sections)| sections.len()).sum::<usize>();
                prop_assert!(bytes(block) <= BLOCK_RAW_TARGET || sections == 1);
            }
            for log in &logs {
                let runs = blocks.iter().flatten().filter(|(run, _)| run.log == log.log);
                let mut extents = log.extents.iter();
                for (run, sections) in runs {
                    let mut next = run.first;
                    for (n, bytes) in sections.iter().enumerate() {
                        let extent = extents.next().unwrap();
                        prop_assert_eq!((next, *bytes), (extent.first, extent.section_bytes()));
                        prop_assert!(n > 0 || run.prev == extent.prev);
                        next = extent.end();
                    }
                    prop_assert_eq!(next, run.end());
                }
                prop_assert!(extents.next().is_none());
            }
            let packed = pack(&blocks, None, processors).unwrap();
            for (block, packed) in blocks.iter().zip(&packed) {
                let read = RunBlock::decode(packed, None).unwrap();
                let runs: Vec<Run> = block.iter().map(|(run, _)| *run).collect();
                prop_assert_eq!(read.runs().collect::<Vec<_>>(), runs);
            }
            prop_assert_eq!(packed.len(), blocks.len());
        }
    }
}
