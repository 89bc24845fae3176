//! Reading of archive files, a round at a time.

use std::fs::File;
use std::io::BufReader;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_codec::{
    BlockFileHeader, BlockHeader, CommitTable, CommitTableHeader, Error, Hash, LogId, LogKind,
    Offset, ROUND_RAW_MAX, Result, RunBlock, SegmentHeader, Seq, StoreId, StoreKey,
    begin_log_batch,
};

use super::writer::{BLOCK_TARGET, Writer};
use super::{decode_header, short, unread};
use crate::extent::Extent;
use crate::files;
use crate::local::markers::applied::UNKNOWN;

/// The bytes of the magic of a block and of a table.
const MAGIC_LEN: usize = 4;

/// Reads one archive file, a round at a time.
pub(crate) struct Reader<'a> {
    path: PathBuf,
    file: BufReader<File>,
    /// Bytes of the file that are not read yet.
    remaining: u64,
    key: Option<&'a StoreKey>,
    pub(crate) header: SegmentHeader,
    next: Seq,
    done: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn open(path: &Path, store: StoreId, key: Option<&'a StoreKey>) -> Result<Self> {
        let file = files::open_read(path)?;
        let len = file.metadata().map_err(|e| files::io("read", path, &e))?.len();
        let mut file = BufReader::with_capacity(256 << 10, file);
        let mut header = vec![0; BlockFileHeader::LEN];
        files::read_whole(&mut file, &mut header).map_err(|e| unread(path, &e))?;
        let header = decode_header(path, &header, store)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            remaining: len.saturating_sub(BlockFileHeader::LEN as u64),
            key,
            header,
            next: header.first,
            done: false,
        })
    }

    /// Returns the commits of the next round, or `None` at the end of the file.
    pub(crate) fn next_round(&mut self) -> Result<Option<Round>> {
        if self.done {
            return Ok(None);
        }
        let read = self.read_round();
        read.map_err(|e| e.at(self.path.display()))
    }

    /// Returns `true` if the blocks of the file are much smaller than usual: they were copied.
    /// Reads the headers of all blocks.
    pub(crate) fn has_small_blocks(mut self) -> Result<bool> {
        let (mut rounds, mut blocks, mut raw) = (0, 0, 0);
        while self.remaining > 0 {
            let magic = self.take(Vec::new(), MAGIC_LEN)?;
            let (read, len) = if magic == CommitTableHeader::MAGIC {
                rounds += 1;
                let header = self.take(magic, CommitTableHeader::LEN)?;
                (header.len(), CommitTableHeader::decode(&header)?.table_len())
            } else {
                blocks += 1;
                let header = self.take(magic, BlockHeader::LEN)?;
                let block = BlockHeader::decode(&header)?;
                raw += block.raw_len();
                (header.len(), block.block_len())
            };
            let rest = len.saturating_sub(read) as u64;
            self.remaining = self.remaining.checked_sub(rest).ok_or_else(|| short(&self.path))?;
            let skipped = self.file.seek_relative(rest.cast_signed());
            skipped.map_err(|e| unread(&self.path, &e))?;
        }
        Ok(blocks > 2 * (rounds + raw / BLOCK_TARGET))
    }

    fn read_round(&mut self) -> Result<Option<Round>> {
        let (mut blocks, mut hashes, mut raw) = (Vec::new(), Vec::<Hash>::new(), 0);
        let table = loop {
            let magic = self.take(Vec::new(), MAGIC_LEN)?;
            if magic == CommitTableHeader::MAGIC {
                let header = self.take(magic, CommitTableHeader::LEN)?;
                let len = CommitTableHeader::decode(&header)?.table_len();
                break CommitTable::decode(&self.take(header, len)?, self.key)?;
            }
            let header = self.take(magic, BlockHeader::LEN)?;
            let block = BlockHeader::decode(&header)?;
            raw += block.raw_len();
            if raw > ROUND_RAW_MAX {
                let expected = format!("a round of at most {ROUND_RAW_MAX} bytes");
                return Err(Error::corrupt("archive", expected, raw));
            }
            let bytes = self.take(header, block.block_len())?;
            blocks.push(RunBlock::decode(&bytes, self.key)?);
            hashes.push(block.hash);
        };
        if table.first != self.next {
            return Err(Error::corrupt("commit table", self.next, table.first));
        }
        if table.blocks != hashes {
            let expected = format!("the {} blocks before it", hashes.len());
            let found = format!("other hashes, of {}", table.blocks.len());
            return Err(Error::corrupt("commit table", expected, found));
        }
        self.next += table.commits.len() as u64;
        if table.is_last {
            self.done = true;
            return match table.commits.is_empty() && self.remaining == 0 {
                true => Ok(None),
                false => Err(Error::corrupt("archive", "the end of the file", "more bytes")),
            };
        }
        let mut round = Round::of(blocks)?;
        round.check_counts(&table)?;
        (round.counts, round.check) = (table.commits, table.last);
        Ok(Some(round))
    }

    /// Returns `begun` with the next bytes of the file, up to `len` bytes.
    fn take(&mut self, mut begun: Vec<u8>, len: usize) -> Result<Vec<u8>> {
        let from = begun.len();
        let wanted = len.saturating_sub(from) as u64;
        if wanted > self.remaining {
            return Err(short(&self.path));
        }
        self.remaining -= wanted;
        begun.resize(len, 0);
        let (_, rest) = begun.split_at_mut(from);
        files::read_whole(&mut self.file, rest).map_err(|e| unread(&self.path, &e))?;
        Ok(begun)
    }
}

/// Sort key of a log, which puts definitions before uses: by task, its control log first.
pub(crate) type Order = (u64, bool, u32);

/// Returns the sort key of a log.
pub(crate) fn order(log: LogId) -> Order {
    (log.task.0, matches!(log.kind, LogKind::Lineage(_)), log.kind.number())
}

/// A section of a round.
struct Batch {
    seq: Seq,
    log: LogId,
    first: Offset,
    count: u32,
    /// The block, and the bytes of the section in it.
    block: usize,
    range: Range<usize>,
}

/// The commits of a round, in order.
pub(crate) struct Round {
    /// The sections, by commit and log.
    batches: Vec<Batch>,
    blocks: Vec<Arc<Vec<u8>>>,
    /// The number of log batches of each commit, and the check of the last one's frame.
    counts: Vec<u64>,
    check: [u8; 16],
}

impl Round {
    /// Merges the runs of blocks by commit.
    pub(crate) fn of(blocks: Vec<RunBlock>) -> Result<Self> {
        let mut round = Self {
            batches: Vec::new(),
            blocks: Vec::with_capacity(blocks.len()),
            counts: Vec::new(),
            check: UNKNOWN,
        };
        for (block, unpacked) in blocks.into_iter().enumerate() {
            let runs = unpacked.runs().collect::<Vec<_>>();
            for (n, run) in runs.iter().enumerate() {
                let mut sections = unpacked.sections(n);
                let (mut at, mut rest) = (run.first, sections.rest().len());
                let end = unpacked.range(n).end;
                while let Some(section) = sections.next() {
                    let section = section?;
                    if section.count == 0 {
                        return Err(Error::corrupt(
                            "block",
                            "sections with records",
                            "one without",
                        ));
                    }
                    let range = end - rest..end - sections.rest().len();
                    rest = sections.rest().len();
                    let (seq, log, first, count) = (section.seq, run.log, at, section.count);
                    round.batches.push(Batch { seq, log, first, count, block, range });
                    at = at.saturating_add(u64::from(section.count));
                }
                if at != run.end() {
                    return Err(Error::corrupt(
                        "block",
                        format!("records up to {}", run.end()),
                        at,
                    ));
                }
            }
            round.blocks.push(Arc::new(unpacked.into_parts().1));
        }
        round.batches.sort_by_key(|batch| (batch.seq, order(batch.log), batch.first));
        Ok(round)
    }

    /// Compares the log batches of each commit with the counts of the table.
    fn check_counts(&self, table: &CommitTable) -> Result<()> {
        let mut batches = self.batches.iter().map(|batch| batch.seq).peekable();
        for (seq, count) in (table.first..).zip(&table.commits) {
            let mut found = 0;
            while batches.next_if_eq(&seq).is_some() {
                found += 1;
            }
            if found != *count {
                let expected = format!("{count} log batches of commit {seq}");
                return Err(Error::corrupt("round", expected, found));
            }
        }
        match batches.next() {
            None => Ok(()),
            Some(seq) => Err(Error::corrupt("round", "commits of its table", seq)),
        }
    }

    /// Returns the first and the last commit that have log batches.
    pub(crate) fn bounds(&self) -> Option<(Seq, Seq)> {
        Some((self.batches.first()?.seq, self.batches.last()?.seq))
    }

    /// Adds the commits to a file, as they are.
    pub(crate) fn add_to(self, writer: &mut Writer) -> Result<()> {
        let blocks = &self.blocks;
        let batches =
            self.batches.into_iter().map(|Batch { log, first, count, block, range, .. }| {
                let bytes = Arc::clone(blocks.get(block).expect("a batch names a block"));
                // The chain hash before the first record is not kept in a round.
                (log, Extent { first, count, prev: Hash::ZERO, range, bytes })
            });
        writer.add(batches, self.counts, self.check)
    }

    /// Returns the commits that have log batches, and their payloads: as in frames, except for the
    /// order of the logs.
    pub(crate) fn commits(&self) -> impl Iterator<Item = (Seq, Vec<u8>)> {
        self.batches.chunk_by(|a, b| a.seq == b.seq).map(|batches| {
            let (mut payload, mut commit) = (Vec::new(), 0);
            for batch in batches {
                commit = batch.seq;
                begin_log_batch(&mut payload, batch.log, batch.first);
                let block = self.blocks.get(batch.block).expect("a batch names a block");
                let bytes = block.get(batch.range.clone());
                payload.extend_from_slice(bytes.expect("a batch lies in its block"));
            }
            (commit, payload)
        })
    }
}
