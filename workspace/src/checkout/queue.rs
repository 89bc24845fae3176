//! Jobs for writing threads: files gather until a job is full. If the queue is full, the walk
//! writes the job itself, so one thread is enough. The other threads start with the first full job:
//! the walk alone writes small trees.
//!
//! The files of a job are adjacent, mostly in the same group of chunks. A job holds names and no
//! contents: a writer holds one chunk at a time.

use std::io::Write as _;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::Scope;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded, unbounded};
use milepost::internals::threads;
use milepost::{Error, ErrorKind, Result};
use milepost_codec::{Item, Name, TreePath};

use super::target_dir::Place;
use crate::chunks::Chunks;
use crate::error;
use crate::fs::set_bits;
use crate::tree::FileReader;

/// Maximum number of queued jobs.
const JOBS: usize = 16;

/// Maximum size of a job's files in bytes, unless a single file is larger.
const JOB_BYTES: u64 = 512 << 10;

/// Maximum numbers of a job's files, and of folders that it keeps open.
const JOB_FILES: usize = 512;
const JOB_PLACES: usize = 12;

/// A file to write.
pub(super) struct NewFile {
    place: Arc<Place>,
    name: Name,
    path: TreePath,
    item: Item,
}

impl NewFile {
    pub(super) fn new(place: &Arc<Place>, name: Name, path: TreePath, item: Item) -> Self {
        Self { place: place.one_more(), name, path, item }
    }

    fn write(&self, chunks: &Arc<dyn Chunks>) -> Result<()> {
        let failed = |e| error::below("write", self.path.as_bytes(), e);
        let made = self.place.dir().make_file(self.name.as_bytes());
        let mut file = made.map_err(failed)?;
        if let Some(mut content) = FileReader::open(Arc::clone(chunks), &self.item.kind) {
            while let Some(chunk) = content.next_chunk().map_err(|e| e.at(&self.path))? {
                file.write_all(&chunk).map_err(|e| {
                    let message = format!("cannot write {}: {e}", self.path);
                    Error::new(ErrorKind::Unavailable, message)
                })?;
            }
        }
        set_bits(file.as_fd(), self.item.mode).map_err(failed)?;
        self.place.one_less()
    }
}

type Job = Vec<NewFile>;

fn write(job: &Job, chunks: &Arc<dyn Chunks>) -> Result<()> {
    job.iter().try_for_each(|file| file.write(chunks))
}

/// Channels to the other threads.
struct Others {
    jobs: Sender<Job>,
    /// Receiver for jobs that no thread has taken.
    queue: Receiver<Job>,
    done: Receiver<Result<()>>,
}

/// Queue of files to write.
pub(super) struct Jobs<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    chunks: &'env Arc<dyn Chunks>,
    writers: usize,
    others: Option<Others>,
    files: Job,
    bytes: u64,
    places: usize,
}

impl<'scope, 'env> Jobs<'scope, 'env> {
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        chunks: &'env Arc<dyn Chunks>,
        writers: usize,
    ) -> Self {
        Self { scope, chunks, writers, others: None, files: Vec::new(), bytes: 0, places: 0 }
    }

    /// Adds a file. The error can be that of any file added before.
    pub(super) fn take(&mut self, file: NewFile) -> Result<()> {
        let len = file.item.kind.file_len().unwrap_or_default();
        let is_other = |last: &NewFile| !Arc::ptr_eq(&last.place, &file.place);
        let other = self.files.last().is_none_or(is_other);
        if self.bytes.saturating_add(len) > JOB_BYTES
            || self.files.len() >= JOB_FILES
            || (other && self.places >= JOB_PLACES)
        {
            self.send()?;
        }
        self.bytes = self.bytes.saturating_add(len);
        self.places += usize::from(other);
        self.files.push(file);
        Ok(())
    }

    /// Waits until all files are written.
    pub(super) fn settle(&mut self) -> Result<()> {
        let last = self.gathered();
        let Some(Others { jobs, queue, done }) = self.others.take() else {
            return write(&last, self.chunks);
        };
        // The threads end when there are no more jobs.
        drop(jobs);
        let written = write(&last, self.chunks)
            .and_then(|()| queue.try_iter().try_for_each(|job| write(&job, self.chunks)))
            .and_then(|()| done.iter().collect());
        if written.is_err() {
            queue.try_iter().for_each(drop);
        }
        written
    }

    /// Ends the queue. After a successful walk, waits until all files are written; otherwise drops
    /// jobs that no thread has begun.
    pub(super) fn finish(mut self, walked: Result<()>) -> Result<()> {
        match walked {
            Ok(()) => self.settle(),
            Err(error) => {
                if let Some(Others { jobs, queue, .. }) = self.others.take() {
                    drop(jobs);
                    queue.try_iter().for_each(drop);
                }
                Err(error)
            }
        }
    }

    fn gathered(&mut self) -> Job {
        (self.bytes, self.places) = (0, 0);
        std::mem::take(&mut self.files)
    }

    fn send(&mut self) -> Result<()> {
        let job = self.gathered();
        if job.is_empty() {
            return Ok(());
        }
        if self.writers <= 1 {
            return write(&job, self.chunks);
        }
        if self.others.is_none() {
            self.others = Some(self.start()?);
        }
        let Some(others) = &self.others else {
            return Ok(());
        };
        match others.jobs.try_send(job) {
            Ok(()) => {}
            Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => {
                write(&job, self.chunks)?;
            }
        }
        others.done.try_iter().collect()
    }

    fn start(&self) -> Result<Others> {
        let (jobs, queue) = bounded::<Job>(JOBS);
        let (finished, done) = unbounded();
        for _ in 1..self.writers {
            let (queue, finished, chunks) = (queue.clone(), finished.clone(), self.chunks);
            threads::start_in(self.scope, "checkout", move || {
                for job in queue {
                    let written = write(&job, chunks);
                    let ends = written.is_err();
                    drop(job);
                    if finished.send(written).is_err() || ends {
                        return;
                    }
                }
            })?;
        }
        Ok(Others { jobs, queue, done })
    }
}
