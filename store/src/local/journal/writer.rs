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

use std::collections::VecDeque;
use std::fs;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost_codec::{
    Error, Result, SEGMENT_HEADER_LEN, SegmentHeader, Seq, StoreId, StoreKey, seal_frame,
};
use parking_lot::Mutex;

use crate::files;
use crate::metrics::Meters;

/// The initial size of segments, which keeps a small store small.
const SEGMENT_MIN: u64 = 256 << 10;
/// The size that segments grow to. A larger frame gets a segment of its own size.
const SEGMENT_MAX: u64 = 8 << 20;

/// The maximum number of free segments under load: a recycled segment need not be filled with
/// zeros. An idle store keeps one.
const SPARES_MAX: usize = 8;

/// A finished segment.
#[derive(Debug, Clone)]
pub(crate) struct SealedSegment {
    pub(crate) header: SegmentHeader,
    pub(crate) path: PathBuf,
    /// Its last commit.
    pub(crate) last: Seq,
    pub(crate) size: u64,
}

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

/// Segments on their way from the writer to the archive and back.
#[derive(Debug)]
pub(crate) struct SegmentPool {
    /// Finished segments, oldest first, waiting to be applied and archived.
    pub(crate) sealed: Mutex<VecDeque<SealedSegment>>,
    /// Free segments.
    spare: Mutex<Vec<FreeSegment>>,
    /// The number of the next new free segment, for a unique name.
    made: AtomicU64,
    meters: Arc<Meters>,
}

/// A free segment.
#[derive(Debug)]
struct FreeSegment {
    path: PathBuf,
    size: u64,
    /// Set if it holds old frames.
    used: bool,
}

/// The end of the journal, as recovery found it.
#[derive(Debug)]
pub(crate) struct JournalEnd {
    pub(crate) active: Option<ActiveSegment>,
    pub(crate) last: Seq,
    /// Set if the last commit only says that the store was closed.
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
        shelf: &SegmentPool,
        key: Option<&StoreKey>,
    ) -> Result<()> {
        assert_eq!(seq, self.last + 1, "commits follow each other");
        let need = (buf.len() as u64).next_multiple_of(8);
        if self.active.as_ref().is_none_or(|a| a.at + need > a.size) {
            self.roll(need, epoch, shelf)?;
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
    pub(crate) fn finish_segment(&mut self, epoch: u64, shelf: &SegmentPool) -> Result<()> {
        let begun = self.active.as_ref().map_or(0, |active| active.at);
        if begun > SEGMENT_HEADER_LEN as u64 {
            return self.roll(0, epoch, shelf);
        }
        Ok(())
    }

    /// Returns the check of the last frame.
    pub(crate) fn check(&self) -> [u8; 16] {
        self.check
    }

    /// Finishes the active segment and begins the next. The active one stays until the next has its
    /// name.
    fn roll(&mut self, need: u64, epoch: u64, shelf: &SegmentPool) -> Result<()> {
        let grown = self.active.as_ref().filter(|a| a.at * 2 > a.size);
        let next_size = grown.map_or(self.next_size, |active| active.size * 2);
        let next_size = next_size.clamp(SEGMENT_MIN, SEGMENT_MAX);
        let size = next_size.max(need + SEGMENT_HEADER_LEN as u64);
        let path = files::numbered_path(&self.dir, self.next_number, "seg");
        // Files are opened before any write: if too many are open, only this append fails.
        let dir = File::open(&self.dir).map_err(|e| files::io("open", &self.dir, &e))?;
        let (spare, file) = shelf.spare(&self.dir, size)?;
        let header = SegmentHeader {
            store: self.store,
            number: self.next_number,
            epoch,
            first: self.last + 1,
            recycled: spare.used,
            prev: self.check,
        };
        // The header is synced before the rename: a file with a segment's name is a valid segment.
        let named = (file.write_all_at(&header.encode(), 0))
            .and_then(|()| file.sync_data())
            .and_then(|()| fs::rename(&spare.path, &path));
        if let Err(e) = named {
            // Nothing refers to the file, so it is removed; the next append takes another.
            let _ = fs::remove_file(&spare.path);
            return Err(files::io("begin", &path, &e));
        }
        let synced = dir.sync_all();
        self.unknown |= synced.is_err();
        synced.map_err(|e| files::io("sync", &self.dir, &e))?;
        self.next_number += 1;
        self.next_size = next_size;
        shelf.meters.segments.add(1);
        shelf.meters.segments_recycled.add(u64::from(spare.used));
        let active =
            ActiveSegment { header, path, file, at: SEGMENT_HEADER_LEN as u64, size: spare.size };
        if let Some(before) = self.active.replace(active) {
            shelf.sealed.lock().push_back(SealedSegment {
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

impl SegmentPool {
    pub(crate) fn new(meters: Arc<Meters>) -> Self {
        Self { sealed: Mutex::default(), spare: Mutex::default(), made: AtomicU64::new(0), meters }
    }

    /// Takes and opens a free segment of at least `size` bytes, or creates one. A segment that
    /// cannot be opened stays free.
    fn spare(&self, dir: &Path, size: u64) -> Result<(FreeSegment, File)> {
        let taken = {
            let mut spare = self.spare.lock();
            let at = spare.iter().position(|spare| spare.size >= size);
            at.map(|at| spare.swap_remove(at))
        };
        let Some(spare) = taken else {
            return self.make_spare(dir, size);
        };
        match files::open_rw(&spare.path) {
            Ok(file) => Ok((spare, file)),
            Err(error) => {
                self.spare.lock().push(spare);
                Err(error)
            }
        }
    }

    /// Ensures that a segment of at least `size` bytes is free.
    pub(crate) fn ensure_spare(&self, dir: &Path, size: u64) -> Result<()> {
        if self.spare.lock().iter().any(|spare| spare.size >= size) {
            return Ok(());
        }
        let (spare, _) = self.make_spare(dir, size)?;
        self.spare.lock().push(spare);
        Ok(())
    }

    /// Takes back an archived segment: keeps some of the largest size for reuse, and removes the
    /// others.
    pub(crate) fn recycle(&self, dir: &Path, sealed: &SealedSegment) -> Result<()> {
        let keep = sealed.size == SEGMENT_MAX && self.spare.lock().len() < SPARES_MAX;
        if keep {
            let path = dir.join(format!("spare-{:010}.seg", sealed.header.number));
            fs::rename(&sealed.path, &path).map_err(|e| files::io("recycle", &path, &e))?;
            // The rename is synced before the file is written to, so that its old name cannot come
            // back.
            files::sync_dir(dir)?;
            let (size, used) = (sealed.size, true);
            self.spare.lock().push(FreeSegment { path, size, used });
            return Ok(());
        }
        fs::remove_file(&sealed.path).map_err(|e| files::io("remove", &sealed.path, &e))?;
        files::sync_dir(dir)
    }

    /// Returns `true` if there are more free segments than an idle store keeps.
    pub(crate) fn has_too_many(&self) -> bool {
        self.spare.lock().len() > 1
    }

    /// Removes all free segments but one.
    pub(crate) fn rest(&self, dir: &Path) -> Result<()> {
        let more = {
            let mut spare = self.spare.lock();
            let one = 1.min(spare.len());
            spare.split_off(one)
        };
        for spare in &more {
            let path = &spare.path;
            fs::remove_file(path).map_err(|e| files::io("remove", path, &e))?;
        }
        match more.is_empty() {
            true => Ok(()),
            false => files::sync_dir(dir),
        }
    }

    /// Removes all free segments: they may hold old frames.
    pub(crate) fn discard(&self, dir: &Path) -> Result<()> {
        for spare in std::mem::take(&mut *self.spare.lock()) {
            let path = &spare.path;
            fs::remove_file(path).map_err(|e| files::io("remove", path, &e))?;
        }
        files::sync_dir(dir)
    }

    /// Adopts the free segments of an earlier process: keeps one of the largest size, and removes
    /// the others.
    pub(crate) fn adopt(&self, dir: &Path) -> Result<()> {
        for entry in fs::read_dir(dir).map_err(|e| files::io("list", dir, &e))?.flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if !name.to_string_lossy().starts_with("spare-") {
                continue;
            }
            let size = entry.metadata().map(|m| m.len()).unwrap_or(0);
            let mut spare = self.spare.lock();
            if spare.is_empty() && size == SEGMENT_MAX {
                let used = true;
                spare.push(FreeSegment { path, size, used });
            } else {
                fs::remove_file(&path).map_err(|e| files::io("remove", &path, &e))?;
            }
        }
        files::sync_dir(dir)
    }

    /// Creates a file of zeros, written and synced, so that later writes change no metadata.
    fn make_spare(&self, dir: &Path, size: u64) -> Result<(FreeSegment, File)> {
        let path = loop {
            let number = self.made.fetch_add(1, Ordering::Relaxed);
            let path = dir.join(format!("spare-new-{number}.seg"));
            // The number may belong to a segment of an earlier opening.
            if !path.exists() {
                break path;
            }
        };
        let file = files::open_rw(&path)?;
        if let Err(e) = fill_with_zeros(&file, size) {
            // The file is no segment yet; removing it frees its space.
            let _ = fs::remove_file(&path);
            return Err(files::io("write", &path, &e));
        }
        let used = false;
        Ok((FreeSegment { path, size, used }, file))
    }
}

fn fill_with_zeros(file: &File, size: u64) -> std::io::Result<()> {
    let zeros = vec![0_u8; 256 << 10];
    let mut at = 0;
    while at < size {
        let len = usize::try_from(size - at).unwrap_or(usize::MAX).min(zeros.len());
        file.write_all_at(zeros.split_at(len).0, at)?;
        at += len as u64;
    }
    file.sync_all()
}
