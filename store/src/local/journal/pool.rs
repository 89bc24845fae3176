//! The pool of segments: finished ones that wait for the archive, and free ones for the writer.

use std::collections::VecDeque;
use std::fs;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost_codec::{Error, Result, SegmentHeader, Seq};
use parking_lot::Mutex;

use crate::files::{self, FolderHandle};
use crate::metrics::Meters;

/// The size that segments grow to. A larger frame gets a segment of its own size.
pub(super) const SEGMENT_MAX: u64 = 8 << 20;

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

/// Segments on their way from the writer to the archive and back.
#[derive(Debug)]
pub(crate) struct SegmentPool {
    /// Finished segments, oldest first, waiting to be applied and archived.
    pub(crate) sealed: Mutex<VecDeque<SealedSegment>>,
    /// Set after the oldest finished segment could not be archived.
    failure: Mutex<Option<ArchiveFailure>>,
    /// Free segments.
    spare: Mutex<Vec<FreeSegment>>,
    /// The number of the next new free segment, for a unique name.
    next_number: AtomicU64,
    meters: Arc<Meters>,
}

/// Why finished segments stay in the journal.
#[derive(Debug)]
struct ArchiveFailure {
    error: Error,
    /// The finished segments at that time: one more starts the next attempt.
    sealed: usize,
}

/// A free segment.
#[derive(Debug)]
pub(super) struct FreeSegment {
    pub(super) path: PathBuf,
    pub(super) size: u64,
    /// Set if it holds old frames.
    pub(super) used: bool,
}

impl SegmentPool {
    pub(crate) fn new(meters: Arc<Meters>) -> Self {
        Self {
            sealed: Mutex::default(),
            failure: Mutex::default(),
            spare: Mutex::default(),
            next_number: AtomicU64::new(0),
            meters,
        }
    }

    /// Returns the last commit of the first finished segment that has commits after `seq`.
    pub(crate) fn sealed_after(&self, seq: Seq) -> Option<Seq> {
        self.sealed.lock().iter().map(|sealed| sealed.last).find(|last| *last > seq)
    }

    /// Keeps the finished segments until [`SegmentPool::retry_archiving`], or until one more is
    /// finished.
    pub(crate) fn record_failure(&self, error: Error) {
        tracing::warn!("a finished journal segment is not archived yet: {error}");
        let sealed = self.sealed.lock().len();
        *self.failure.lock() = Some(ArchiveFailure { error, sealed });
    }

    /// Returns `true` while an attempt to archive has failed and none is due.
    pub(crate) fn is_held(&self) -> bool {
        let sealed = self.sealed.lock().len();
        self.failure.lock().as_ref().is_some_and(|failure| sealed <= failure.sealed)
    }

    /// Makes the next attempt to archive due, and returns the error of the last one if it failed.
    pub(crate) fn retry_archiving(&self) -> Option<Error> {
        self.failure.lock().take().map(|failure| failure.error)
    }

    /// Counts a segment that the writer begins.
    pub(super) fn count_taken(&self, spare: &FreeSegment) {
        self.meters.segments.add(1);
        self.meters.segments_recycled.add(u64::from(spare.used));
    }

    /// Takes and opens a free segment of at least `size` bytes, or creates one. A segment that
    /// cannot be opened stays free.
    pub(super) fn spare(&self, dir: &Path, size: u64) -> Result<(FreeSegment, File)> {
        let reusable = {
            let mut spare = self.spare.lock();
            let at = spare.iter().position(|spare| spare.size >= size);
            at.map(|at| spare.swap_remove(at))
        };
        let Some(spare) = reusable else {
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

    /// Recycles an archived segment: keeps some of the largest size for reuse, and removes the
    /// others.
    pub(crate) fn recycle(&self, folder: &FolderHandle, sealed: &SealedSegment) -> Result<()> {
        let is_reusable = sealed.size == SEGMENT_MAX && self.spare.lock().len() < SPARES_MAX;
        if is_reusable {
            let path = folder.path().join(format!("spare-{:010}.seg", sealed.header.number));
            fs::rename(&sealed.path, &path).map_err(|e| files::io("recycle", &path, &e))?;
            // The rename is synced before the file is written to, so that its old name cannot come
            // back.
            folder.sync()?;
            let (size, used) = (sealed.size, true);
            self.spare.lock().push(FreeSegment { path, size, used });
            return Ok(());
        }
        fs::remove_file(&sealed.path).map_err(|e| files::io("remove", &sealed.path, &e))?;
        folder.sync()
    }

    /// Returns `true` if there are more free segments than an idle store keeps.
    pub(crate) fn has_too_many(&self) -> bool {
        self.spare.lock().len() > 1
    }

    /// Returns `true` if any segment is free.
    pub(crate) fn has_spare(&self) -> bool {
        !self.spare.lock().is_empty()
    }

    /// Removes all free segments but one, which is a recycled one if there is any.
    pub(crate) fn rest(&self, dir: &Path) -> Result<()> {
        let more = {
            let mut spare = self.spare.lock();
            spare.sort_by_key(|spare| !spare.used);
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

    /// Removes all free segments, which may hold old frames.
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
            let number = self.next_number.fetch_add(1, Ordering::Relaxed);
            let path = dir.join(format!("spare-new-{number}.seg"));
            // The number may belong to a segment of an earlier opening.
            if !path.exists() {
                break path;
            }
        };
        let file = files::open_rw(&path)?;
        if let Err(e) = fill_with_zeros(&file, size) {
            // The file is not a segment yet; removing it frees its space.
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
