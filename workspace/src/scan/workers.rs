//! Workers: hash the files of jobs. A job holds consecutive files of the walk, mostly of one
//! folder. Its small files are stored as one group.
//!
//! The work is bounded: at most [`JOBS`] jobs wait, each of at most [`JOB_BYTES`] or one large
//! file. A worker holds one job or one window of a large file. A job keeps few directories open.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use milepost::{Error, ErrorKind, Result};
use milepost_codec::{ChunkId, printable};

use super::file_reader::{self, How, Opened, SMALL_MAX, TRIES};
use super::upload::Storing;
use crate::chunks::Chunks;
use crate::fs::{Dir, Errno, Grain, Moment, Stamp};
use crate::tree::FileContent;

/// Maximum number of queued jobs.
pub(super) const JOBS: usize = 16;

/// Maximum size of a job's files in bytes, when they were scanned.
pub(super) const JOB_BYTES: u64 = 512 << 10;

/// Maximum numbers of a job's files and open directories.
pub(super) const JOB_FILES: usize = 512;
pub(super) const JOB_DIRECTORIES: usize = 12;

/// Destination of a file's result: folder in the assembly, and place in it.
pub(crate) type Ticket = (u32, u32);

/// A file to read.
pub(super) struct JobFile {
    pub(super) ticket: Ticket,
    pub(super) dir: Arc<Dir>,
    pub(super) name: Box<[u8]>,
    /// Number of the attempt, from 1.
    pub(super) attempt: u8,
}

/// Files to read one after another.
pub(super) struct Job {
    pub(super) files: Vec<JobFile>,
    /// Time of the file system before any of them is opened.
    pub(super) now: Moment,
}

/// Result of reading a file.
pub(super) enum Outcome {
    Read {
        content: FileContent,
        stamp: Stamp,
        settled: bool,
        unstable: bool,
    },
    /// Written to just now: read it again after the clock has advanced.
    Again,
    Gone,
    Denied,
    /// The entry is no longer a file.
    Other,
}

/// Results of a job, and the number of contents given to the store.
pub(super) type Done = Result<(Vec<(Ticket, u8, Outcome)>, u64)>;

/// Runs one worker until there are no more jobs.
pub(super) fn run(
    jobs: &Receiver<Job>,
    done: &Sender<Done>,
    chunks: &dyn Chunks,
    check_stored: bool,
    grain: &Grain,
) {
    let mut worker = Worker {
        storing: Storing::new(chunks, check_stored),
        grain,
        small: Vec::new(),
        window: Vec::new(),
    };
    for job in jobs {
        worker.storing.stored = 0;
        let result = worker.job(job);
        let stored = worker.storing.stored;
        if done.send(result.map(|outcomes| (outcomes, stored))).is_err() {
            return;
        }
    }
}

/// A small file in the buffer of a job.
struct SmallFile {
    ticket: Ticket,
    attempt: u8,
    from: usize,
    to: usize,
    stamp: Stamp,
    settled: bool,
    unstable: bool,
}

struct Worker<'a> {
    storing: Storing<'a>,
    grain: &'a Grain,
    /// The small files of a job, one after another.
    small: Vec<u8>,
    /// A window of a large file.
    window: Vec<u8>,
}

impl Worker<'_> {
    fn job(&mut self, job: Job) -> Result<Vec<(Ticket, u8, Outcome)>> {
        let mut outcomes = Vec::with_capacity(job.files.len());
        let mut small_files = Vec::new();
        self.small.clear();
        for file in &job.files {
            if let Some(outcome) = self.file(file, job.now, &mut small_files)? {
                outcomes.push((file.ticket, file.attempt, outcome));
            }
            // Bounds the buffer if files grew since they were scanned.
            if self.small.len() as u64 > JOB_BYTES {
                self.store(std::mem::take(&mut small_files), &mut outcomes)?;
                self.small.clear();
            }
        }
        drop(job);
        self.store(small_files, &mut outcomes)?;
        Ok(outcomes)
    }

    /// Reads one file. A small one stays in the buffer, to be stored with its neighbours.
    fn file(
        &mut self,
        file: &JobFile,
        now: Moment,
        small_files: &mut Vec<SmallFile>,
    ) -> Result<Option<Outcome>> {
        let failed = |e: Errno| {
            let message = format!("cannot read {}: {e}", printable(&file.name));
            Error::new(ErrorKind::Unavailable, message).with_source(std::io::Error::from(e))
        };
        let (mut opened, stamp) =
            match file_reader::open(file.dir.file(&file.name)).map_err(failed)? {
                Opened::File(opened, stamp) => (opened, stamp),
                Opened::Gone => return Ok(Some(Outcome::Gone)),
                Opened::Denied => return Ok(Some(Outcome::Denied)),
                Opened::Other => return Ok(Some(Outcome::Other)),
            };
        let grain_ns = self.grain.ns();
        if file.attempt == 1 && stamp.racy(now, grain_ns) {
            return Ok(Some(Outcome::Again));
        }
        let last = file.attempt >= TRIES;
        let settled = stamp.settled(now, grain_ns);
        if stamp.size > SMALL_MAX {
            let (storing, window) = (&mut self.storing, &mut self.window);
            let read = file_reader::large(&mut opened, &stamp, now, grain_ns, storing, window)?;
            return Ok(Some(match read {
                None => Outcome::Denied,
                Some((_, How::Changed)) if !last => Outcome::Again,
                Some((content, how)) => Outcome::Read {
                    content,
                    stamp,
                    settled: settled && how == How::Well,
                    unstable: how == How::Changed,
                },
            }));
        }
        let from = self.small.len();
        let read = file_reader::read_whole(&mut opened, &stamp, now, grain_ns, &mut self.small);
        let outcome = match read {
            Ok(How::Changed) if !last => Outcome::Again,
            Err(_) => Outcome::Denied,
            Ok(how) => {
                small_files.push(SmallFile {
                    ticket: file.ticket,
                    attempt: file.attempt,
                    from,
                    to: self.small.len(),
                    stamp,
                    settled: settled && how == How::Well,
                    unstable: how == How::Changed,
                });
                return Ok(None);
            }
        };
        self.small.truncate(from);
        Ok(Some(outcome))
    }

    /// Stores the small files of a job together.
    fn store(
        &mut self,
        small_files: Vec<SmallFile>,
        outcomes: &mut Vec<(Ticket, u8, Outcome)>,
    ) -> Result<()> {
        let bytes_of = |file: &SmallFile| self.small.get(file.from..file.to).unwrap_or_default();
        let mut counts = Vec::with_capacity(small_files.len());
        let mut pieces: Vec<&[u8]> = Vec::with_capacity(small_files.len());
        for file in &small_files {
            let cut = file_reader::cut(bytes_of(file));
            counts.push(cut.len());
            pieces.extend(cut);
        }
        let ids = self.storing.put(&pieces)?;
        let mut ids = ids.into_iter().zip(pieces.iter().map(|piece| piece.len()));
        for (file, count) in small_files.iter().zip(counts) {
            let pieces: Vec<(ChunkId, usize)> = ids.by_ref().take(count).collect();
            let bytes = self.small.get(file.from..file.to).unwrap_or_default();
            let outcome = Outcome::Read {
                content: file_reader::content_of(bytes, &pieces, &mut self.storing)?,
                stamp: file.stamp,
                settled: file.settled,
                unstable: file.unstable,
            };
            outcomes.push((file.ticket, file.attempt, outcome));
        }
        Ok(())
    }
}
