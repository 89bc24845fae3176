//! Writing of archive files.

use std::fs;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_codec::{
    BlockFileHeader, BlockHeader, CommitTable, Hash, LogBatchRef, LogBatches, LogId, Packing,
    Result, RunBlock, Sealing, SegmentHeader, Seq, StoreKey,
};

use super::reader::order;
use crate::extent::Extent;
use crate::files;
use crate::files::FolderHandle;
use crate::local::applier::ROUND_BYTES;
use crate::local::index::blocks;
use crate::local::markers::applied::UNKNOWN;

/// Bytes of sections that are compressed together. An archive is read from end to end, so its
/// blocks are larger than those for readers.
pub(super) const BLOCK_TARGET: usize = 512 << 10;

/// The maximum number of commits in a round.
const COMMITS_MAX: usize = 1 << 16;

/// Writes an archive file under a temporary name, and renames it when it is complete. A file that
/// is not completed is removed.
#[derive(Debug)]
pub(crate) struct Writer {
    temp_path: PathBuf,
    out: File,
    level: i32,
    rewritten: bool,
    key: Option<StoreKey>,
    /// The first commit.
    pub(crate) first: Seq,
    /// The commit after the last one written.
    next: Seq,
    /// The check of the last frame; [`UNKNOWN`] without frames.
    check: [u8; 16],
    /// The round that is not written yet: its commits, their log batches, and the bytes of these.
    counts: Vec<u64>,
    batches: Vec<(LogId, Extent)>,
    bytes: usize,
    written: u64,
}

impl Writer {
    /// Creates a temporary file for `path`, which begins with the commit `first`. `level` is the
    /// level of zstd, and `rewritten` is set if withdrawn content is left out.
    pub(crate) fn create(
        path: &Path,
        first: Seq,
        (level, rewritten): (i32, bool),
        key: Option<&StoreKey>,
    ) -> Result<Self> {
        let (out, temp_path) = files::create_temp(path)?;
        let mut writer = Self {
            temp_path,
            out,
            level,
            rewritten,
            key: key.copied(),
            first,
            next: first,
            check: UNKNOWN,
            counts: Vec::new(),
            batches: Vec::new(),
            bytes: 0,
            written: 0,
        };
        // The header is written at the end: the number of the file may not be known before.
        writer.write(&vec![0; BlockFileHeader::LEN])?;
        Ok(writer)
    }

    /// Returns the commit after the last one added.
    pub(crate) fn next(&self) -> Seq {
        self.next + self.counts.len() as u64
    }

    /// Adds the next commit: its log batches, and the check of its frame.
    pub(crate) fn commit(&mut self, payload: &[u8], check: [u8; 16]) -> Result<()> {
        let (bytes, mut batches) = (Arc::new(payload.to_vec()), Vec::new());
        for batch in LogBatches::new(payload) {
            let LogBatchRef { log, first, section, span, .. } = batch?;
            let (count, range, bytes) = (section.count, span.0..span.1, Arc::clone(&bytes));
            // The chain hash before the first record is not known here.
            batches.push((log, Extent { first, count, prev: Hash::ZERO, range, bytes }));
        }
        let count = batches.len() as u64;
        self.add(batches, vec![count], check)
    }

    /// Adds the next commits: their content, their numbers of log batches, and the check of the
    /// last one's frame. They are packed together with those before them, until there are enough
    /// for a round.
    pub(crate) fn add(
        &mut self,
        batches: impl IntoIterator<Item = (LogId, Extent)>,
        counts: Vec<u64>,
        check: [u8; 16],
    ) -> Result<()> {
        let before = self.batches.len();
        self.batches.extend(batches);
        let added = self.batches.iter().skip(before);
        let added = added.map(|(_, extent)| extent.range.len()).sum::<usize>();
        let is_full = self.bytes + added > ROUND_BYTES || self.counts.len() >= COMMITS_MAX;
        if is_full && !self.counts.is_empty() {
            let later = self.batches.split_off(before);
            self.end_round()?;
            self.batches = later;
        }
        self.bytes += added;
        self.counts.extend(counts);
        self.check = check;
        Ok(())
    }

    /// Writes the round of the commits that were added since the last one.
    fn end_round(&mut self) -> Result<()> {
        self.bytes = 0;
        let mut batches = std::mem::take(&mut self.batches);
        batches.sort_by_key(|(log, extent)| (order(*log), extent.first));
        let mut logs: Vec<(LogId, Vec<Extent>)> = Vec::new();
        for (log, extent) in batches {
            match logs.last_mut().filter(|(last, _)| *last == log) {
                Some((_, extents)) => extents.push(extent),
                None => logs.push((log, vec![extent])),
            }
        }
        let logs: Vec<_> = logs.iter().map(|(log, extents)| (*log, extents.as_slice())).collect();
        let (packing, key) = (Packing::Level(self.level), self.key);
        let rewritten = self.rewritten;
        let sealing = Sealing { packing, rewritten, epoch: 0, key: key.as_ref() };
        let (mut out, mut hashes) = (Vec::new(), Vec::new());
        for runs in blocks::plan(&logs, BLOCK_TARGET, usize::MAX) {
            hashes.push(RunBlock::encode(&runs, &sealing, &mut out)?);
        }
        let counts = std::mem::take(&mut self.counts);
        self.table((false, self.check), (counts, hashes), &mut out)?;
        self.write(&out)
    }

    /// Adds a round whose content is packed.
    pub(crate) fn copy(
        &mut self,
        blocks: &[Vec<u8>],
        counts: Vec<u64>,
        check: [u8; 16],
    ) -> Result<()> {
        self.end()?;
        let hash = |block: &Vec<u8>| BlockHeader::decode(block).map(|header| header.hash);
        let hashes = blocks.iter().map(hash).collect::<Result<_>>()?;
        let mut out = blocks.concat();
        self.table((false, check), (counts, hashes), &mut out)?;
        self.write(&out)
    }

    /// Appends the table of a round.
    fn table(
        &mut self,
        (is_last, last): (bool, [u8; 16]),
        (commits, blocks): (Vec<u64>, Vec<Hash>),
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let first = self.next;
        self.next += commits.len() as u64;
        self.check = last;
        CommitTable { is_last, first, commits, blocks, last }.encode(0, self.key.as_ref(), out)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|e| files::io("write", &self.temp_path, &e))
    }

    /// Writes the last round. Returns the length of the file without its last table.
    pub(crate) fn end(&mut self) -> Result<u64> {
        if !self.counts.is_empty() {
            self.end_round()?;
        }
        Ok(self.written)
    }

    /// Finishes the file; when this returns, it survives power loss. Returns its length in bytes.
    pub(crate) fn finish(
        mut self,
        path: &Path,
        header: SegmentHeader,
        folder: &FolderHandle,
    ) -> Result<u64> {
        self.end()?;
        let mut end = Vec::new();
        self.table((true, self.check), (Vec::new(), Vec::new()), &mut end)?;
        self.write(&end)?;
        let header =
            BlockFileHeader(SegmentHeader { epoch: 0, recycled: false, ..header }).encode();
        self.out
            .write_all_at(&header, 0)
            .and_then(|()| self.out.sync_all())
            .and_then(|()| fs::rename(&self.temp_path, path))
            .map_err(|e| files::io("write", &self.temp_path, &e))?;
        folder.sync()?;
        Ok(self.written)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A finished file has another name.
        let _ = fs::remove_file(&self.temp_path);
    }
}
