//! The import of a session: a file from its beginning to its end.

use std::io::BufRead;

use milepost::calls::check_given_up;

use super::line::SessionLine;
use super::writer::{NewLine, Session};
use super::{LineParser, SessionFormat};
use crate::error::{Error, Remedy, Result};
use crate::input::Reader;
use crate::progress::{Note, Progress, Unit, Work};
use crate::record::jsonl::{LINE_SLACK, Lines, Text};
use crate::record::write::Refused;
use crate::record::{Job, RecordReport, RecordedTask};

/// Records a session. Lines recorded before are not recorded again.
pub(in crate::record) fn record(
    job: &Job<'_>,
    format: &'static SessionFormat,
    mut reader: Reader,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let start = reader.fill_buf().map_err(|error| Error::from(error).at(job.name))?;
    let id = task_id(job, format, start);
    let event_max = job.options.event_max;
    let lines = Lines::new(reader, event_max.saturating_add(LINE_SLACK), event_max);
    progress.begin(Work { name: job.name, unit: Unit::Bytes, total: job.size });
    let parser = (format.parser)();
    let mut recorder = Recorder { job, format, parser, id, session: None, bad_lines: 0, progress };
    let read = recorder.lines(lines);
    recorder.progress.end();
    recorder.finish(read)
}

/// Returns the task of the session: the one asked for, or the id in its lines.
fn task_id(job: &Job<'_>, format: &SessionFormat, start: &[u8]) -> String {
    if job.options.task.is_some() {
        return job.task_id();
    }
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let found = (format.session_id)(start, job.stem);
    let usable = |id: &String| (1..=150).contains(&id.len()) && !id.chars().any(char::is_control);
    found.filter(usable).unwrap_or_else(|| job.task_id())
}

struct Recorder<'a> {
    job: &'a Job<'a>,
    format: &'static SessionFormat,
    parser: Box<dyn LineParser>,
    id: String,
    /// Created at the first line, so that an input without one leaves no task.
    session: Option<Session>,
    bad_lines: u64,
    progress: &'a mut dyn Progress,
}

impl Recorder<'_> {
    fn lines(&mut self, mut lines: Lines<impl BufRead>) -> Result<()> {
        loop {
            let before = lines.bytes_read();
            let number = lines.number() + 1;
            check_given_up()?;
            let read = lines.next_text().map_err(|error| {
                let place = format!("{}:{number}", self.job.name);
                Error::from(error).at(place)
            })?;
            match read {
                Text::End => return Ok(()),
                Text::Blank => {}
                Text::Bad(why) => self.report_bad_line(number, &why),
                Text::Line(text) => match self.parser.read(text) {
                    Ok(line) => self.line(number, text, line)?,
                    Err(why) => self.report_bad_line(number, &why),
                },
            }
            self.progress.advance(lines.bytes_read() - before);
            if self.job.options.strict && self.bad_lines > 0 {
                return Ok(());
            }
        }
    }

    fn report_bad_line(&mut self, line: u64, why: &str) {
        self.bad_lines += 1;
        let place = format!("{}:{line}", self.job.name);
        self.progress.note(Note::Skipped { place: &place, reason: why });
    }

    fn line(&mut self, number: u64, text: &str, line: SessionLine) -> Result<()> {
        let Job { store, options, name, stem, .. } = *self.job;
        let session = match &mut self.session {
            Some(session) => session,
            none => {
                let made = Session::new(store, self.format, &self.id, &options.user);
                none.insert(made.map_err(|error| error.at(name))?)
            }
        };
        let written = NewLine {
            text,
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
        read?;
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
