//! The journal: frames appended to segments, one sync for each.
//!
//! # Format
//!
//! A segment is a header and frames (`docs/FORMAT.md`). Its blocks are written before it is used,
//! so that a sync writes no metadata: a fresh segment is filled with zeros, a recycled one holds
//! old frames, which have another epoch.
//!
//! # Sync
//!
//! `append` returns after `fdatasync`. After an error nothing more is written: the pages of a
//! failed sync are lost even if the next sync succeeds, so the outcome of that append is unknown
//! until the store is reopened.

use std::fs;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::pool::{SEGMENT_MAX, SealedSegment, SegmentPool};
use crate::files;
use milepost_codec::{
    Error, Result, SEGMENT_HEADER_LEN, SegmentHeader, Seq, StoreId, StoreKey, seal_frame,
};

/// The initial size of segments, which keeps a small store small.
const SEGMENT_MIN: u64 = 256 << 10;

/// The segment that is written to.
#[derive(Debug)]
pub(crate) struct ActiveSegment {
    pub(crate) header: SegmentHeader,
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) at: u64,
    pub(crate) size: u64,
}

/// The writer of the journal.
#[derive(Debug)]
pub(crate) struct JournalWriter {
    dir: PathBuf,
    store: StoreId,
    active: Option<ActiveSegment>,
    /// The last commit, and the check of its frame.
    last: Seq,
    check: [u8; 16],
    next_number: u64,
    next_size: u64,
    /// Set after a failed write or sync of a segment, or a failed sync of the folder after a
    /// rename: the content of the disk is unknown.
    unknown: bool,
}

/// The end of the journal, as recovery found it.
#[derive(Debug)]
pub(crate) struct JournalEnd {
    pub(crate) active: Option<ActiveSegment>,
    pub(crate) last: Seq,
    /// Set if the last commit only marks the close of the store.
    pub(crate) closed: bool,
    pub(crate) check: [u8; 16],
    pub(crate) next_number: u64,
    pub(crate) next_size: u64,
}

impl JournalEnd {
    /// Returns the last commit that may have been acknowledged.
    pub(crate) fn acked(&self) -> Seq {
        self.last - Seq::from(self.closed)
    }
}

impl JournalWriter {
    pub(crate) fn new(dir: &Path, store: StoreId, end: JournalEnd) -> Self {
        Self {
            dir: dir.to_owned(),
            store,
            active: end.active,
            last: end.last,
            check: end.check,
            next_number: end.next_number,
            next_size: end.next_size.clamp(SEGMENT_MIN, SEGMENT_MAX),
            unknown: false,
        }
    }

    /// Returns `true` after an error that leaves the content of the disk unknown. After any other
    /// error nothing was written, and the next append may succeed.
    pub(crate) fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// Writes one frame and syncs it. `buf` holds room for the frame's header, then its payload. If
    /// a new segment cannot be created, the frame is refused and the journal is unchanged.
    pub(crate) fn append(
        &mut self,
        seq: Seq,
        buf: &mut Vec<u8>,
        closed: bool,
        epoch: u64,
        pool: &SegmentPool,
        key: Option<&StoreKey>,
    ) -> Result<()> {
        assert_eq!(seq, self.last + 1, "commits follow each other");
        let need = (buf.len() as u64).next_multiple_of(8);
        if self.active.as_ref().is_none_or(|a| a.at + need > a.size) {
            self.roll(need, epoch, pool)?;
        }
        let Some(active) = self.active.as_mut() else {
            return Err(Error::invalid("the journal has no segment"));
        };
        let check = seal_frame(buf, seq, active.header.epoch, closed, &self.check, key);
        let written =
            (active.file.write_all_at(buf, active.at)).and_then(|()| active.file.sync_data());
        self.unknown |= written.is_err();
        written.map_err(|e| files::io("write", &active.path, &e))?;
        active.at += buf.len() as u64;
        self.last = seq;
        self.check = check;
        Ok(())
    }

    /// Finishes the active segment, if it has any frames, and begins the next.
    pub(crate) fn finish_segment(&mut self, epoch: u64, pool: &SegmentPool) -> Result<()> {
        let written = self.active.as_ref().map_or(0, |active| active.at);
        if written > SEGMENT_HEADER_LEN as u64 {
            return self.roll(0, epoch, pool);
        }
        Ok(())
    }

    /// Gives back the unwritten end of the active segment, except for the room that a small segment
    /// has. For a store that is closed: its last segment may be much larger than its content.
    /// Nothing is synced: if the change is lost, the segment is longer.
    pub(crate) fn trim(&mut self) {
        let Some(active) = self.active.as_mut() else {
            return;
        };
        let size = (active.at + SEGMENT_MIN).next_multiple_of(4096);
        if size < active.size && active.file.set_len(size).is_ok() {
            active.size = size;
        }
    }

    /// Returns the check of the last frame.
    pub(crate) fn check(&self) -> [u8; 16] {
        self.check
    }

    /// Finishes the active segment and begins the next. The active one stays until the next has its
    /// name.
    fn roll(&mut self, need: u64, epoch: u64, pool: &SegmentPool) -> Result<()> {
        let grown = self.active.as_ref().filter(|a| a.at * 2 > a.size);
        let next_size = grown.map_or(self.next_size, |active| active.size * 2);
        let next_size = next_size.clamp(SEGMENT_MIN, SEGMENT_MAX);
        let size = next_size.max(need + SEGMENT_HEADER_LEN as u64);
        let path = files::numbered_path(&self.dir, self.next_number, "seg");
        // Files are opened before any write: if too many are open, only this append fails.
        let dir = File::open(&self.dir).map_err(|e| files::io("open", &self.dir, &e))?;
        let (spare, file) = pool.spare(&self.dir, size)?;
        let header = SegmentHeader {
            store: self.store,
            number: self.next_number,
            epoch,
            first: self.last + 1,
            recycled: spare.used,
            prev: self.check,
        };
        // The header is synced before the rename: a file with a segment's name is a valid segment.
        let renamed = (file.write_all_at(&header.encode(), 0))
            .and_then(|()| file.sync_data())
            .and_then(|()| fs::rename(&spare.path, &path));
        if let Err(e) = renamed {
            // Nothing refers to the file, so it is removed; the next append takes another.
            let _ = fs::remove_file(&spare.path);
            return Err(files::io("begin", &path, &e));
        }
        let synced = dir.sync_all();
        self.unknown |= synced.is_err();
        synced.map_err(|e| files::io("sync", &self.dir, &e))?;
        self.next_number += 1;
        self.next_size = next_size;
        pool.count_taken(&spare);
        let active =
            ActiveSegment { header, path, file, at: SEGMENT_HEADER_LEN as u64, size: spare.size };
        if let Some(before) = self.active.replace(active) {
            pool.sealed.lock().push_back(SealedSegment {
                header: before.header,
                path: before.path,
                last: self.last,
                size: before.size,
            });
        }
        Ok(())
    }

    /// Returns the size of the next segment once the active one is more than half full. The applier
    /// then prepares a free segment.
    pub(crate) fn wants_spare(&self) -> Option<u64> {
        let active = self.active.as_ref()?;
        (active.at * 2 > active.size).then_some((active.size * 2).clamp(SEGMENT_MIN, SEGMENT_MAX))
    }
}
