//! Reading the journal: which frames of a segment are its own, and where they end.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use milepost_codec::{
    Error, FRAME_HEADER_LEN, FrameHeader, Result, SEGMENT_HEADER_LEN, SegmentHeader, Seq, StoreId,
};

use super::layout;

/// A segment in memory, and how far its frames go.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) header: SegmentHeader,
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    /// Where the next frame would begin.
    pub(crate) end: u64,
    /// The last commit; the one before the segment's first where it has no frame.
    pub(crate) last: Seq,
    pub(crate) check: [u8; 16],
    /// Whether the last frame says that the store was closed.
    pub(crate) closed: bool,
    /// Bytes after `end` that look like a torn frame.
    pub(crate) torn: bool,
    /// Where the last frame begins; `end` where there is none.
    last_frame: u64,
}

/// A frame of a segment: its commit and its payload.
pub(crate) type Frame<'a> = (Seq, &'a [u8]);

impl Scanned {
    /// Reads a segment. A frame belongs to it when it passes its check, has the segment's epoch
    /// and follows the frame before. The first that does not is the end, unless a later one does:
    /// then the middle is damaged, which is an error.
    pub(crate) fn read(path: &Path, store: StoreId) -> Result<Self> {
        let bytes = fs::read(path).map_err(|e| layout::io("read", path, &e))?;
        let place = |e: Error| e.at(path.display());
        let header = SegmentHeader::decode(&bytes).map_err(place)?;
        if header.store != store {
            return Err(Error::corrupt(
                path.display().to_string(),
                format!("a segment of store {store}"),
                format!("one of store {}", header.store),
            ));
        }
        let mut scanned = Self {
            header,
            path: path.to_owned(),
            bytes,
            end: SEGMENT_HEADER_LEN as u64,
            last: header.first.saturating_sub(1),
            check: header.prev,
            closed: false,
            torn: false,
            last_frame: SEGMENT_HEADER_LEN as u64,
        };
        scanned.walk().map_err(place)?;
        Ok(scanned)
    }

    fn walk(&mut self) -> Result<()> {
        loop {
            let rest = from(&self.bytes, self.end);
            match FrameHeader::read(rest) {
                Ok((frame, _)) if self.follows(&frame) => {
                    self.last_frame = self.end;
                    self.end += frame.stride();
                    self.last = frame.seq;
                    self.check = frame.check;
                    self.closed = frame.closed;
                }
                Ok(_) => break,
                Err(_) => {
                    self.torn = rest.iter().take(FRAME_HEADER_LEN).any(|b| *b != 0);
                    break;
                }
            }
        }
        // A file that was cut between two frames lacks the zeros after the last one.
        let whole = self.bytes.len().max(self.end as usize);
        self.bytes.resize(whole, 0);
        self.refuse_later_frames()
    }

    fn follows(&self, frame: &FrameHeader) -> bool {
        frame.epoch == self.header.epoch && frame.seq == self.last + 1 && frame.prev == self.check
    }

    /// Looks for a frame of this segment after its end.
    fn refuse_later_frames(&self) -> Result<()> {
        let mut at = self.end + 8;
        while (at as usize) < self.bytes.len() {
            let rest = from(&self.bytes, at);
            if FrameHeader::looks_like(rest, self.header.epoch)
                && let Ok((frame, _)) = FrameHeader::read(rest)
                && frame.seq > self.last
            {
                return Err(Error::corrupt(
                    format!("journal at byte {}", self.end),
                    format!("commit {}", self.last + 1),
                    format!("bytes that are none, with commit {} after them", frame.seq),
                ));
            }
            at += 8;
        }
        Ok(())
    }

    /// Makes what was read survive power loss. The process that wrote the last frame may have died,
    /// or failed, before its sync was done, and what was read came from memory: so the frame is
    /// written again, which also brings back pages that a failed sync has marked clean.
    pub(crate) fn settle(&self) -> Result<()> {
        let file = layout::open_rw(&self.path)?;
        let span = self.last_frame as usize..self.end as usize;
        let frame = self.bytes.get(span).unwrap_or_default();
        file.write_all_at(frame, self.last_frame)
            .and_then(|()| file.sync_data())
            .map_err(|e| layout::io("sync", &self.path, &e))?;
        layout::sync_dir(self.path.parent().unwrap_or(&self.path))
    }

    /// The frames after commit `after`, in order.
    pub(crate) fn frames(&self, after: Seq) -> impl Iterator<Item = Frame<'_>> {
        frames(
            self.bytes
                .get(SEGMENT_HEADER_LEN..self.end as usize)
                .unwrap_or_default(),
        )
        .filter(move |(seq, _)| *seq > after)
    }
}

/// Walks through frames that have been checked.
pub(crate) fn frames(bytes: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (header, payload) = FrameHeader::read(from(bytes, at)).ok()?;
        at += header.stride();
        Some((header.seq, payload))
    })
}

fn from(bytes: &[u8], at: u64) -> &[u8] {
    usize::try_from(at)
        .ok()
        .and_then(|at| bytes.get(at..))
        .unwrap_or_default()
}
