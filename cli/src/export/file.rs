//! Writer and reader of an export: lines, their counts and their digest.

use std::io::{self, BufRead};

use milepost::Hash;
use milepost::ids::LogKind;
use milepost::transfer::ExportItem;

use super::line::{self, Big, Counts, End, ExportHeader, Line};
use super::text::{self, Redact};
use crate::bounded_lines::BoundedLines;

/// Maximum length of a line: an event of 64 MiB, however its text is escaped.
pub const LINE_MAX: usize = 512 << 20;

/// The destination of the lines.
pub type Sink<'a> = dyn FnMut(&[u8]) -> io::Result<()> + 'a;

/// Writes an export.
pub struct Writer<'a> {
    sink: &'a mut Sink<'a>,
    redact: Option<&'a dyn Redact>,
    digest: blake3::Hasher,
    /// The task of the following lines.
    task: String,
    pub counts: Counts,
}

const NONE: Counts = Counts { tasks: Big(0), events: Big(0), chunks: Big(0) };

/// An error in an export: the line, from 1, and the reason.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong(pub u64, pub String);

impl<'a> Writer<'a> {
    /// Begins an export with its header.
    pub fn begin(
        sink: &'a mut Sink<'a>,
        header: &ExportHeader,
        redact: Option<&'a dyn Redact>,
    ) -> io::Result<Self> {
        let mut writer =
            Self { sink, redact, digest: blake3::Hasher::new(), task: String::new(), counts: NONE };
        writer.put(text::text(header))?;
        Ok(writer)
    }

    /// Writes an item of an engine's export.
    pub fn take(&mut self, carried: &ExportItem<'_>) -> io::Result<()> {
        match carried {
            ExportItem::Task(task) => {
                self.counts.tasks.0 += 1;
                self.task.clone_from(&task.id);
                self.put(text::task_text(task))
            }
            ExportItem::Chunk(chunk) => {
                self.counts.chunks.0 += 1;
                self.put(text::chunk_text(chunk))
            }
            ExportItem::Event(event) => {
                self.counts.events.0 += 1;
                let line = match self.redact {
                    Some(redact) => text::redacted_text(event, redact),
                    None => text::event_text(event),
                };
                let (task, at) = (&self.task, event.offset);
                self.put(line.map_err(|why| match event.log {
                    LogKind::Control => format!("event {at} of the control log of `{task}`: {why}"),
                    LogKind::Lineage(lineage) => format!("event `{task}/{lineage}@{at}`: {why}"),
                }))
            }
            _ => Err(io::Error::other("something that has no line")),
        }
    }

    /// Writes the last line.
    pub fn end(mut self) -> io::Result<Counts> {
        let end = End { end: self.counts, digest: Hash(*self.digest.finalize().as_bytes()) };
        self.put(text::text(&end))?;
        Ok(self.counts)
    }

    fn put(&mut self, line: Result<String, String>) -> io::Result<()> {
        let mut line = line.map_err(io::Error::other)?;
        line.push('\n');
        self.digest.update(line.as_bytes());
        (self.sink)(line.as_bytes())
    }
}

/// Reads an export line by line.
pub struct Reader<R> {
    input: BoundedLines<R>,
    digest: blake3::Hasher,
    counts: Counts,
    ended: bool,
}

impl<R: BufRead> Reader<R> {
    pub fn new(input: R, limit: usize) -> Self {
        Self {
            input: BoundedLines::new(input, limit),
            digest: blake3::Hasher::new(),
            counts: NONE,
            ended: false,
        }
    }

    /// Returns the number of the last line read, from 1.
    pub fn number(&self) -> u64 {
        self.input.number()
    }

    /// Returns the number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    /// Reads the first line.
    pub fn header(&mut self) -> Result<ExportHeader, Wrong> {
        match self.line()? {
            Some(Line::Header(header)) => Ok(header),
            _ => Err(self.wrong("an export begins with what is in it")),
        }
    }

    /// Reads the next line, or `None` after the last one. The last line must have the right counts
    /// and digest, and be the end of the file.
    pub fn next(&mut self) -> Result<Option<Line>, Wrong> {
        let before = self.digest.finalize();
        let line = self.line()?;
        match &line {
            None if self.ended => return Ok(None),
            None => {
                let behind = format!("the file ends behind line {}, and has no end", self.number());
                return Err(self.wrong(&format!("{behind}: it was cut")));
            }
            Some(_) if self.ended => return Err(self.wrong("it comes behind the end")),
            Some(Line::Header(_)) => return Err(self.wrong("a second header")),
            Some(Line::Task(_)) => self.counts.tasks.0 += 1,
            Some(Line::Chunk(_)) => self.counts.chunks.0 += 1,
            Some(Line::Event(_)) => self.counts.events.0 += 1,
            Some(Line::End(end)) => {
                self.ended = true;
                if end.end != self.counts {
                    return Err(self.wrong("it counts other lines than there are"));
                }
                if end.digest.0 != *before.as_bytes() {
                    return Err(self.wrong("its digest is not that of the lines before it"));
                }
            }
        }
        Ok(line)
    }

    /// Returns an error at the last line read.
    pub fn wrong(&self, why: &str) -> Wrong {
        Wrong(self.number().max(1), why.to_owned())
    }

    fn line(&mut self) -> Result<Option<Line>, Wrong> {
        let length = self.input.advance();
        let length = length.map_err(|error| self.wrong(&error.to_string()))?;
        if length == 0 {
            return Ok(None);
        }
        let limit = self.input.limit();
        if length > limit as u64 {
            return Err(self.wrong(&format!("{length} bytes are over the limit of {limit}")));
        }
        let line = self.input.held();
        self.digest.update(line);
        let Some(text) = line.strip_suffix(b"\n") else {
            return Err(self.wrong("it has no end: the file was cut"));
        };
        let text = std::str::from_utf8(text);
        let text = text.map_err(|error| self.wrong(&error.to_string()))?;
        line::parse(text).map(Some).map_err(|why| self.wrong(&why))
    }
}
