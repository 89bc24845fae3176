//! Sessions of Claude Code: JSON Lines, one file per session, in `~/.claude/projects/`.
//!
//! ```text
//! line     one line, and its events
//! tree     the branch of each line
//! session  events, marks and lineages written to the store
//! ```

pub(crate) mod line;
mod session;
pub(crate) mod tree;

use std::io::BufRead;

use milepost::calls::check_given_up;
use serde::Deserialize;

use super::jsonl::{Lines, Text};
use super::write::Refused;
use super::{Job, RecordReport, RecordedTask};
use crate::error::{Error, Remedy, Result};
use crate::format::Format;
use crate::input::Reader;
use crate::progress::{Note, Progress, Unit, Work};
use line::{Part, SessionLine};
use session::{NewLine, Session};

/// Maximum size of a line beyond its event, for escapes that only the line needs.
const LINE_SLACK: usize = 1 << 20;
/// Records a session. Lines recorded before are not recorded again.
pub(super) fn record(
    job: &Job<'_>,
    mut reader: Reader,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let start = reader.fill_buf().map_err(|error| Error::from(error).at(job.name))?;
    let id = task_id(job, start);
    let event_max = job.options.event_max;
    let lines = Lines::new(reader, event_max.saturating_add(LINE_SLACK), event_max);
    progress.begin(Work { name: job.name, unit: Unit::Bytes, total: job.size });
    let mut recorder = Recorder { job, id, session: None, bad_lines: 0, repeated: 0, progress };
    let read = recorder.lines(lines);
    recorder.progress.end();
    recorder.finish(read)
}

/// Returns the task of the session: the one asked for, or the id in its lines.
fn task_id(job: &Job<'_>, start: &[u8]) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Ids {
        session_id: String,
        agent_id: Option<String>,
    }
    let session_id = |line: &[u8]| {
        let ids: Ids = serde_json::from_slice(line).ok()?;
        // Lines of an agent also have the id of the session that it works for.
        match (ids.agent_id, job.stem) {
            (Some(agent), Some(stem)) if stem.starts_with("agent-") => {
                Some(format!("{}-agent-{agent}", ids.session_id))
            }
            _ => Some(ids.session_id),
        }
    };
    if job.options.task.is_some() {
        return job.task_id();
    }
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    // A continued session begins with lines of the previous one.
    let mut found = start.split(|byte| *byte == b'\n').filter_map(session_id);
    let first = found.next();
    let own = |id: &String| job.stem == Some(id.as_str());
    let own = first.iter().cloned().chain(found).find(own);
    let found = own.or(first);
    let usable = |id: &String| (1..=150).contains(&id.len()) && !id.chars().any(char::is_control);
    found.filter(usable).unwrap_or_else(|| job.task_id())
}

struct Recorder<'a> {
    job: &'a Job<'a>,
    id: String,
    /// Created at the first line, so that an input without one leaves no task.
    session: Option<Session<'a>>,
    bad_lines: u64,
    /// Number of lines with the id of an earlier line.
    repeated: u64,
    progress: &'a mut dyn Progress,
}

impl<'a> Recorder<'a> {
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
                Text::Line(text) => match line::read(text) {
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

    fn line(&mut self, number: u64, text: &str, mut line: SessionLine) -> Result<()> {
        let Job { store, options, name, stem, .. } = *self.job;
        let session = match &mut self.session {
            Some(session) => session,
            none => {
                let made = Session::new(store, &self.id, &options.user);
                none.insert(made.map_err(|error| error.at(name))?)
            }
        };
        let is_repeated = line.uuid.as_deref().is_some_and(|uuid| session.has(uuid));
        if is_repeated {
            // The line is kept, but no line continues from it: its id would then have two places.
            line = SessionLine {
                time_us: line.time_us,
                part: Part::Nothing,
                events: SessionLine::as_it_is(text).map_err(Error::invalid)?,
                ..SessionLine::default()
            };
        }
        let written = NewLine {
            name: line.name(text),
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
        self.repeated += u64::from(is_repeated);
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
        if self.repeated > 0 {
            self.progress.note(Note::RepeatedIds { input: name, lines: self.repeated });
        }
        if session.orphans() > 0 {
            self.progress.note(Note::MissingParents { input: name, lines: session.orphans() });
        }
        report.tasks.push(RecordedTask {
            task: self.id,
            format: Format::ClaudeCode,
            lineages: session.lineages(),
            events: session.events,
            checkpoints: session.checkpoints,
            head,
        });
        Ok(report)
    }
}
