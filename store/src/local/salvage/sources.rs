//! Commits from damaged files: all frames and blocks that pass their own checks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use milepost_codec::{
    BlockFileHeader, BlockHeader, LogBatches, LogId, Offset, ROUND_RAW_MAX, Result, RunBlock, Seq,
    StoreId, StoreKey, begin_log_batch,
};

use crate::files;
use crate::local::archive::from_index::Commits;
use crate::local::archive::reader::{Order, Round, order};
use crate::local::index::kv::Kv;
use crate::local::journal::scan::{FrameAt, Segment, payload};
use crate::local::layout::Layout;

/// The maximum bytes of unpacked blocks that wait for their commits: the size of two rounds.
const WAITING_MAX: usize = 2 * ROUND_RAW_MAX;

/// All remaining commits of a store.
pub(crate) struct Sources<'a> {
    key: Option<&'a StoreKey>,
    /// Intact blocks of archive files, the last ones first.
    blocks: Vec<BlockLocation>,
    /// The last commit of any of these blocks.
    archived: Seq,
    /// Log batches of blocks that were read, by commit, and their bytes.
    waiting: BTreeMap<Seq, Vec<Vec<u8>>>,
    waiting_bytes: usize,
    /// Intact frames of the journal.
    frames: BTreeMap<Seq, (PathBuf, FrameAt)>,
    sled: Option<Commits<'a>>,
    /// The last archive file and the last segment that were read.
    file: (PathBuf, Vec<u8>),
    segment: (PathBuf, Vec<u8>),
}

/// The location of a block in an archive file.
struct BlockLocation {
    /// The first commit of its sections.
    from: Seq,
    path: PathBuf,
    at: usize,
}

impl<'a> Sources<'a> {
    pub(crate) fn of(
        layout: &Layout,
        store: StoreId,
        key: Option<&'a StoreKey>,
        kv: Option<&'a Kv>,
    ) -> Result<Self> {
        let mut sources = Self {
            key,
            blocks: Vec::new(),
            archived: 0,
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            frames: BTreeMap::new(),
            sled: kv.and_then(|kv| Commits::all_readable(kv, key).ok()),
            file: (PathBuf::new(), Vec::new()),
            segment: (PathBuf::new(), Vec::new()),
        };
        for (_, path) in files::numbered(&layout.archive(), "mpa")? {
            sources.archive(&path, store)?;
        }
        sources.blocks.sort_by_key(|block| std::cmp::Reverse(block.from));
        for (_, path) in files::numbered(&layout.journal(), "seg")? {
            let (segment, _) = Segment::survey(&path, store, key)?;
            for frame in segment.frames {
                sources.frames.insert(frame.seq, (path.clone(), frame));
            }
        }
        Ok(sources)
    }

    /// Finds the intact blocks of an archive file, and skips other bytes.
    fn archive(&mut self, path: &Path, store: StoreId) -> Result<()> {
        let bytes = fs::read(path).map_err(|e| files::io("read", path, &e))?;
        if BlockFileHeader::decode(&bytes).is_ok_and(|header| header.0.store != store) {
            return Ok(());
        }
        let mut at = BlockFileHeader::LEN;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if let Some((round, len)) = block_at(rest, self.key) {
                if let Some((from, to)) = round.bounds() {
                    self.archived = self.archived.max(to);
                    self.blocks.push(BlockLocation { from, path: path.to_owned(), at });
                }
                at += len;
            } else {
                at = next_magic(&bytes, at + 1);
            }
        }
        Ok(())
    }

    /// Returns the last commit of which anything is left.
    pub(crate) fn last(&mut self) -> Seq {
        let journal = self.frames.last_key_value().map_or(0, |(seq, _)| *seq);
        // sled has no commit that the journal never had, but the journal may be lost.
        let sled = self.sled.as_ref().map_or(0, Commits::last_commit);
        self.archived.max(journal).max(sled)
    }

    /// Returns the log batches of a commit that are left in any of the files. The caller asks for
    /// commits in order.
    pub(crate) fn payload(&mut self, seq: Seq) -> Result<Vec<u8>> {
        let mut left = Left::default();
        self.read_blocks(seq)?;
        for payload in self.waiting.remove(&seq).into_iter().flatten() {
            self.waiting_bytes = self.waiting_bytes.saturating_sub(payload.len());
            left.add(&payload);
        }
        if let Some((path, frame)) = self.frames.get(&seq) {
            if self.segment.0 != *path {
                let bytes = fs::read(path).map_err(|e| files::io("read", path, &e))?;
                self.segment = (path.clone(), bytes);
            }
            left.add(payload(&self.segment.1, frame)?);
        }
        if let Some(sled) = &mut self.sled {
            let mut blocks = Vec::new();
            sled.payload(seq, &mut blocks)?;
            left.add(&blocks);
        }
        Ok(left.into_payload())
    }

    /// Reads the blocks that may have sections of a commit.
    fn read_blocks(&mut self, seq: Seq) -> Result<()> {
        while let Some(place) = self.blocks.pop_if(|place| place.from <= seq) {
            if self.file.0 != place.path {
                let bytes = fs::read(&place.path);
                let bytes = bytes.map_err(|e| files::io("read", &place.path, &e))?;
                self.file = (place.path, bytes);
            }
            let block = self.file.1.get(place.at..).and_then(|rest| block_at(rest, self.key));
            // A file with blocks of commits far apart was not written by a store.
            let Some((round, _)) = block else { continue };
            for (seq, payload) in round.commits() {
                if self.waiting_bytes + payload.len() <= WAITING_MAX {
                    self.waiting_bytes += payload.len();
                    self.waiting.entry(seq).or_default().push(payload);
                }
            }
        }
        Ok(())
    }
}

/// Log batches of a commit, each once.
#[derive(Default)]
struct Left(BTreeMap<(Order, Offset), (LogId, Vec<u8>)>);

impl Left {
    /// Adds the log batches of a payload. One that cannot be decoded ends it.
    fn add(&mut self, payload: &[u8]) {
        for batch in LogBatches::new(payload).map_while(Result::ok) {
            let place = (order(batch.log), batch.first);
            self.0.entry(place).or_insert_with(|| (batch.log, batch.bytes.to_vec()));
        }
    }

    fn into_payload(self) -> Vec<u8> {
        let mut out = Vec::new();
        for ((_, first), (log, bytes)) in self.0 {
            begin_log_batch(&mut out, log, first);
            out.extend_from_slice(&bytes);
        }
        out
    }
}

/// Returns the commits of the intact block at the beginning of `bytes`, and its length.
fn block_at(bytes: &[u8], key: Option<&StoreKey>) -> Option<(Round, usize)> {
    let len = BlockHeader::decode(bytes).ok()?.block_len();
    let block = RunBlock::decode(bytes.get(..len)?, key).ok()?;
    Some((Round::of(vec![block]).ok()?, len))
}

/// Returns the place of the next possible block, from `at` on, or the end.
fn next_magic(bytes: &[u8], at: usize) -> usize {
    let found = bytes.windows(4).skip(at).position(|four| four == BlockHeader::MAGIC);
    found.map_or(bytes.len(), |distance| at + distance)
}
