//! Jobs for the workers: files gather until a job is full. Workers start with the first job, so a
//! scan that reads nothing starts none.

use std::thread::Scope;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded, unbounded};
use milepost::internals::threads;
use milepost::{Error, ErrorKind, Result};

use super::SharedDir;
use super::file_reader::SMALL_MAX;
use super::workers::{self, Done, JOB_BYTES, JOB_DIRECTORIES, JOB_FILES, JOBS, Job, JobFile};
use crate::chunks::Chunks;
use crate::fs::{Grain, Moment};

/// The workers of one scan.
pub(super) struct Jobs<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    workers: usize,
    chunks: &'env dyn Chunks,
    check_stored: bool,
    grain: &'env Grain,
    lines: Option<(Sender<Job>, Receiver<Done>)>,
    /// Number of jobs without a result.
    in_progress: usize,
    files: Vec<JobFile>,
    bytes: u64,
    directories: usize,
}

impl<'scope, 'env> Jobs<'scope, 'env> {
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        workers: usize,
        chunks: &'env dyn Chunks,
        check_stored: bool,
        grain: &'env Grain,
    ) -> Self {
        Self {
            scope,
            workers,
            chunks,
            check_stored,
            grain,
            lines: None,
            in_progress: 0,
            files: Vec::new(),
            bytes: 0,
            directories: 0,
        }
    }

    /// Adds a file of about `len` bytes. Appends results that arrived to `done`.
    pub(super) fn take(
        &mut self,
        file: JobFile,
        len: u64,
        now: Moment,
        done: &mut Vec<Done>,
    ) -> Result<()> {
        if len > SMALL_MAX {
            let files = vec![file];
            return self.send(Job { files, now }, done);
        }
        if self.bytes + len > JOB_BYTES || self.files.len() >= JOB_FILES {
            self.flush(now, done)?;
        }
        let same = |last: &JobFile| SharedDir::ptr_eq(&last.dir, &file.dir);
        if !self.files.last().is_some_and(same) {
            if self.directories >= JOB_DIRECTORIES {
                self.flush(now, done)?;
            }
            self.directories += 1;
        }
        self.bytes += len;
        self.files.push(file);
        Ok(())
    }

    /// Sends the gathered files.
    pub(super) fn flush(&mut self, now: Moment, done: &mut Vec<Done>) -> Result<()> {
        (self.bytes, self.directories) = (0, 0);
        let files = std::mem::take(&mut self.files);
        if files.is_empty() {
            return Ok(());
        }
        self.send(Job { files, now }, done)
    }

    /// Returns the next result; `None` if no job is under way.
    pub(super) fn next(&mut self) -> Result<Option<Done>> {
        let Some((_, results)) = self.lines.as_ref().filter(|_| self.in_progress > 0) else {
            return Ok(None);
        };
        let result = results.recv().map_err(|_| readers_ended())?;
        self.in_progress -= 1;
        Ok(Some(result))
    }

    fn send(&mut self, job: Job, done: &mut Vec<Done>) -> Result<()> {
        if self.lines.is_none() {
            self.lines = Some(self.start()?);
        }
        let Some((jobs, results)) = &self.lines else {
            return Ok(());
        };
        let mut job = Some(job);
        while let Some(next) = job.take() {
            match jobs.try_send(next) {
                Ok(()) => self.in_progress += 1,
                Err(TrySendError::Full(back)) => {
                    job = Some(back);
                    done.push(results.recv().map_err(|_| readers_ended())?);
                    self.in_progress -= 1;
                }
                Err(TrySendError::Disconnected(_)) => return Err(readers_ended()),
            }
        }
        while let Ok(result) = results.try_recv() {
            done.push(result);
            self.in_progress -= 1;
        }
        Ok(())
    }

    fn start(&self) -> Result<(Sender<Job>, Receiver<Done>)> {
        let (jobs, received) = bounded(JOBS);
        let (finished, results) = unbounded();
        for _ in 0..self.workers {
            let (received, finished) = (received.clone(), finished.clone());
            let (chunks, check_stored, grain) = (self.chunks, self.check_stored, self.grain);
            threads::start_in(self.scope, "scan", move || {
                workers::run(&received, &finished, chunks, check_stored, grain);
            })?;
        }
        Ok((jobs, results))
    }
}

fn readers_ended() -> Error {
    Error::new(ErrorKind::Unavailable, "those who read files have ended")
}
