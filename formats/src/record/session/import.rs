//! The import of a session: a file from its beginning to its end.

use std::io::{self, BufRead, Read};

use milepost::ErrorKind;

use super::SessionFormat;
use super::records::{Pending, Record, Records};
use super::writer::{NewLine, Session};
use crate::detect::{self, is_aside};
use crate::error::{Error, Remedy, Result};
use crate::input::Reader;
use crate::progress::{Note, Progress, Unit, Work};
use crate::record::exclusive::Exclusive;
use crate::record::jsonl::{LINE_SLACK, Lines};
use crate::record::write::Refused;
use crate::record::{Job, RecordReport, RecordedTask, continued, document};

/// Bytes of records that are held until one is a message.
const HELD_MAX: usize = 64 << 20;

/// Records a session. Lines recorded before are not recorded again.
pub(in crate::record) fn record(
    job: &Job<'_>,
    format: &'static SessionFormat,
    (start, reader): (&[u8], Reader),
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let event_max = job.options.event_max;
    progress.begin(Work { name: job.name, unit: Unit::Bytes, total: job.size });
    let (input, values): (Box<dyn Read>, _) = match detect::is_document(start, format.format) {
        true => (Box::new(io::empty()), document::read_values(job, reader)?),
        false => (Box::new(reader), Vec::new()),
    };
    let id = match values.first() {
        Some(first) => task_id(job, format, first.as_bytes()),
        None => task_id(job, format, &detect::objects(start, format.format)),
    };
    let _alone = Exclusive::wait(job.store, &id)?;
    let input = io::BufReader::new(input);
    let lines = Lines::new(input, event_max.saturating_add(LINE_SLACK), event_max);
    let mut records = Records::new(lines, false, format);
    let mut recorder = Recorder {
        job,
        format,
        id,
        session: None,
        held: Vec::new(),
        held_bytes: 0,
        bad_lines: 0,
        progress,
    };
    for (number, value) in (1..).zip(values) {
        if let Err(why) = records.add(number, value) {
            recorder.report_bad_line(number, &why);
        }
    }
    let read = recorder.records(records);
    recorder.progress.end();
    recorder.finish(read)
}

/// Returns the task of the session: the one asked for, or the id in its lines.
fn task_id(job: &Job<'_>, format: &SessionFormat, start: &[u8]) -> String {
    if job.options.task.is_some() {
        return job.task_id();
    }
    let found = (format.session_id)(start, job.stem);
    let usable = |id: &String| (1..=150).contains(&id.len()) && !id.chars().any(char::is_control);
    found.filter(usable).unwrap_or_else(|| job.task_id())
}

struct Recorder<'a> {
    job: &'a Job<'a>,
    format: &'static SessionFormat,
    id: String,
    /// Created at the first message, so that an input without one leaves no task.
    session: Option<Session>,
    /// The records before the first message.
    held: Vec<Pending>,
    held_bytes: usize,
    bad_lines: u64,
    progress: &'a mut dyn Progress,
}

impl Recorder<'_> {
    fn records(&mut self, mut records: Records<impl BufRead>) -> Result<()> {
        loop {
            let before = records.lines().bytes_read();
            let read = records.next().map_err(|error| {
                let place = format!("{}:{}", self.job.name, records.lines().number() + 1);
                Error::from(error).at(place)
            })?;
            // An input that was read to its end is imported, even if the job is cancelled.
            let Some(read) = read else { return Ok(()) };
            self.job.store.cancel().check()?;
            match read {
                Record::Lost(number, why) => self.report_bad_line(number, &why),
                Record::Read(pending) => self.record(*pending)?,
            }
            self.progress.advance(records.lines().bytes_read() - before);
            if self.job.options.strict && self.bad_lines > 0 {
                return Ok(());
            }
        }
    }

    /// Writes a record, or holds it until one is a message.
    fn record(&mut self, pending: Pending) -> Result<()> {
        if self.session.is_some() {
            return self.write(pending);
        }
        let is_message = pending.line.is_message();
        self.held_bytes += pending.text.len();
        self.held.push(pending);
        match is_message || self.job.options.acknowledge || self.held_bytes > HELD_MAX {
            true => self.write_held(),
            false => Ok(()),
        }
    }

    fn write_held(&mut self) -> Result<()> {
        std::mem::take(&mut self.held).into_iter().try_for_each(|pending| self.write(pending))
    }

    /// Writes the records of an input without a message, or fails if it is not understood.
    fn end(&mut self) -> Result<()> {
        let Job { store, name, .. } = *self.job;
        if self.held.is_empty() {
            return Ok(());
        }
        let format = self.format.format;
        let is_known = match store.task(&self.id) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                continued(store, &self.id)?.is_some()
            }
            Err(error) => return Err(error.into()),
        };
        if is_known || self.held.iter().all(|pending| is_aside(format, &pending.text)) {
            return self.write_held();
        }
        let (lines, format) = (self.held.len(), format.name());
        Err(Error::invalid(format!(
            "{name}: it looks like a session of {format}, and none of its {lines} records is a \
             message that can be read: nothing of it is recorded"
        ))
        .remedied_by(Remedy::NameOtherFormat(self.format.format)))
    }

    fn report_bad_line(&mut self, line: u64, why: &str) {
        self.bad_lines += 1;
        let place = format!("{}:{line}", self.job.name);
        self.progress.note(Note::Skipped { place: &place, reason: why });
    }

    fn write(&mut self, pending: Pending) -> Result<()> {
        let Job { store, options, name, stem, .. } = *self.job;
        let Pending { text, line, number } = pending;
        let session = match &mut self.session {
            Some(session) => session,
            none => {
                let made = Session::new(store, self.format, &self.id, &options.user);
                none.insert(made.map_err(|error| error.at(name))?)
            }
        };
        let written = NewLine {
            text: &text,
            line,
            number,
            // A pipe may be idle for hours.
            alone: options.acknowledge || stem.is_none(),
            listener: match options.acknowledge {
                true => Some(&mut *self.progress),
                false => None,
            },
        };
        let done = session.write(written);
        done.map_err(|error| error.at(format!("{name}:{number}")))?;
        self.report_refused();
        Ok(())
    }

    fn report_refused(&mut self) {
        let session = self.session.as_mut();
        let refused = session.map(Session::take_refused).unwrap_or_default();
        for Refused { number, why } in refused {
            self.report_bad_line(number, &why);
        }
    }

    fn finish(mut self, read: Result<()>) -> Result<RecordReport> {
        let name = self.job.name;
        read.and_then(|()| self.end())?;
        let head = match &mut self.session {
            Some(session) => session.finish().map_err(|error| error.at(name))?,
            None => 0,
        };
        self.report_refused();
        let mut report = RecordReport { bad_lines: self.bad_lines, ..RecordReport::default() };
        let Some(session) = &self.session else {
            if self.bad_lines == 0 {
                return Err(Error::invalid(format!("{name}: nothing but empty lines"))
                    .remedied_by(Remedy::GiveSession));
            }
            return Ok(report);
        };
        if session.repeated > 0 {
            self.progress.note(Note::RepeatedIds { input: name, lines: session.repeated });
        }
        if session.orphans() > 0 {
            self.progress.note(Note::MissingParents { input: name, lines: session.orphans() });
        }
        report.tasks.push(RecordedTask {
            task: session.task().to_owned(),
            format: self.format.format,
            lineages: session.lineages(),
            events: session.events,
            checkpoints: session.checkpoints,
            head,
        });
        Ok(report)
    }
}
