//! The journal: frames appended to segments, one sync for each.
//!
//! # Format
//!
//! A segment is a header and frames (`docs/FORMAT.md`). Its blocks have been written before it is
//! used, so that a sync has no metadata to write: a fresh one is filled with zeros, a recycled one
//! holds old frames, which their epoch tells apart.
//!
//! # Sync
//!
//! `append` returns after `fdatasync`. After an error nothing more is written: the pages of a
//! failed sync are lost though the next sync says it went well, so the outcome of that append is
//! unknown until the store is opened again.

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

/// Segments start at this size, so that a small store is small, and grow to the largest.
const SEGMENT_MIN: u64 = 256 << 10;
/// The size that segments grow to. A larger frame gets a segment of its own size.
const SEGMENT_MAX: u64 = 8 << 20;

/// So many free segments are kept while there is much to do: what is written to again need not be
/// filled with zeros first. At rest it is one.
const SPARES_MAX: usize = 8;

/// A segment that is finished.
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

/// The writing end of the journal.
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
    /// A write or sync of a segment failed, or one of the folder behind a new name: what the disk
    /// has is unknown.
    unknown: bool,
}

/// Segments between the writer, the archiver and back.
#[derive(Debug)]
pub(crate) struct SegmentPool {
    /// Finished, oldest first, waiting to be applied and archived.
    pub(crate) sealed: Mutex<VecDeque<SealedSegment>>,
    /// Free to be used.
    spare: Mutex<Vec<FreeSegment>>,
    /// Gives each new spare a name of its own.
    made: AtomicU64,
    meters: Arc<Meters>,
}

/// A segment that is free to be used.
#[derive(Debug)]
struct FreeSegment {
    path: PathBuf,
    size: u64,
    /// Whether it holds old frames.
    used: bool,
}

/// Where the journal ends, as recovery found it.
#[derive(Debug)]
pub(crate) struct JournalEnd {
    pub(crate) active: Option<ActiveSegment>,
    pub(crate) last: Seq,
    /// Whether the last commit only says that the store was closed.
    pub(crate) closed: bool,
    pub(crate) check: [u8; 16],
    pub(crate) next_number: u64,
    pub(crate) next_size: u64,
}

impl JournalEnd {
    /// The last commit that somebody may have been told of.
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

    /// Returns `true` after an error that leaves unknown what the disk has. After any other nothing
    /// was written, and the next append may succeed.
    pub(crate) fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// Writes one frame and syncs. `buf` is a frame's payload behind room for its header. A segment
    /// that cannot be made refuses the frame and leaves the journal as it was.
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

    /// Finishes the segment that is written to, where it holds anything, and begins the next.
    pub(crate) fn finish_segment(&mut self, epoch: u64, shelf: &SegmentPool) -> Result<()> {
        let begun = self.active.as_ref().map_or(0, |active| active.at);
        if begun > SEGMENT_HEADER_LEN as u64 {
            return self.roll(0, epoch, shelf);
        }
        Ok(())
    }

    /// The check of the last frame.
    pub(crate) fn check(&self) -> [u8; 16] {
        self.check
    }

    /// Finishes the active segment and begins the next. Until the next is there under its name the
    /// active one stays.
    fn roll(&mut self, need: u64, epoch: u64, shelf: &SegmentPool) -> Result<()> {
        let grown = self.active.as_ref().filter(|a| a.at * 2 > a.size);
        let next_size = grown.map_or(self.next_size, |active| active.size * 2);
        let next_size = next_size.clamp(SEGMENT_MIN, SEGMENT_MAX);
        let size = next_size.max(need + SEGMENT_HEADER_LEN as u64);
        let path = files::numbered_path(&self.dir, self.next_number, "seg");
        // All that is opened is opened first: too many open files refuse one append.
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
        // The header is synced under the spare name: once the name is a segment's, so is the file.
        let named = (file.write_all_at(&header.encode(), 0))
            .and_then(|()| file.sync_data())
            .and_then(|()| fs::rename(&spare.path, &path));
        if let Err(e) = named {
            // Nothing names it: it goes, and the next append takes another.
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

    /// The size the next segment will have, and whether the active one is more than half full:
    /// whoever works in the background makes a spare then.
    pub(crate) fn wants_spare(&self) -> Option<u64> {
        let active = self.active.as_ref()?;
        (active.at * 2 > active.size).then_some((active.size * 2).clamp(SEGMENT_MIN, SEGMENT_MAX))
    }
}

impl SegmentPool {
    pub(crate) fn new(meters: Arc<Meters>) -> Self {
        Self { sealed: Mutex::default(), spare: Mutex::default(), made: AtomicU64::new(0), meters }
    }

    /// Takes a segment of at least `size` that is free, and makes one where none is; opened. One
    /// that cannot be opened stays free.
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

    /// Makes sure that a segment of at least `size` is free.
    pub(crate) fn ensure_spare(&self, dir: &Path, size: u64) -> Result<()> {
        if self.spare.lock().iter().any(|spare| spare.size >= size) {
            return Ok(());
        }
        let (spare, _) = self.make_spare(dir, size)?;
        self.spare.lock().push(spare);
        Ok(())
    }

    /// Takes back a segment that is archived: some of the largest size are kept to be used again,
    /// any other is removed.
    pub(crate) fn recycle(&self, dir: &Path, sealed: &SealedSegment) -> Result<()> {
        let keep = sealed.size == SEGMENT_MAX && self.spare.lock().len() < SPARES_MAX;
        if keep {
            let path = dir.join(format!("spare-{:010}.seg", sealed.header.number));
            fs::rename(&sealed.path, &path).map_err(|e| files::io("recycle", &path, &e))?;
            // The name first: once the file is written to, its old name must not come back.
            files::sync_dir(dir)?;
            let (size, used) = (sealed.size, true);
            self.spare.lock().push(FreeSegment { path, size, used });
            return Ok(());
        }
        fs::remove_file(&sealed.path).map_err(|e| files::io("remove", &sealed.path, &e))?;
        files::sync_dir(dir)
    }

    /// Whether there are more free segments than are of use where nothing is to be done.
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

    /// Takes in what is left of spares from before, and removes all but one of the largest size.
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

    /// Makes a file of zeros, written and synced, so that writing into it changes no metadata.
    fn make_spare(&self, dir: &Path, size: u64) -> Result<(FreeSegment, File)> {
        let path = loop {
            let number = self.made.fetch_add(1, Ordering::Relaxed);
            let path = dir.join(format!("spare-new-{number}.seg"));
            // One of an earlier opening may have been kept.
            if !path.exists() {
                break path;
            }
        };
        let file = files::open_rw(&path)?;
        if let Err(e) = fill_with_zeros(&file, size) {
            // It is no segment yet: without it there is more room.
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
