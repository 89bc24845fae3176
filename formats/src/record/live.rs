//! Records JSON Lines into a task as they arrive.

use std::io::BufRead;

use milepost::events::{MarkCause, MarkStatus};
use milepost::{Body, ErrorKind, Mark};

use super::jsonl::{EventLine, LINE_SLACK, Lines, unknown_kind};
use super::lines::{LineSink, LineStore, RefusedLine};
use super::write::{acknowledge, step_mark};
use super::{Job, RecordReport, RecordedTask};
use crate::error::{Error, Remedy, Result};
use crate::format::Format;
use crate::input::Reader;
use crate::progress::{Durable, Note, Progress, Unit, Work};

/// Number of bad lines at the beginning of an input after which it does not count as JSON Lines.
const BAD_BEGINNING: u64 = 20;

/// Records lines. An existing task is appended to on its active lineage.
pub(super) fn record(
    job: &Job<'_, dyn LineStore + '_>,
    reader: Reader,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let event_max = job.options.event_max;
    let lines = Lines::new(reader, event_max.saturating_add(LINE_SLACK), event_max);
    progress.begin(Work { name: job.name, unit: Unit::Bytes, total: job.size });
    let mut recorder = Recorder {
        job,
        // A running program waits for its acknowledgement, and a pipe may be idle for hours.
        alone: job.options.acknowledge || !job.is_file || job.store.is_alone(),
        id: job.task_id(),
        writer: None,
        bad_lines: 0,
        unknown_kinds: 0,
        withheld: Vec::new(),
        is_begun: false,
        progress,
    };
    let read = recorder.lines(lines);
    recorder.progress.end();
    recorder.finish(read)
}

struct Recorder<'a> {
    job: &'a Job<'a, dyn LineStore + 'a>,
    alone: bool,
    id: String,
    /// Created at the first event, so that an input without one leaves no task.
    writer: Option<Box<dyn LineSink + 'a>>,
    bad_lines: u64,
    unknown_kinds: u64,
    /// Bad lines at the beginning, except for the first one: the input may be no JSON Lines.
    withheld: Vec<(u64, String)>,
    /// True once a line was an event.
    is_begun: bool,
    progress: &'a mut dyn Progress,
}

impl<'a> Recorder<'a> {
    fn lines(&mut self, mut lines: Lines<impl BufRead>) -> Result<()> {
        loop {
            let before = lines.bytes_read();
            let line = lines.next_line().map_err(|error| {
                let place = format!("{}:{}", self.job.name, lines.number() + 1);
                Error::from(error).at(place)
            })?;
            self.progress.advance(lines.bytes_read() - before);
            // An input that was read to its end is recorded, even if the job is cancelled.
            if matches!(line, EventLine::End) {
                return Ok(());
            }
            self.job.store.cancel().check()?;
            match line {
                EventLine::End | EventLine::Blank => {}
                EventLine::Bad(why) => self.report_bad_line(lines.number(), &why),
                EventLine::Unknown(kind, _) if !self.job.options.allow_unknown => {
                    self.unknown_kinds += 1;
                    self.report_bad_line(lines.number(), &unknown_kind(&kind));
                }
                EventLine::Event(body) | EventLine::Unknown(_, body) => {
                    self.begin();
                    self.event(lines.number(), body, lines.length())?;
                }
            }
            if !self.is_begun && self.bad_lines >= BAD_BEGINNING {
                return Err(self.not_json_lines());
            }
            if self.job.options.strict && self.bad_lines > 0 {
                return Ok(());
            }
        }
    }

    /// Reports the bad lines before the first event.
    fn begin(&mut self) {
        self.is_begun = true;
        for (line, why) in std::mem::take(&mut self.withheld) {
            self.note_bad_line(line, &why);
        }
    }

    /// Returns the error of an input without an event among its first lines.
    fn not_json_lines(&mut self) -> Error {
        self.withheld.clear();
        let (name, lines) = (self.job.name, self.bad_lines);
        let remedy = match self.unknown_kinds {
            0 => Remedy::GiveEventLines,
            _ => Remedy::AllowUnknown,
        };
        let why = format!("none of the first {lines} lines is an event: this is no JSON Lines");
        Error::invalid(why).at(name).remedied_by(remedy)
    }

    fn report_bad_line(&mut self, line: u64, why: &str) {
        self.bad_lines += 1;
        match self.is_begun || self.bad_lines == 1 {
            true => self.note_bad_line(line, why),
            false => self.withheld.push((line, why.to_owned())),
        }
    }

    fn note_bad_line(&mut self, line: u64, why: &str) {
        let place = format!("{}:{line}", self.job.name);
        self.progress.note(Note::Skipped { place: &place, reason: why });
    }

    fn event(&mut self, line: u64, body: Body, length: usize) -> Result<()> {
        if let Some(why) = self.why_not(&body, length) {
            self.report_bad_line(line, &why);
            return Ok(());
        }
        let step_mark = match &body {
            Body::StepFinished(step) => Some(step_mark(step.step, MarkStatus::Success)),
            Body::StepFailed(step) => Some(step_mark(step.step, MarkStatus::Failure)),
            _ => None,
        };
        let alone = self.alone;
        let writer = self.writer()?;
        let durable = match body {
            Body::CheckpointMarked(mark) => self.mark(line, mark.into())?,
            body if alone => writer.push_alone(line, body, step_mark)?,
            body => {
                writer.push(line, body, length)?;
                if let Some(mark) = step_mark {
                    writer.mark(mark)?;
                }
                None
            }
        };
        self.report_refused();
        match durable {
            Some(durable) if self.job.options.acknowledge => acknowledge(durable, self.progress),
            _ => Ok(()),
        }
    }

    /// Marks a checkpoint that is a line of the input.
    fn mark(&mut self, line: u64, mark: Mark) -> Result<Option<Durable>> {
        let alone = self.alone;
        let writer = self.writer()?;
        let marked = match alone {
            true => writer.mark_alone(mark).map(Some),
            false => writer.mark(mark).map(|()| None),
        };
        match marked {
            Err(error) if error.engine().map(milepost::Error::kind) == Some(ErrorKind::Invalid) => {
                self.report_bad_line(line, &error.to_string());
                Ok(None)
            }
            marked => marked,
        }
    }

    /// Returns the reason to refuse an event before the engine sees it.
    fn why_not(&self, body: &Body, length: usize) -> Option<String> {
        let max = self.job.options.event_max;
        let by_engine = match body {
            Body::LineageOpened(_) | Body::Restored(_) => true,
            // A line has no correlation id, which is the alias of the checkpoint.
            Body::DataAttached(_) => true,
            Body::CheckpointMarked(mark) => mark.at.is_some() || mark.parent.is_some(),
            _ => false,
        };
        if by_engine {
            let kind = body.kind_name();
            return Some(format!("{kind} belongs to its own store and cannot be recorded anew"));
        }
        // A digit may be encoded as eight bytes, so a shorter line cannot exceed the limit.
        if length.saturating_mul(9) > max {
            let bytes = body.encode().1.len();
            if bytes > max {
                return Some(format!("an event of {bytes} bytes is over the limit of {max}"));
            }
        }
        None
    }

    fn writer(&mut self) -> Result<&mut (dyn LineSink + 'a)> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(self.job.store.open(&self.id, &self.job.options.user)?),
        };
        Ok(writer.as_mut())
    }

    fn report_refused(&mut self) {
        let refused = self.writer.as_mut().map(|writer| writer.take_refused());
        for RefusedLine { number, why } in refused.unwrap_or_default() {
            self.report_bad_line(number, &why);
        }
    }

    fn finish(mut self, read: Result<()>) -> Result<RecordReport> {
        self.begin();
        let bad_before = self.bad_lines;
        if let Some(writer) = &mut self.writer {
            writer.flush()?;
            if writer.counts().unmarked {
                writer.mark_alone(Mark::new().cause(MarkCause::Imported))?;
            }
        }
        self.report_refused();
        read?;
        let mut report = RecordReport {
            bad_lines: self.bad_lines,
            unknown_kinds: self.unknown_kinds,
            ..RecordReport::default()
        };
        match &self.writer {
            Some(writer) => report.tasks.push(RecordedTask {
                task: self.id,
                format: Format::Jsonl,
                lineages: 1,
                events: writer.counts().events,
                checkpoints: writer.counts().checkpoints,
                head: writer.head()?,
            }),
            None if bad_before == 0 => {
                let name = self.job.name;
                return Err(Error::invalid(format!("{name}: nothing but empty lines"))
                    .remedied_by(Remedy::GiveEventLines));
            }
            None => {}
        }
        Ok(report)
    }
}
