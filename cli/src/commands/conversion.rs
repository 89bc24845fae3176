//! Progress of `export` on standard error.

use indicatif::ProgressBar;
use milepost_formats::{Progress, Unit, Work};

use crate::output::{Out, bar};

/// Shows the progress of a conversion.
pub struct Bars {
    bar: ProgressBar,
    /// Minimum number of bytes for a progress bar.
    bytes_min: u64,
    shown: bool,
}

impl Bars {
    pub fn new(bytes_min: u64, out: &Out) -> Self {
        Self { bar: ProgressBar::hidden(), bytes_min, shown: !out.json }
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

impl Progress for Bars {
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
}
