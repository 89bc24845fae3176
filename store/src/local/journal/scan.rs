//! Scan of the journal: finds the frames of each segment, even in damaged files.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use milepost_codec::{
    Error, ErrorKind, FRAME_HEADER_LEN, FrameHeader, Result, SEGMENT_HEADER_LEN,
    SEGMENT_HEADER_USED, SegmentHeader, Seq, StoreId, StoreKey,
};

use crate::files;

/// The maximum number of times that a segment's bytes are hashed in search of frames.
const HASHED_TIMES: u64 = 4;

/// The content of most of a fresh segment.
static ZEROS: [u8; 4096] = [0; 4096];

/// The location of a frame, its check, and the check of its predecessor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameAt {
    pub(crate) seq: Seq,
    pub(crate) at: u64,
    pub(crate) end: u64,
    pub(crate) check: [u8; 16],
    pub(crate) prev: [u8; 16],
    /// Set if the frame marks the close of the store.
    pub(crate) closed: bool,
}

/// The maximum number of reads of a segment that is being written to.
const READS: usize = 8;

/// A segment, and its valid frames in order of location.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    /// The header; `None` if it is damaged or another store's.
    pub(crate) header: Option<SegmentHeader>,
    /// Set if the segment belongs to another store.
    pub(crate) foreign: bool,
    pub(crate) frames: Vec<FrameAt>,
    /// The byte at which the search ended early: too many bytes look like frames and are not.
    abandoned_at: Option<u64>,
    /// The first byte after the header that is not zero: nothing writes there.
    stray: Option<u64>,
    /// The number of bytes after the last frame that look like the beginning of another one.
    pub(crate) torn: u64,
}

impl Segment {
    /// Reads a segment and finds its frames; returns its bytes too. If the header is damaged, all
    /// valid frames are returned, and the caller has to check that each follows the one before.
    pub(crate) fn survey(
        path: &Path,
        store: StoreId,
        key: Option<&StoreKey>,
    ) -> Result<(Self, Vec<u8>)> {
        let bytes = fs::read(path).map_err(|e| files::io("read", path, &e))?;
        let header = match SegmentHeader::decode(&bytes) {
            Ok(header) => Some(header),
            Err(error) if error.kind() == ErrorKind::Corrupt => None,
            Err(error) => return Err(error.at(path.display())),
        };
        let foreign = header.is_some_and(|header| header.store != store);
        let mut segment = Self {
            path: path.to_owned(),
            size: bytes.len() as u64,
            header: header.filter(|_| !foreign),
            foreign,
            frames: Vec::new(),
            abandoned_at: None,
            stray: None,
            torn: 0,
        };
        let unused = bytes.get(SEGMENT_HEADER_USED..SEGMENT_HEADER_LEN).unwrap_or(&[]);
        let stray = unused.iter().position(|byte| *byte != 0);
        segment.stray = stray.map(|at| (at + SEGMENT_HEADER_USED) as u64);
        if !foreign {
            segment.find_frames(&bytes, key);
            segment.torn = segment.torn_bytes(&bytes);
        }
        Ok((segment, bytes))
    }

    /// Surveys a segment that another thread or process may be writing to or recycling. A read may
    /// miss the pages of a frame and see those of later ones. So only a fault that two consecutive
    /// reads find is one: the pages that the first of them missed were complete before the second
    /// began.
    pub(crate) fn survey_in_use(
        path: &Path,
        store: StoreId,
        key: Option<&StoreKey>,
    ) -> Result<(Self, Vec<u8>)> {
        let mut read = Self::survey(path, store, key)?;
        for _ in 1..READS {
            let Some(fault) = read.0.fault() else { break };
            read = Self::survey(path, store, key)?;
            if read.0.fault().is_some_and(|again| again.to_string() == fault.to_string()) {
                break;
            }
        }
        Ok(read)
    }

    fn find_frames(&mut self, bytes: &[u8], key: Option<&StoreKey>) {
        let epoch = self.header.map(|header| header.epoch);
        let mut at = SEGMENT_HEADER_LEN as u64;
        // Bytes that look like a frame at every step would cause a hash of the rest of the file
        // each time.
        let mut budget = self.size.saturating_mul(HASHED_TIMES);
        while at < self.size {
            let rest = from(bytes, at);
            let mine = match epoch {
                Some(epoch) => FrameHeader::looks_like(rest, epoch),
                None => FrameHeader::looks_like_any(rest),
            };
            let frame = mine.then(|| FrameHeader::read(rest, key).ok()).flatten();
            let Some((frame, _)) = frame else {
                let claimed = mine.then(|| FrameHeader::read_unverified(rest).ok()).flatten();
                let hashed = claimed.map_or(0, |(frame, _)| frame.stride());
                let Some(remaining) = budget.checked_sub(hashed) else {
                    self.abandoned_at = Some(at);
                    return;
                };
                budget = remaining;
                at += 8;
                continue;
            };
            let end = at + frame.stride();
            self.frames.push(FrameAt {
                seq: frame.seq,
                at,
                end,
                check: frame.check,
                prev: frame.prev,
                closed: frame.closed,
            });
            at = end;
        }
    }

    /// Returns the end of the last frame.
    pub(crate) fn end(&self) -> u64 {
        self.frames.last().map_or(SEGMENT_HEADER_LEN as u64, |frame| frame.end)
    }

    /// Returns the number of bytes after the last frame that an incomplete frame left: in a fresh
    /// file up to the last nonzero byte, in a recycled one a header with the current epoch.
    fn torn_bytes(&self, bytes: &[u8]) -> u64 {
        let Some(header) = &self.header else { return 0 };
        let rest = from(bytes, self.end());
        let has_header = FrameHeader::looks_like(rest, header.epoch);
        if header.recycled {
            return if has_header { FRAME_HEADER_LEN as u64 } else { 0 };
        }
        // A fresh file is mostly zeros: these are skipped in large pieces.
        let is_zero = |piece: &&[u8]| ZEROS.starts_with(piece);
        let zeros = rest.rchunks(ZEROS.len()).take_while(is_zero);
        let zeros: usize = zeros.map(<[u8]>::len).sum();
        let last = rest.iter().take(rest.len() - zeros).rposition(|byte| *byte != 0);
        last.map_or(0, |at| at as u64 + 1)
    }

    /// Returns the last commit, or the one before the segment's first if it has no frame.
    pub(crate) fn last(&self) -> Option<Seq> {
        match self.frames.last() {
            Some(frame) => Some(frame.seq),
            None => Some(self.header?.first.saturating_sub(1)),
        }
    }

    /// Returns the check of the last frame, or of the one before the segment's first.
    pub(crate) fn check(&self) -> Option<[u8; 16]> {
        match self.frames.last() {
            Some(frame) => Some(frame.check),
            None => Some(self.header?.prev),
        }
    }

    /// Returns `true` if the last frame marks the close of the store.
    pub(crate) fn closed(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.closed)
    }

    /// Returns the header if the segment is sound: each frame follows the one before, without a
    /// gap, from the first on.
    pub(crate) fn sound(&self) -> Result<&SegmentHeader> {
        let Some(header) = &self.header else {
            let found = if self.foreign { "another store's" } else { "other bytes" };
            let place = self.path.display().to_string();
            return Err(Error::corrupt(place, "the header of a segment of this store", found));
        };
        if let Some(at) = self.abandoned_at {
            let place = format!("{} at byte {at}", self.path.display());
            return Err(Error::corrupt(place, "frames", "much that looks like one and is none"));
        }
        let (mut at, mut seq, mut check) = (SEGMENT_HEADER_LEN as u64, header.first, header.prev);
        for frame in &self.frames {
            if (frame.at, frame.seq, frame.prev) != (at, seq, check) {
                return Err(Error::corrupt(
                    format!("{} at byte {at}", self.path.display()),
                    format!("commit {seq}"),
                    format!("bytes that are none, with commit {} after them", frame.seq),
                ));
            }
            (at, seq, check) = (frame.end, frame.seq + 1, frame.check);
        }
        Ok(header)
    }

    /// Returns the fault of a segment that is not as it was written, which may still be sound.
    pub(crate) fn fault(&self) -> Option<Error> {
        let stray = self.stray.filter(|_| !self.foreign).map(|at| {
            let place = format!("{} at byte {at}", self.path.display());
            Error::corrupt(place, "zeros behind the header", "other bytes")
        });
        self.sound().err().or(stray)
    }

    /// Makes the frames that were read survive power loss. The writer may have died or failed
    /// before its last sync, and the bytes may come from the page cache. So the last frame is
    /// written again, which also restores pages that a failed sync has marked clean.
    pub(crate) fn settle(&self) -> Result<()> {
        let io = |e| files::io("sync", &self.path, &e);
        let file = files::open_rw(&self.path)?;
        if let Some(last) = self.frames.last() {
            let mut frame = vec![0; (last.end - last.at).min(self.size - last.at) as usize];
            file.read_exact_at(&mut frame, last.at)
                .and_then(|()| file.write_all_at(&frame, last.at))
                .map_err(io)?;
        }
        file.sync_data().map_err(io)?;
        files::sync_dir(self.path.parent().unwrap_or(&self.path))
    }

    /// Writes zeros over the bytes after the last frame that an incomplete frame left. The segment
    /// is continued: after a shorter frame they would look like damage to a close.
    pub(crate) fn wipe_torn(&self, file: &File) -> Result<()> {
        if self.torn == 0 {
            return Ok(());
        }
        let zeros = vec![0; self.torn as usize];
        file.write_all_at(&zeros, self.end())
            .and_then(|()| file.sync_data())
            .map_err(|e| files::io("write", &self.path, &e))
    }
}

/// Returns the payload of a surveyed frame.
pub(crate) fn payload<'a>(bytes: &'a [u8], frame: &FrameAt) -> Result<&'a [u8]> {
    match FrameHeader::read_unverified(from(bytes, frame.at)) {
        Ok((header, payload)) if header.check == frame.check => Ok(payload),
        _ => Err(Error::corrupt(
            format!("commit {}", frame.seq),
            "the frame that was found there before",
            "other bytes",
        )),
    }
}

/// Returns the bytes from a place on: none after the end.
fn from(bytes: &[u8], at: u64) -> &[u8] {
    usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use milepost_codec::seal_frame;

    use super::*;

    #[test]
    fn a_frame_that_changed_since_the_scan_is_no_empty_commit() {
        let mut bytes = [vec![0; FRAME_HEADER_LEN], b"payload".to_vec()].concat();
        let check = seal_frame(&mut bytes, 1, 0, false, &[0; 16], None);
        let end = bytes.len() as u64;
        let frame = FrameAt { seq: 1, at: 0, end, check, prev: [0; 16], closed: false };
        assert_eq!(payload(&bytes, &frame).unwrap(), b"payload");
        // The claimed length, and the check.
        for at in [23, 0] {
            let mut changed = bytes.clone();
            changed[at] ^= 0xFF;
            assert_eq!(payload(&changed, &frame).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }

    #[test]
    fn what_looks_like_frames_everywhere_is_given_up_and_not_hashed_over_and_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0000000001.seg");
        let mut bytes = vec![0; SEGMENT_HEADER_LEN];
        // Each claims to be a frame of half a MiB.
        let mut claim = [0; 64];
        claim[16..20].copy_from_slice(b"MPFR");
        claim[20..24].copy_from_slice(&(512_u32 << 10).to_le_bytes());
        while bytes.len() < 2 << 20 {
            bytes.extend_from_slice(&claim);
        }
        fs::write(&path, &bytes).unwrap();
        let (segment, _) = Segment::survey(&path, StoreId([1; 16]), None).unwrap();
        assert!(segment.abandoned_at.is_some() && segment.frames.is_empty());
        assert!(segment.sound().is_err());
    }
}
