//! Sessions of Claude Code into a task: `docs/IMPORT.md`.
//!
//! ```text
//! line    one line: what it says as events, and where it belongs
//! lanes   the lineages that lines belong to, and what of them is on its way to the disk
//! ```

mod lanes;
mod line;

use std::io::BufRead;

use indicatif::ProgressBar;

use super::jsonl::{Line, Lines};
use super::{Format, Input, Outcome, Reader, Recorded, say_bad_line};
use crate::error::{Failure, Result};
use crate::output::{Out, bar, count, note};
use lanes::Lanes;
use line::SessionLine;

/// A bar is shown from so many bytes on.
const LONG: u64 = 8 << 20;

/// Records a session. Of one that was recorded before only what is new is written.
pub fn record(input: &Input<'_>, reader: Reader, out: &mut Out) -> Result<Outcome> {
    let size = input.size.unwrap_or_default();
    // An event is smaller than its line.
    let lines = Lines::new(reader, input.args.event_max, input.args.event_max);
    let mut recorder = Recorder {
        input,
        lanes: None,
        bad_lines: 0,
        bar: bar(size, &input.name, size >= LONG && !out.json, true),
    };
    let read = recorder.lines(lines);
    recorder.bar.finish_and_clear();
    recorder.finish(read)
}

struct Recorder<'a> {
    input: &'a Input<'a>,
    /// Made at the first line that can be read, so that an input without one leaves no task.
    lanes: Option<Lanes>,
    bad_lines: u64,
    bar: ProgressBar,
}

impl Recorder<'_> {
    fn lines(&mut self, mut lines: Lines<impl BufRead>) -> Result<()> {
        loop {
            let line = lines.next_as(SessionLine::parse).map_err(|error| {
                let place = format!("{}:{}", self.input.name, lines.number() + 1);
                Failure::from(error).at(place)
            })?;
            self.bar.set_position(lines.bytes_read());
            match line {
                Line::End => return Ok(()),
                Line::Blank => {}
                Line::Bad(why) => self.bad(lines.number(), &why),
                Line::Event(line) => self.line(line, &lines)?,
            }
            if self.input.args.strict && self.bad_lines > 0 {
                return Ok(());
            }
        }
    }

    fn line(&mut self, line: SessionLine, lines: &Lines<impl BufRead>) -> Result<()> {
        let lanes = match &mut self.lanes {
            Some(lanes) => lanes,
            none => {
                let Input { engine, user, .. } = *self.input;
                none.insert(Lanes::of(engine, &self.input.task_id(), user)?)
            }
        };
        lanes.take(line, lines.number(), lines.length())?;
        self.say_refused();
        Ok(())
    }

    fn bad(&mut self, line: u64, why: &str) {
        self.bad_lines += 1;
        self.bar
            .suspend(|| say_bad_line(&self.input.name, line, why));
    }

    fn say_refused(&mut self) {
        let refused = self.lanes.as_mut().map(Lanes::take_refused);
        for (number, why) in refused.unwrap_or_default() {
            self.bad(number, &why);
        }
    }

    fn finish(mut self, read: Result<()>) -> Result<Outcome> {
        if let Some(lanes) = &mut self.lanes {
            lanes.finish()?;
        }
        self.say_refused();
        read?;
        let mut outcome = Outcome {
            bad_lines: self.bad_lines,
            ..Outcome::default()
        };
        let Some(lanes) = self.lanes else {
            return match outcome.bad_lines {
                0 => Err(
                    Failure::new(format!("{}: nothing but empty lines", self.input.name))
                        .hint("give a session: one JSON object a line"),
                ),
                _ => Ok(outcome),
            };
        };
        if lanes.orphans > 0 {
            let lines = count(lanes.orphans, "line");
            note(&format!(
                "{}: {lines} follow one that is not there: they stand where they came",
                self.input.name
            ));
        }
        outcome.recorded.push(Recorded {
            task: self.input.task_id(),
            input: self.input.name.clone(),
            format: Format::ClaudeCode,
            lineages: lanes.lineages(),
            events: lanes.events,
            checkpoints: lanes.checkpoints,
            head: lanes.head()?,
        });
        Ok(outcome)
    }
}
