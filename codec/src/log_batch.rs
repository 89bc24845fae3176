//! Log batches: a section and its place in a log. A frame's payload is a sequence of log batches.
//!
//! ```text
//! task     varint
//! log      varint, the lineage's number; 4294967295 for the control log
//! first    varint, the offset of the first record
//! section  section.rs
//! ```

use crate::error::{Error, Result};
use crate::id::{LogId, LogKind, Offset, TaskNo};
use crate::section::{SectionRef, Sections};
use crate::wire::{Reader, put_varint};

/// A log batch that borrows the frame it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogBatchRef<'a> {
    /// The log of the records.
    pub log: LogId,
    /// The offset of the first record.
    pub first: Offset,
    /// The records.
    pub section: SectionRef<'a>,
    /// The section's bytes.
    pub bytes: &'a [u8],
    /// Start and end of the section's bytes in the payload.
    pub span: (usize, usize),
}

/// Appends the fields before the section of a log batch to `out`.
pub fn begin_log_batch(out: &mut Vec<u8>, log: LogId, first: Offset) {
    put_varint(out, log.task.0);
    put_varint(out, u64::from(log.kind.number()));
    put_varint(out, first);
}

/// Iterates over the log batches of a frame.
#[derive(Debug, Clone)]
pub struct LogBatches<'a> {
    payload: &'a [u8],
    rest: &'a [u8],
}

impl<'a> LogBatches<'a> {
    /// Iterates over the log batches in a frame's payload.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { payload, rest: payload }
    }

    fn read(&mut self) -> Result<LogBatchRef<'a>> {
        let mut reader = Reader::new(self.rest, "log batch");
        let task = TaskNo(reader.varint()?);
        let kind = LogKind::from_number(reader.varint_u32()?);
        let first = reader.varint()?;
        let rest = reader.rest();
        let mut sections = Sections::new(rest);
        let Some(section) = sections.next().transpose()? else {
            return Err(Error::corrupt("log batch", "a section", "nothing"));
        };
        if first.checked_add(u64::from(section.count)).is_none() {
            return Err(Error::corrupt("log batch", "an offset", first));
        }
        let (bytes, behind) = rest.split_at(rest.len().saturating_sub(sections.rest().len()));
        self.rest = behind;
        let start = self.payload.len().saturating_sub(rest.len());
        let span = (start, start + bytes.len());
        Ok(LogBatchRef { log: LogId { task, kind }, first, section, bytes, span })
    }
}

impl<'a> Iterator for LogBatches<'a> {
    type Item = Result<LogBatchRef<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let batch = self.read();
        if batch.is_err() {
            self.rest = &[];
        }
        Some(batch)
    }
}
