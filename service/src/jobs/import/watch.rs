//! Progress and notes of a conversion, passed on to the listener of a job.

use std::io;

use milepost_api::{Big, JobNote, JobProgress};
use milepost_formats::{Durable, Note, Progress, Unit, Work};

use super::failures::InputFailure;
use super::importer::Acknowledge;
use crate::jobs::Told;

/// Most lines, files or checkpoints of an input that have a note because they are skipped.
const SKIPPED_MAX: u64 = 20;

/// Number of reports about a piece of work.
const REPORTS: u64 = 256;

/// The progress of one input.
pub(crate) struct Watch<'a> {
    told: Told<'a>,
    acknowledge: Acknowledge<'a>,
    /// The name of the input.
    input: &'a str,
    step: String,
    total: Option<u64>,
    is_bytes: bool,
    done: u64,
    reported: u64,
    /// The number of skipped lines, files or checkpoints.
    skipped: u64,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(input: &'a str, told: Told<'a>, acknowledge: Acknowledge<'a>) -> Self {
        Self {
            told,
            acknowledge,
            input,
            step: String::new(),
            total: None,
            is_bytes: false,
            done: 0,
            reported: 0,
            skipped: 0,
        }
    }
}

impl Progress for Watch<'_> {
    fn begin(&mut self, work: Work<'_>) {
        self.step = work.name.to_owned();
        self.total = work.total;
        self.is_bytes = work.unit == Unit::Bytes;
        (self.done, self.reported) = (0, 0);
    }

    fn advance(&mut self, done: u64) {
        self.done = self.done.saturating_add(done);
        // A pipe has no measurable progress.
        let Some(total) = self.total else {
            return;
        };
        if self.done - self.reported < total / REPORTS {
            return;
        }
        self.reported = self.done;
        self.told.progress(JobProgress {
            step: self.step.clone(),
            done: Big(self.done),
            total: Some(Big(total)),
            bytes: self.is_bytes.then_some(Big(self.done)),
        });
    }

    fn note(&mut self, note: Note<'_>) {
        let note = match note {
            Note::Skipped { place, reason } => {
                self.skipped += 1;
                if self.skipped > SKIPPED_MAX {
                    return;
                }
                JobNote::Skipped { place: place.to_owned(), reason: reason.to_owned() }
            }
            Note::Failed(error) => {
                JobNote::Failed(InputFailure::from(error).of(self.input.to_owned(), true))
            }
            Note::SessionsIgnored { folder, sessions } => {
                let folder = folder.display().to_string();
                JobNote::SessionsIgnored { folder, sessions: Big(sessions) }
            }
            Note::FilesIgnored { folder, files } => {
                let folder = folder.display().to_string();
                JobNote::FilesIgnored { folder, files: Big(files) }
            }
            Note::RepeatedIds { input, lines } => {
                JobNote::RepeatedIds { input: input.to_owned(), lines: Big(lines) }
            }
            Note::MissingParents { input, lines } => {
                JobNote::MissingParents { input: input.to_owned(), lines: Big(lines) }
            }
        };
        self.told.note(note);
    }

    fn acknowledge(&mut self, event: Durable) -> io::Result<()> {
        match &mut self.acknowledge {
            Some(acknowledge) => acknowledge(event),
            None => Ok(()),
        }
    }
}

impl Drop for Watch<'_> {
    /// Notes the number of skipped lines that have no note.
    fn drop(&mut self) {
        let number = self.skipped.saturating_sub(SKIPPED_MAX);
        if number > 0 {
            self.told.note(JobNote::MoreSkipped { number: Big(number) });
        }
    }
}
