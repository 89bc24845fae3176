//! A session file that an agent is still writing.
//!
//! The file stays open between two calls, so that each one reads only the new part. A tail that is
//! opened anew begins at the first line, as an import does: recorded lines are recognized by their
//! keys.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufReader};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use milepost::{Engine, Offset};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::SessionFormat;
use super::line::{Key, key};
use super::records::{Pending, Record, Records};
use super::writer::{NewLine, Session};
use crate::error::{Error, Remedy, Result};
use crate::format::Format;
use crate::record::jsonl::{LINE_SLACK, Lines};
use crate::record::session_format;
use crate::record::write::Refused;

/// Number of bytes before the end of the last line that are compared, to notice a file that was
/// written anew.
const COMPARED: usize = 64;

/// The place in the file where a reading stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailStop<'a> {
    /// The end of the last complete line.
    End,
    /// The line with this call of a tool, which is not recorded yet.
    BeforeCall(&'a str),
    /// The line with this call of a tool, which is the last one recorded.
    AfterCall(&'a str),
    /// The first line with a call of a tool that is not recorded yet, but for this call.
    NextCall(&'a str),
}

/// Result of a reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TailRead {
    /// The number of lines that were read, and are recorded now.
    pub lines: u64,
    /// The number of events that were appended. Lines recorded before add none.
    pub events: u64,
    /// The number of checkpoints that were marked.
    pub checkpoints: u64,
    /// The number of prompts among these lines.
    pub prompts: u64,
    /// The number of lines that cannot be recorded.
    pub skipped: u64,
    /// Line number and reason of the first of them.
    pub reason: Option<String>,
    /// True if the call was reached, or for [`TailStop::NextCall`] another one.
    pub found: bool,
    /// True if the line of the call was recorded before this reading.
    pub is_recorded: bool,
    /// The offset after the last event of the task, if a line was read.
    pub head: Option<Offset>,
}

/// A session file that an agent is still writing.
pub struct SessionTail {
    engine: Engine,
    format: &'static SessionFormat,
    path: PathBuf,
    task: String,
    user: String,
    /// `None` until the file exists, and after an error.
    reading: Option<Reading>,
}

impl fmt::Debug for SessionTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, task, .. } = self;
        f.debug_struct("SessionTail")
            .field("path", path)
            .field("task", task)
            .finish_non_exhaustive()
    }
}

impl SessionTail {
    /// Returns a tail of a file, which need not be there yet, into a task.
    ///
    /// # Errors
    ///
    /// `Invalid`: the format has no session files of lines.
    pub fn new(
        engine: &Engine,
        format: Format,
        path: &Path,
        task: &str,
        user: &str,
    ) -> Result<Self> {
        let is_of_lines = format != Format::Opencode;
        let format = session_format(format).filter(|_| is_of_lines).ok_or_else(|| {
            let name = format.name();
            Error::invalid(format!("{name} is no format of session files"))
                .remedied_by(Remedy::GiveSession)
        })?;
        Ok(Self {
            engine: engine.clone(),
            format,
            path: path.to_owned(),
            task: task.to_owned(),
            user: user.to_owned(),
            reading: None,
        })
    }

    /// Records the complete lines that are new since the last call, and returns when they are
    /// durable. A last line without an end waits for the next call. If no complete line has the
    /// call of `stop`, all of them are recorded.
    ///
    /// A file that was replaced, cut or written anew is read from its beginning. After an error the
    /// next call does so, too.
    ///
    /// # Errors
    ///
    /// `Invalid`: the path is a symbolic link, or no regular file. `Conflict`: the task is not of
    /// this session, or lines were changed after they were recorded. `Io` and `Engine`: the file or
    /// the store failed.
    pub fn read_on(&mut self, stop: TailStop<'_>) -> Result<TailRead> {
        let done = self.follow().and_then(|()| match &mut self.reading {
            Some(reading) => reading.read_on(stop),
            None => Ok(TailRead::default()),
        });
        if done.is_err() {
            self.reading = None;
        }
        done.map_err(|error| error.at(self.path.display()))
    }

    /// Returns the position after the last line that was read, in bytes; `None` if the file was not
    /// opened yet.
    pub fn position(&self) -> Option<u64> {
        self.reading.as_ref().filter(|reading| reading.pending.is_none()).map(|reading| reading.end)
    }

    /// Opens the file, or opens it again if it is not the one that was read.
    fn follow(&mut self) -> Result<()> {
        // A file that was removed is read to its end.
        let Some((file, metadata)) = open(&self.path)? else {
            return Ok(());
        };
        if let Some(reading) = &self.reading
            && reading.is_same(&file, &metadata)?
        {
            return Ok(());
        }
        let event_max = self.engine.store().event_max();
        let limit = event_max.saturating_add(LINE_SLACK);
        self.reading = Some(Reading {
            identity: (metadata.dev(), metadata.ino()),
            records: Records::new(
                Lines::new(BufReader::new(file), limit, event_max),
                true,
                self.format,
            ),
            last: Vec::new(),
            end: 0,
            format: self.format,
            engine: self.engine.clone(),
            task: self.task.clone(),
            user: self.user.clone(),
            session: None,
            pending: None,
        });
        Ok(())
    }
}

/// Opens a regular file; `None` if it does not exist.
fn open(path: &Path) -> Result<Option<(File, Metadata)>> {
    // A pipe would wait for its writer.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(Error::invalid("a symbolic link: a session is a regular file")
                .remedied_by(Remedy::NameFile));
        }
        Err(error) => return Err(Error::from(error).remedied_by(Remedy::CheckPath)),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Error::invalid("no regular file").remedied_by(Remedy::NameFile));
    }
    Ok(Some((file, metadata)))
}

/// An open file, and the session in it.
struct Reading {
    /// Device and number of the file.
    identity: (u64, u64),
    records: Records<BufReader<File>>,
    /// The bytes before `end`.
    last: Vec<u8>,
    /// Position after the last complete line.
    end: u64,
    format: &'static SessionFormat,
    engine: Engine,
    task: String,
    user: String,
    /// Created at the first line, so that a file without one leaves no task.
    session: Option<Session>,
    pending: Option<Pending>,
}

impl Reading {
    /// Returns `true` if a file is the one that is read, and has all that was read.
    fn is_same(&self, file: &File, metadata: &Metadata) -> Result<bool> {
        let identity = (metadata.dev(), metadata.ino());
        if identity != self.identity || metadata.len() < self.records.lines().bytes_read() {
            return Ok(false);
        }
        let mut found = vec![0; self.last.len()];
        let at = self.end.saturating_sub(found.len() as u64);
        match file.read_exact_at(&mut found, at) {
            Ok(()) => Ok(found == self.last),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn read_on(&mut self, stop: TailStop<'_>) -> Result<TailRead> {
        let mut read = TailRead::default();
        let before = self.counts();
        let call = match stop {
            TailStop::End | TailStop::NextCall(_) => None,
            TailStop::BeforeCall(call) | TailStop::AfterCall(call) => Some(key(call)),
        };
        let but = match stop {
            TailStop::NextCall(call) => Some(key(call)),
            _ => None,
        };
        let had = |call| self.session.as_ref().is_some_and(|session| session.has_call(call));
        if call.is_some_and(had) {
            (read.found, read.is_recorded) = (true, true);
            return Ok(read);
        }
        let is_before = matches!(stop, TailStop::BeforeCall(_));
        while !read.found
            && let Some(pending) = self.next(&mut read)?
        {
            if let Some(but) = but
                && self.is_of_next_call(&pending, but)?
            {
                read.found = true;
                self.pending = Some(pending);
                break;
            }
            self.line(pending, call, is_before, &mut read)?;
        }
        if let Some(session) = &mut self.session {
            read.head = Some(session.finish()?);
        }
        self.take_refused(&mut read);
        let after = self.counts();
        (read.events, read.checkpoints) = (after.0 - before.0, after.1 - before.1);
        Ok(read)
    }

    /// Returns the next line that can be read; `None` if there is no complete one.
    fn next(&mut self, read: &mut TailRead) -> Result<Option<Pending>> {
        if self.pending.is_some() {
            return Ok(self.pending.take());
        }
        loop {
            let Some(record) = self.records.next()? else { return Ok(None) };
            let lines = self.records.lines();
            self.end = lines.bytes_read();
            self.last = lines.last_bytes(COMPARED).to_vec();
            match record {
                Record::Read(pending) => return Ok(Some(*pending)),
                Record::Lost(number, why) => skip(read, number, &why),
            }
        }
    }

    /// Returns `true` if a line has a call that is not recorded yet, but for one call.
    fn is_of_next_call(&mut self, pending: &Pending, but: Key) -> Result<bool> {
        let session = self.session()?;
        let Pending { text, line, .. } = pending;
        let has_new = line.all_calls().any(|call| !session.has_call(call));
        Ok(has_new && !line.calls(but) && !session.is_recorded(line, text)?)
    }

    /// Returns the session, which is opened at its first line.
    fn session(&mut self) -> Result<&mut Session> {
        match &mut self.session {
            Some(session) => Ok(session),
            none => {
                let session = Session::new(&self.engine, self.format, &self.task, &self.user)?;
                Ok(none.insert(session))
            }
        }
    }

    /// Records a line, unless it has the call that the reading stops before.
    fn line(
        &mut self,
        pending: Pending,
        call: Option<Key>,
        is_before: bool,
        read: &mut TailRead,
    ) -> Result<()> {
        let session = self.session()?;
        let Pending { text, line, number } = pending;
        if call.is_some_and(|call| line.calls(call)) {
            read.found = true;
            read.is_recorded = session.is_recorded(&line, &text)?;
            if is_before && !read.is_recorded {
                self.pending = Some(Pending { text, line, number });
                return Ok(());
            }
        }
        read.prompts += u64::from(line.prompt().is_some());
        let written = NewLine { text: &text, line, number, alone: false, listener: None };
        session.write(written).map_err(|error| error.at(number))?;
        read.lines += 1;
        Ok(())
    }

    fn take_refused(&mut self, read: &mut TailRead) {
        let refused = self.session.as_mut().map(Session::take_refused);
        for Refused { number, why } in refused.unwrap_or_default() {
            read.lines = read.lines.saturating_sub(1);
            skip(read, number, &why);
        }
    }

    fn counts(&self) -> (u64, u64) {
        self.session.as_ref().map_or((0, 0), |session| (session.events, session.checkpoints))
    }
}

fn skip(read: &mut TailRead, number: u64, why: &str) {
    read.skipped += 1;
    read.reason.get_or_insert_with(|| format!("line {number}: {why}"));
}

#[cfg(test)]
mod tests;
