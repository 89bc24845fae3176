//! Progress of `record`, `import` and `export`: bars and notes on standard error, acknowledgements
//! on standard output.

use std::io::{self, Write};

use indicatif::ProgressBar;
use milepost_formats::{Durable, Note, Progress, Unit, Work};
use serde_json::json;

use crate::error::Failure;
use crate::output::{ErrorStyle, Out, bar, big, count, note, printable};

/// Shows the progress of a conversion.
pub struct Bars<'a> {
    bar: ProgressBar,
    /// Minimum number of bytes for a progress bar.
    bytes_min: u64,
    shown: bool,
    style: ErrorStyle,
    /// Receiver of acknowledgements.
    out: Option<&'a mut Out>,
    /// The number of skipped lines, files or checkpoints.
    skipped: u64,
}

/// Maximum number of skipped lines, files or checkpoints of an input that are printed.
const SKIPPED_SHOWN: u64 = 20;

impl<'a> Bars<'a> {
    /// Returns bars without acknowledgements.
    pub fn new(bytes_min: u64, out: &Out) -> Self {
        Self {
            bar: ProgressBar::hidden(),
            bytes_min,
            shown: !out.json,
            style: out.error_style(),
            out: None,
            skipped: 0,
        }
    }

    /// Returns bars with acknowledgements.
    pub fn acknowledging(bytes_min: u64, out: &'a mut Out) -> Self {
        let mut bars = Self::new(bytes_min, out);
        bars.out = Some(out);
        bars
    }

    /// Returns the minimum total for a progress bar.
    fn long(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Bytes => self.bytes_min,
            Unit::Items => 20_000,
            Unit::Checkpoints => 500,
            Unit::Files => 200,
            Unit::Events => 10_000,
        }
    }
}

impl Progress for Bars<'_> {
    fn begin(&mut self, work: Work<'_>) {
        let total = work.total.unwrap_or_default();
        let long = total >= self.long(work.unit);
        self.bar = bar(total, work.name, long && self.shown, work.unit == Unit::Bytes);
    }

    fn advance(&mut self, done: u64) {
        self.bar.inc(done);
    }

    fn end(&mut self) {
        self.bar.finish_and_clear();
    }

    fn note(&mut self, fact: Note<'_>) {
        match fact {
            Note::Skipped { place, reason } => {
                self.skipped += 1;
                if self.skipped > SKIPPED_SHOWN {
                    return;
                }
                let text = format!("{place}: {reason}");
                // If standard error is closed, the report is lost.
                let say = || writeln!(io::stderr().lock(), "{}", printable(&text)).ok();
                self.bar.suspend(say);
            }
            Note::Failed(error) => self.bar.suspend(|| Failure::from(error).print(self.style)),
            Note::SessionsIgnored { folder, sessions } => {
                let (folder, sessions) = (folder.display(), count(sessions, "session"));
                note(&format!(
                    "{folder}: {sessions} of Claude Code in it too: `--format claude-code` takes \
                     them"
                ));
            }
            Note::FilesIgnored { folder, files } => {
                let (folder, files) = (folder.display(), count(files, "other file"));
                note(&format!("{folder}: {files} in it without a run or an export"));
            }
            Note::RepeatedIds { input, lines } => {
                let lines = count(lines, "line");
                note(&format!(
                    "{input}: {lines} with an id that came before: kept, and not continued"
                ));
            }
            Note::MissingParents { input, lines } => {
                let lines = count(lines, "line");
                note(&format!(
                    "{input}: {lines} behind one that is not there: they go on from the line \
                     before in the file"
                ));
            }
        }
    }

    fn acknowledge(&mut self, event: Durable) -> io::Result<()> {
        let Durable { offset, hash } = event;
        let Some(out) = &mut self.out else { return Ok(()) };
        let said = out.json(&json!({"offset": big(offset), "hash": hash}));
        said.and_then(|()| out.flush()).map_err(|error| {
            let text = format!("standard output failed after event {offset}: {error}");
            io::Error::other(text)
        })
    }
}

impl Drop for Bars<'_> {
    /// Prints the number of skipped lines that were not printed.
    fn drop(&mut self) {
        let hidden = self.skipped.saturating_sub(SKIPPED_SHOWN);
        if hidden > 0 {
            note(&format!("{hidden} more of these are not printed"));
        }
    }
}
