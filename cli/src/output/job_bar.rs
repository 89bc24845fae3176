//! Progress of a job on standard error, once it takes a while.

use std::io::{self, IsTerminal};

use indicatif::ProgressBar;
use milepost::clock::{Clock as _, SystemClock};
use milepost_api::{JobNote, JobProgress};

use super::bars::{bar, counter};
use super::text::printable;
use super::{ErrorStyle, count, size};

/// Time before the bar is shown, in microseconds.
const SOON_US: u64 = 500_000;

/// Printer of a note.
type OnNote = fn(&JobNote, ErrorStyle);

/// The progress of a job on standard error.
pub struct JobBar {
    is_wanted: bool,
    since_us: u64,
    shown: Option<(String, ProgressBar)>,
    on_note: Option<(OnNote, ErrorStyle)>,
}

impl JobBar {
    /// Creates a bar. It is never shown if it is not wanted, or standard error is no terminal.
    pub fn new(is_wanted: bool) -> Self {
        let is_wanted = is_wanted && io::stderr().is_terminal();
        Self { is_wanted, since_us: SystemClock.now_us(), shown: None, on_note: None }
    }

    /// Sets the printer of notes. Default: none are printed.
    #[must_use]
    pub fn on_note(mut self, print: OnNote, style: ErrorStyle) -> Self {
        self.on_note = Some((print, style));
        self
    }

    /// Prints a note.
    pub fn note(&self, note: &JobNote) {
        match (&self.shown, self.on_note) {
            (_, None) => {}
            (Some((_, bar)), Some((print, style))) => bar.suspend(|| print(note, style)),
            (None, Some((print, style))) => print(note, style),
        }
    }

    /// Shows the progress.
    pub fn set(&mut self, progress: &JobProgress) {
        if !self.is_wanted || SystemClock.now_us().saturating_sub(self.since_us) < SOON_US {
            return;
        }
        let step = &progress.step;
        if self.shown.as_ref().is_none_or(|(shown, _)| shown != step) {
            self.clear();
            let bar = match progress.total {
                Some(total) => bar(total.0, &printable(step), true, progress.bytes.is_some()),
                None => counter(&printable(step)),
            };
            self.shown = Some((step.clone(), bar));
        }
        let Some((_, bar)) = &self.shown else {
            return;
        };
        match (progress.total, progress.bytes) {
            (Some(_), _) => bar.set_position(progress.done.0),
            (None, Some(bytes)) => {
                bar.set_message(format!("{}, {}", count(progress.done.0, "file"), size(bytes.0)));
            }
            (None, None) => bar.set_message(count(progress.done.0, "file")),
        }
    }

    fn clear(&mut self) {
        if let Some((_, bar)) = self.shown.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for JobBar {
    fn drop(&mut self) {
        self.clear();
    }
}
