//! Blocks of runs: sections of one log or of several.

use std::ops::Range;

use crate::block_file::block::{self, PARTS_MAX, Sealing};
use crate::error::Result;
use crate::frame::FRAME_PAYLOAD_MAX;
use crate::id::{Hash, LogId, LogKind, Offset, TaskNo};
use crate::key::StoreKey;
use crate::section::Sections;
use crate::wire::put_varint;

/// Target size of a block of runs, in bytes of sections. Larger blocks compress better, but reading
/// one event decompresses the whole block.
pub const BLOCK_RAW_TARGET: usize = 64 << 10;

/// Target size of a section, in bytes of records. Sections of this size fill blocks well without a
/// cut, and one event is checked without the rest of its block.
pub const SECTION_RAW_TARGET: usize = 8 << 10;

/// The most bytes of sections in the blocks of a round: a commit of the largest size, and 8 MiB
/// more.
pub const ROUND_RAW_MAX: usize = FRAME_PAYLOAD_MAX + (8 << 20);

/// Sections of one log that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The log.
    pub log: LogId,
    /// The offset of the first record.
    pub first: Offset,
    /// The number of records.
    pub count: u32,
    /// Set if a record has index entries.
    pub indexed: bool,
    /// The chain hash before the first record.
    pub prev: Hash,
}

impl Run {
    /// Returns the offset after the last record.
    pub fn end(&self) -> Offset {
        self.first.saturating_add(u64::from(self.count))
    }
}

/// A block of runs, unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunBlock {
    runs: Vec<(Run, Range<usize>)>,
    raw: Vec<u8>,
}

impl RunBlock {
    /// The most runs of a block.
    pub const RUNS_MAX: usize = PARTS_MAX;

    /// Appends a block of runs, each with its encoded sections, to `out`. Returns the hash of the
    /// block.
    ///
    /// # Errors
    ///
    /// `Invalid`: there are no runs, or more than 4096, or the sections have more than 32 MiB.
    ///
    /// ```
    /// use milepost_codec::{Hash, LogId, Packing, Run, RunBlock, Sealing, TaskNo};
    ///
    /// let log = LogId::control(TaskNo(1));
    /// let run = Run { log, first: 7, count: 0, indexed: false, prev: Hash::ZERO };
    /// let of = Sealing { packing: Packing::Level(1), rewritten: false, epoch: 5, key: None };
    /// let mut block = Vec::new();
    /// RunBlock::encode(&[(run, vec![b""])], &of, &mut block)?;
    /// assert_eq!(RunBlock::decode(&block, None)?.runs().collect::<Vec<_>>(), [run]);
    /// # Ok::<(), milepost_codec::Error>(())
    /// ```
    pub fn encode(runs: &[(Run, Vec<&[u8]>)], of: &Sealing<'_>, out: &mut Vec<u8>) -> Result<Hash> {
        let (mut table, mut raw) = (Vec::new(), Vec::new());
        for (run, sections) in runs {
            let begin = raw.len();
            sections.iter().for_each(|bytes| raw.extend_from_slice(bytes));
            put_varint(&mut table, run.log.task.0);
            put_varint(&mut table, u64::from(run.log.kind.number()));
            put_varint(&mut table, run.first);
            put_varint(&mut table, u64::from(run.count));
            put_varint(&mut table, (raw.len() - begin) as u64);
            table.push(u8::from(run.indexed));
            table.extend_from_slice(&run.prev.0);
        }
        block::seal(runs.len(), &table, &raw, of, out)
    }

    /// Decodes and checks a block of runs.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the bytes do not match their hash, or the table does not match the payload.
    /// `Unsupported`: the block has a newer version.
    pub fn decode(bytes: &[u8], key: Option<&StoreKey>) -> Result<Self> {
        let mut opened = block::open(bytes, key)?;
        let table = &mut opened.table;
        let (mut runs, mut at) = (Vec::with_capacity(opened.parts), 0_usize);
        for _ in 0..opened.parts {
            let (task, number) = (TaskNo(table.shortest()?), table.shortest_u32()?);
            let (first, count) = (table.shortest()?, table.shortest_u32()?);
            let (len, indexed) = (table.shortest_u32()? as usize, table.flag()?);
            let prev = Hash(table.array()?);
            let end = at.saturating_add(len);
            if end > opened.raw.len()
                || count as usize > len
                || first.checked_add(u64::from(count)).is_none()
            {
                let found = format!("{count} in {len} bytes at {first}");
                return Err(table.corrupt("records that fit", found));
            }
            let log = LogId { task, kind: LogKind::from_number(number) };
            runs.push((Run { log, first, count, indexed, prev }, at..end));
            at = end;
        }
        table.end()?;
        if at != opened.raw.len() {
            return Err(table.corrupt(format!("runs of {} bytes", opened.raw.len()), at));
        }
        Ok(Self { runs, raw: opened.raw })
    }

    /// Returns an iterator over the runs.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = Run> {
        self.runs.iter().map(|(run, _)| *run)
    }

    /// Returns the sections of the run at `n`; none if there is no such run.
    pub fn sections(&self, n: usize) -> Sections<'_> {
        Sections::new(self.raw.get(self.range(n)).unwrap_or_default())
    }

    /// Returns the range of the sections of the run at `n` in the unpacked bytes; an empty one if
    /// there is no such run.
    pub fn range(&self, n: usize) -> Range<usize> {
        self.runs.get(n).map_or(0..0, |(_, range)| range.clone())
    }

    /// Returns the runs, each with the range of its sections in the bytes that follow.
    pub fn into_parts(self) -> (Vec<(Run, Range<usize>)>, Vec<u8>) {
        (self.runs, self.raw)
    }
}
