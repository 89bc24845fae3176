//! Commits from damaged files: all frames and blocks that pass their own checks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use milepost_codec::{
    ArchiveBlock, ArchiveHeader, Error, FrameHeader, Result, Seq, StoreId, StoreKey,
};

use crate::files;
use crate::local::archive::from_index::Commits;
use crate::local::index::kv::Kv;
use crate::local::journal::scan::{FrameAt, Segment, payload};
use crate::local::layout::Layout;

/// All remaining commits of a store.
pub(crate) struct Sources<'a> {
    key: Option<&'a StoreKey>,
    /// Intact blocks of archive files, by their first commit.
    blocks: BTreeMap<Seq, BlockLocation>,
    /// Intact frames of the journal.
    frames: BTreeMap<Seq, (PathBuf, FrameAt)>,
    sled: Option<Commits<'a>>,
    /// The frames of the last archive block that was read, by commit.
    open: (Seq, BTreeMap<Seq, Vec<u8>>),
    /// The last segment that was read.
    segment: (PathBuf, Vec<u8>),
}

/// The location of an archive block.
struct BlockLocation {
    path: PathBuf,
    at: usize,
    frames: u32,
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
            blocks: BTreeMap::new(),
            frames: BTreeMap::new(),
            sled: kv.and_then(|kv| Commits::all_readable(kv, key).ok()),
            open: (0, BTreeMap::new()),
            segment: (PathBuf::new(), Vec::new()),
        };
        for (_, path) in files::numbered(&layout.archive(), "mpa")? {
            sources.archive(&path, store)?;
        }
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
        if ArchiveHeader::decode(&bytes).is_ok_and(|header| header.0.store != store) {
            return Ok(());
        }
        let mut at = ArchiveHeader::LEN;
        while at < bytes.len() {
            match block_at(&bytes, at) {
                Some((block, len, _)) => {
                    if block.frames > 0 {
                        let (path, frames) = (path.to_owned(), block.frames);
                        let place = BlockLocation { path, at, frames };
                        self.blocks.entry(block.first).or_insert(place);
                    }
                    at += len;
                }
                None => at = next_magic(&bytes, at + 1),
            }
        }
        Ok(())
    }

    /// Returns the last commit of which anything is left.
    pub(crate) fn last(&mut self) -> Seq {
        let archived = self.blocks.last_key_value();
        let archived = archived.map_or(0, |(first, place)| first + Seq::from(place.frames) - 1);
        let journal = self.frames.last_key_value().map_or(0, |(seq, _)| *seq);
        // sled has no commit that the journal never had, but the journal may be lost.
        let sled = self.sled.as_ref().map_or(0, Commits::last_commit);
        archived.max(journal).max(sled)
    }

    /// Returns the log batches of a commit: all of them from a frame, otherwise those in blocks.
    /// The caller asks for commits in order.
    pub(crate) fn payload(&mut self, seq: Seq) -> Result<Vec<u8>> {
        let mut blocks = Vec::new();
        if let Some(sled) = &mut self.sled {
            sled.payload(seq, &mut blocks)?;
        }
        if let Some(frame) = self.archived(seq)? {
            return Ok(frame);
        }
        if let Some((path, frame)) = self.frames.get(&seq) {
            if self.segment.0 != *path {
                let bytes = fs::read(path).map_err(|e| files::io("read", path, &e))?;
                self.segment = (path.clone(), bytes);
            }
            return Ok(payload(&self.segment.1, frame)?.to_vec());
        }
        Ok(blocks)
    }

    fn archived(&mut self, seq: Seq) -> Result<Option<Vec<u8>>> {
        let Some((first, place)) = self.blocks.range(..=seq).next_back() else {
            return Ok(None);
        };
        if seq >= first + Seq::from(place.frames) {
            return Ok(None);
        }
        if self.open.0 != *first {
            let bytes = fs::read(&place.path).map_err(|e| files::io("read", &place.path, &e))?;
            let (_, _, raw) = block_at(&bytes, place.at).ok_or_else(|| {
                let found = "other bytes than before";
                Error::corrupt(place.path.display().to_string(), "an archive block", found)
            })?;
            let (mut payloads, mut rest) = (BTreeMap::new(), raw.as_slice());
            // The block's own check has no key, so each frame has to pass its own.
            while let Ok((frame, payload)) = FrameHeader::read(rest, self.key) {
                payloads.insert(frame.seq, payload.to_vec());
                rest = frame.after(rest);
            }
            self.open = (*first, payloads);
        }
        Ok(self.open.1.get(&seq).cloned())
    }
}

/// Returns the intact block at a byte, its length, and its frames.
fn block_at(bytes: &[u8], at: usize) -> Option<(ArchiveBlock, usize, Vec<u8>)> {
    let rest = bytes.get(at..)?;
    let header = rest.get(..ArchiveBlock::HEADER_LEN)?;
    let block = ArchiveBlock::decode_header(header).ok()?;
    let end = ArchiveBlock::HEADER_LEN + block.stored_len();
    let frames = block.decode(header, rest.get(ArchiveBlock::HEADER_LEN..end)?).ok()?;
    Some((block, end, frames))
}

/// Returns the place of the next possible block, from `at` on, or the end.
fn next_magic(bytes: &[u8], at: usize) -> usize {
    let found = bytes.windows(4).skip(at).position(|four| four == b"MPAB");
    found.map_or(bytes.len(), |distance| at + distance)
}
