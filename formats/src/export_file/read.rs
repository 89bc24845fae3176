//! Reads an export, and imports it: all of it, or nothing.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use data_encoding::HEXLOWER;
use milepost::ids::{Head, Origin};
use milepost::transfer::{ExportBody, Import};
use milepost::{Engine, ErrorKind, Task};

use super::line::{self, BEGINNING, Counts, ExportHeader, ExportLine, VERSION, VERSION_WITHHELD};
use crate::bounded_lines::BoundedLines;
use crate::error::{Error, Remedy, Result};
use crate::input::opened;
use crate::progress::{Progress, Unit, Work};
use crate::share_file::{self, ShareReader};

/// Maximum length of a line: an event of 64 MiB, however its text is escaped.
const LINE_MAX: usize = 512 << 20;

/// Size of the read buffer, in bytes.
const BUFFER: usize = 1 << 20;

/// An export that is open for reading.
pub struct ExportInput {
    name: String,
    /// The length in bytes, if known.
    length: Option<u64>,
    reader: Box<dyn BufRead>,
}

impl ExportInput {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    ///
    /// `Io`: the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::from_reader("standard input", io::stdin()));
        }
        let name = path.display().to_string();
        let failed = |error: io::Error| Error::from(error).at(&name);
        let file = opened(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        Ok(Self { length: Some(length), ..Self::from_reader(&name, file) })
    }

    /// Returns an input that a reader gives. `name` names it in messages.
    pub fn from_reader(name: &str, reader: impl Read + 'static) -> Self {
        let reader = Box::new(BufReader::with_capacity(BUFFER, reader));
        Self { name: name.to_owned(), length: None, reader }
    }

    /// Checks that the input begins as an export or a share does, and finds the export in a share.
    fn checked(self) -> Result<Self> {
        let Self { name, length, mut reader } = self;
        let failed = |error: io::Error| Error::from(error).at(&name);
        let mut start = Vec::new();
        let mut beginning = Read::by_ref(&mut reader).take(BEGINNING.len() as u64);
        beginning.read_to_end(&mut start).map_err(failed)?;
        if start == BEGINNING.as_bytes() {
            let input = io::Cursor::new(start).chain(reader);
            return Ok(Self { length, ..Self::from_reader(&name, input) });
        }
        if share_file::PREFIX.as_bytes().starts_with(&start) {
            let mut line = Read::by_ref(&mut reader).take(share_file::FIRST_LINE_MAX);
            line.read_until(b'\n', &mut start).map_err(failed)?;
        }
        match share_file::version(&start) {
            Some(share_file::VERSION) => {
                let export = ShareReader::new(reader, share_file::PIECE + LINE_MAX as u64);
                // The length of the file is not that of the export.
                Ok(Self::from_reader(&name, export))
            }
            Some(other) => Err(Error::invalid(format!(
                "the share has version {other}, this milepost reads version {}: update milepost",
                share_file::VERSION
            ))
            .at(&name)
            .remedied_by(Remedy::NothingImported)),
            None => Err(Error::invalid(
                "not a folder, not an export, and no run of a program that is known",
            )
            .at(&name)
            .remedied_by(Remedy::NameFormat)),
        }
    }
}

/// An import of an export whose first line is read.
pub struct ExportImport {
    name: String,
    length: Option<u64>,
    header: ExportHeader,
    reader: ExportReader<Box<dyn BufRead>>,
}

/// Result of an import.
pub struct ImportedExport {
    /// The tasks.
    pub tasks: Vec<TaskOfExport>,
    /// True if the tasks are copies with hashes of their own.
    pub copies: bool,
}

/// A task of an export, after its import.
pub struct TaskOfExport {
    /// The task.
    pub task: Task,
    /// The origin of its history in the file.
    pub origin: Origin,
    /// The head of its active lineage in the file. An import as a copy does not verify it.
    pub head: Option<Head>,
    /// The number of withheld events, without those on trust.
    pub withheld: u64,
    /// The number of events on trust.
    pub trusted: u64,
}

/// The facts about a task in a file.
struct TaskFacts {
    origin: Origin,
    head: Option<Head>,
    withheld: u64,
    trusted: u64,
}

impl TaskFacts {
    fn of(self, task: Task) -> TaskOfExport {
        let Self { origin, head, withheld, trusted } = self;
        TaskOfExport { task, origin, head, withheld, trusted }
    }
}

impl ExportImport {
    /// Reads the first line.
    ///
    /// # Errors
    ///
    /// `Invalid`: the input is not an export. `Corrupt`: its first line is damaged. `Io`: it cannot
    /// be read.
    pub fn begin(input: ExportInput) -> Result<Self> {
        let ExportInput { name, length, reader } = input.checked()?;
        let mut reader = ExportReader::new(reader, LINE_MAX);
        let header = reader.header().map_err(|line| damaged(&name, line))?;
        Ok(Self { name, length, header, reader })
    }

    /// Returns the name of the input in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the first line.
    pub fn header(&self) -> &ExportHeader {
        &self.header
    }

    /// Imports all tasks, or nothing if a line is refused. `copy_as` imports the only task as a
    /// copy with that name; tasks of a redacted export are copies, too.
    ///
    /// # Errors
    ///
    /// `Corrupt`: the file is damaged. `Engine`: the engine refuses a line. `Invalid`: the store
    /// has another key.
    pub fn run(
        mut self,
        engine: &Engine,
        copy_as: Option<&str>,
        progress: &mut dyn Progress,
    ) -> Result<ImportedExport> {
        let copies = self.header.redacted || copy_as.is_some();
        let key = engine.store().key_id().map(|id| HEXLOWER.encode(&id));
        if !copies && key != self.header.key {
            let why = "the export is of a store with another key, or with none: its hashes would \
                       be others";
            return Err(Error::invalid(why).remedied_by(Remedy::ImportAsCopy));
        }
        progress.begin(Work { name: "import", unit: Unit::Bytes, total: self.length });
        let tasks = self.take(engine, copies, copy_as, progress);
        progress.end();
        Ok(ImportedExport { tasks: tasks?, copies })
    }

    fn take(
        &mut self,
        engine: &Engine,
        copies: bool,
        copy_as: Option<&str>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<TaskOfExport>> {
        let mut import = engine.transfer().import();
        let mut tasks: Vec<TaskFacts> = Vec::new();
        loop {
            engine.cancel().check()?;
            let before = self.reader.bytes_read();
            let line = self.reader.next_line().map_err(|line| damaged(&self.name, line))?;
            let Some(line) = line else { break };
            let accepted = match &line {
                ExportLine::Task(task) => {
                    let (origin, head) = (task.origin, task.head());
                    tasks.push(TaskFacts { origin, head, withheld: 0, trusted: 0 });
                    let name = copy_as.unwrap_or(&task.id);
                    match copies {
                        true => import.copy(name, task),
                        false => import.task(task),
                    }
                }
                ExportLine::Chunk(chunk) => import.chunk(chunk),
                ExportLine::Event(event) => {
                    if let (ExportBody::Withheld { hash, .. }, Some(task)) =
                        (&event.body, tasks.last_mut())
                    {
                        task.withheld += u64::from(hash.is_some());
                        task.trusted += u64::from(hash.is_none());
                    }
                    import.event(event)
                }
                ExportLine::Header(_) | ExportLine::End(_) => Ok(()),
            };
            accepted.map_err(|error| match !copies && is_only_copied(&line) {
                true => self.refused(error).remedied_by(Remedy::ImportAsCopy),
                false => self.refused(error),
            })?;
            progress.advance(self.reader.bytes_read() - before);
        }
        let (declared, found) = (self.header.tasks.0, tasks.len() as u64);
        if found != declared {
            let why = format!(
                "the first line says that there are {declared} tasks, and there are {found}"
            );
            return Err(damaged(&self.name, self.reader.invalid(&why)));
        }
        let imported = Import::finish(import).map_err(|error| self.refused(error))?;
        Ok(tasks.into_iter().zip(imported).map(|(facts, task)| facts.of(task)).collect())
    }

    /// Returns the error of a line that the engine refuses.
    fn refused(&self, error: milepost::Error) -> Error {
        let remedy = match error.kind() {
            ErrorKind::Conflict => Some(Remedy::ImportAsOtherCopy),
            ErrorKind::Diverged | ErrorKind::Corrupt => Some(Remedy::ExportUnchanged),
            ErrorKind::Invalid => Some(Remedy::NothingImported),
            _ => None,
        };
        let error = Error::from(error).at(format!("{}, line {}", self.name, self.reader.number()));
        match remedy {
            Some(remedy) => error.remedied_by(remedy),
            None => error,
        }
    }
}

/// Returns `true` for an event that only a copy can have.
fn is_only_copied(line: &ExportLine) -> bool {
    let ExportLine::Event(event) = line else {
        return false;
    };
    match event.body {
        ExportBody::Withheld { hash, .. } => {
            hash.is_none() || event.is_erasable().is_ok_and(|is| !is)
        }
        _ => false,
    }
}

/// Returns the error of a line that does not belong to an export.
fn damaged(name: &str, InvalidLine { line, reason }: InvalidLine) -> Error {
    let place = format!("{name}, line {line}");
    Error::corrupt(reason).at(place).remedied_by(Remedy::ExportAgain)
}

/// An invalid line of an export.
#[derive(Debug, PartialEq, Eq)]
pub struct InvalidLine {
    /// The number of the line, from 1.
    pub line: u64,
    /// The reason.
    pub reason: String,
}

/// Reader of an export, line by line.
pub struct ExportReader<R> {
    input: BoundedLines<R>,
    digest: blake3::Hasher,
    counts: Counts,
    /// Set if the version has withheld events.
    may_withhold: bool,
    ended: bool,
}

impl<R: BufRead> ExportReader<R> {
    /// Creates a reader of lines of at most `limit` bytes.
    pub fn new(input: R, limit: usize) -> Self {
        Self {
            input: BoundedLines::new(input, limit),
            digest: blake3::Hasher::new(),
            counts: Counts::default(),
            may_withhold: false,
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
    ///
    /// # Errors
    ///
    /// The line is not a header.
    pub fn header(&mut self) -> Result<ExportHeader, InvalidLine> {
        match self.line()? {
            Some(ExportLine::Header(header)) => {
                self.may_withhold = header.milepost_export >= VERSION_WITHHELD;
                Ok(header)
            }
            _ => Err(self.invalid("an export begins with what is in it")),
        }
    }

    /// Reads the next line, or `None` after the last one. The last line must have the right counts
    /// and digest, and be the end of the file.
    ///
    /// # Errors
    ///
    /// The line is invalid, or the file ends without the last line.
    pub fn next_line(&mut self) -> Result<Option<ExportLine>, InvalidLine> {
        let before = self.digest.finalize();
        let line = self.line()?;
        match &line {
            None if self.ended => return Ok(None),
            None => {
                let behind = format!("the file ends behind line {}, and has no end", self.number());
                return Err(self.invalid(&format!("{behind}: it was cut")));
            }
            Some(_) if self.ended => return Err(self.invalid("it comes behind the end")),
            Some(ExportLine::Header(_)) => return Err(self.invalid("a second header")),
            Some(ExportLine::Task(_)) => self.counts.tasks.0 += 1,
            Some(ExportLine::Chunk(_)) => self.counts.chunks.0 += 1,
            Some(ExportLine::Event(event)) => {
                if matches!(event.body, ExportBody::Withheld { .. }) && !self.may_withhold {
                    let why = format!("version {VERSION} has no withheld events");
                    return Err(self.invalid(&why));
                }
                self.counts.events.0 += 1;
            }
            Some(ExportLine::End(end)) => {
                self.ended = true;
                if end.end != self.counts {
                    return Err(self.invalid("it counts other lines than there are"));
                }
                if end.digest.0 != *before.as_bytes() {
                    return Err(self.invalid("its digest is not that of the lines before it"));
                }
            }
        }
        Ok(line)
    }

    /// Returns an error at the last line read.
    fn invalid(&self, why: &str) -> InvalidLine {
        InvalidLine { line: self.number().max(1), reason: why.to_owned() }
    }

    fn line(&mut self) -> Result<Option<ExportLine>, InvalidLine> {
        let length = self.input.advance();
        let length = length.map_err(|error| self.invalid(&error.to_string()))?;
        if length == 0 {
            return Ok(None);
        }
        let limit = self.input.limit();
        if length > limit as u64 {
            return Err(self.invalid(&format!("{length} bytes are over the limit of {limit}")));
        }
        let line = self.input.buffered();
        self.digest.update(line);
        let Some(text) = line.strip_suffix(b"\n") else {
            return Err(self.invalid("it has no end: the file was cut"));
        };
        let text = std::str::from_utf8(text);
        let text = text.map_err(|error| self.invalid(&error.to_string()))?;
        line::parse(text).map(Some).map_err(|why| self.invalid(&why))
    }
}
