//! Records JSON Lines into a task as they arrive.

use std::io::BufRead;

use indicatif::ProgressBar;
use milepost::events::{CheckpointMarked, MarkCause, MarkStatus};
use milepost::{Body, Engine, ErrorKind, Lineage, Mark};

use super::jsonl::{Line, Lines};
use super::write::{Refused, Writer, step_mark};
use super::{Format, Input, Outcome, Reader, Recorded, acknowledge, say_bad_line};
use crate::error::{Failure, Result};
use crate::output::{Out, bar};

/// Maximum size of a line beyond its event: names and quotes of JSON, and escapes.
const LINE_SLACK: usize = 1 << 20;
/// Minimum number of bytes for a progress bar.
const LONG: u64 = 8 << 20;

/// Records lines. An existing task is appended to on its active lineage.
pub fn record(input: &Input<'_>, reader: Reader, out: &mut Out) -> Result<Outcome> {
    let limit = input.args.event_max.saturating_add(LINE_SLACK);
    let size = input.size.unwrap_or_default();
    let lines = Lines::new(reader, limit, input.args.event_max);
    let mut recorder = Recorder {
        input,
        // A running program waits for its acknowledgement, and a pipe may be idle for hours.
        alone: input.args.ack || input.stem.is_none(),
        id: input.task_id(),
        writer: None,
        bad_lines: 0,
        bar: bar(size, &input.name, size >= LONG, true),
    };
    let read = recorder.lines(lines, out);
    recorder.bar.finish_and_clear();
    recorder.finish(read)
}

struct Recorder<'a> {
    input: &'a Input<'a>,
    alone: bool,
    id: String,
    /// Created at the first event, so that an input without one leaves no task.
    writer: Option<Writer>,
    bad_lines: u64,
    bar: ProgressBar,
}

impl Recorder<'_> {
    fn lines(&mut self, mut lines: Lines<impl BufRead>, out: &mut Out) -> Result<()> {
        loop {
            let line = lines.next_line().map_err(|error| {
                let place = format!("{}:{}", self.input.name, lines.number() + 1);
                Failure::from(error).at(place)
            })?;
            self.bar.set_position(lines.bytes_read());
            match line {
                Line::End => return Ok(()),
                Line::Blank => {}
                Line::Bad(why) => self.bad(lines.number(), &why),
                Line::Event(body) => self.event(lines.number(), body, lines.length(), out)?,
            }
            if self.input.args.strict && self.bad_lines > 0 {
                return Ok(());
            }
        }
    }

    fn bad(&mut self, line: u64, why: &str) {
        self.bad_lines += 1;
        self.bar.suspend(|| say_bad_line(&self.input.name, line, why));
    }

    fn event(&mut self, line: u64, body: Body, length: usize, out: &mut Out) -> Result<()> {
        if let Some(why) = self.why_not(&body, length) {
            self.bad(line, &why);
            return Ok(());
        }
        let step_end = match &body {
            Body::StepFinished(step) => Some((step.step, MarkStatus::Success)),
            Body::StepFailed(step) => Some((step.step, MarkStatus::Failure)),
            _ => None,
        };
        let alone = self.alone;
        let writer = self.writer()?;
        let durable = match body {
            Body::CheckpointMarked(mark) => match writer.mark(mark_of(mark)) {
                Ok(durable) => Some(durable),
                Err(failure) if failure.kind() == Some(ErrorKind::Invalid) => {
                    self.bad(line, &failure.to_string());
                    None
                }
                Err(failure) => return Err(failure),
            },
            body if alone => writer.push_alone(line, body)?,
            body => {
                writer.push(line, body, length)?;
                None
            }
        };
        self.say_refused();
        if let Some((step, status)) = step_end {
            self.writer()?.mark(step_mark(step, status))?;
            self.say_refused();
        }
        match durable {
            Some(durable) if self.input.args.ack => acknowledge(durable, out),
            _ => Ok(()),
        }
    }

    /// Returns the reason to refuse an event before the engine sees it.
    fn why_not(&self, body: &Body, length: usize) -> Option<String> {
        let max = self.input.args.event_max;
        let by_engine = match body {
            Body::LineageOpened(_) | Body::Restored(_) => true,
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

    fn writer(&mut self) -> Result<&mut Writer> {
        match &mut self.writer {
            Some(writer) => Ok(writer),
            none => {
                let lineage = lineage(self.input.engine, &self.id, self.input.user)?;
                Ok(none.insert(Writer::new(lineage)))
            }
        }
    }

    fn say_refused(&mut self) {
        let refused = self.writer.as_mut().map(Writer::take_refused).unwrap_or_default();
        for Refused { number, why } in refused {
            self.bad(number, &why);
        }
    }

    fn finish(mut self, read: Result<()>) -> Result<Outcome> {
        let bad_before = self.bad_lines;
        if let Some(writer) = &mut self.writer {
            writer.flush()?;
            if writer.unmarked {
                writer.mark(Mark::new().cause(MarkCause::Imported))?;
            }
        }
        self.say_refused();
        read?;
        let mut outcome = Outcome { bad_lines: self.bad_lines, ..Outcome::default() };
        match &self.writer {
            Some(writer) => outcome.recorded.push(Recorded {
                task: self.id,
                input: self.input.name.clone(),
                format: Format::Jsonl,
                lineages: 1,
                events: writer.events,
                checkpoints: writer.checkpoints,
                head: writer.lineage().head()?.next,
            }),
            None if bad_before == 0 => {
                let name = &self.input.name;
                return Err(Failure::new(format!("{name}: nothing but empty lines"))
                    .hint("give one event an object a line"));
            }
            None => {}
        }
        Ok(outcome)
    }
}

/// Returns the active lineage of the task, which is started if missing.
fn lineage(engine: &Engine, id: &str, user: &str) -> Result<Lineage> {
    let task = match engine.task(id) {
        Err(error) if error.kind() == ErrorKind::NotFound => engine.start_task(id, user)?,
        task => task?,
    };
    Ok(task.lineage().clone())
}

fn mark_of(body: CheckpointMarked) -> Mark {
    let mut mark = Mark::new().cause(body.cause).status(body.status);
    if let Some(label) = body.label {
        mark = mark.label(label);
    }
    if let Some(metadata) = body.metadata {
        mark = mark.metadata(metadata);
    }
    for alias in body.aliases {
        mark = mark.alias(alias);
    }
    mark
}
