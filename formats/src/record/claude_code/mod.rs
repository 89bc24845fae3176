//! Sessions of Claude Code: JSON Lines, one file per session, in `~/.claude/projects/`.
//!
//! ```text
//! line     one line, and its events
//! tree     the branch of each line
//! session  events, marks and lineages written to the store
//! ```

pub mod line;
mod session;
pub mod tree;

use std::io::BufRead;

use indicatif::ProgressBar;
use serde::Deserialize;

use super::jsonl::{Lines, Text};
use super::write::Refused;
use super::{Format, Input, Outcome, Reader, Recorded, acknowledge, say_bad_line};
use crate::error::{Failure, Result};
use crate::output::{Out, bar, count, note};
use line::{Line, Said};
use session::{Session, Written};

/// Maximum size of a line beyond its event, for escapes that only the line needs.
const LINE_SLACK: usize = 1 << 20;
/// Minimum number of bytes for a progress bar.
const LONG: u64 = 8 << 20;

/// Records a session. Lines recorded before are not recorded again.
pub fn record(input: &Input<'_>, mut reader: Reader, out: &mut Out) -> Result<Outcome> {
    let start = reader.fill_buf().map_err(|error| Failure::from(error).at(&input.name))?;
    let id = task_id(input, start);
    let event_max = input.args.event_max;
    let lines = Lines::new(reader, event_max.saturating_add(LINE_SLACK), event_max);
    let size = input.size.unwrap_or_default();
    let mut recorder = Recorder {
        input,
        id,
        session: None,
        bad_lines: 0,
        repeated: 0,
        bar: bar(size, &input.name, size >= LONG && !out.json, true),
    };
    let read = recorder.lines(lines, out);
    recorder.bar.finish_and_clear();
    recorder.finish(read)
}

/// Returns the task of the session: the one asked for, or the id in its lines.
fn task_id(input: &Input<'_>, start: &[u8]) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Ids {
        session_id: String,
        agent_id: Option<String>,
    }
    let named = |line: &[u8]| {
        let ids: Ids = serde_json::from_slice(line).ok()?;
        // Lines of an agent also have the id of the session that it works for.
        match (ids.agent_id, &input.stem) {
            (Some(agent), Some(stem)) if stem.starts_with("agent-") => {
                Some(format!("{}-agent-{agent}", ids.session_id))
            }
            _ => Some(ids.session_id),
        }
    };
    if input.args.task.is_some() {
        return input.task_id();
    }
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    // A continued session begins with lines of the previous one.
    let mut found = start.split(|byte| *byte == b'\n').filter_map(named);
    let first = found.next();
    let own = |id: &String| input.stem.as_ref() == Some(id);
    let own = first.iter().cloned().chain(found).find(own);
    let found = own.or(first);
    let usable = |id: &String| (1..=150).contains(&id.len()) && !id.chars().any(char::is_control);
    found.filter(usable).unwrap_or_else(|| input.task_id())
}

struct Recorder<'a> {
    input: &'a Input<'a>,
    id: String,
    /// Created at the first line, so that an input without one leaves no task.
    session: Option<Session<'a>>,
    bad_lines: u64,
    /// Number of lines with the id of an earlier line.
    repeated: u64,
    bar: ProgressBar,
}

impl<'a> Recorder<'a> {
    fn lines(&mut self, mut lines: Lines<impl BufRead>, out: &mut Out) -> Result<()> {
        loop {
            let number = lines.number() + 1;
            let read = lines.next_text().map_err(|error| {
                let place = format!("{}:{number}", self.input.name);
                Failure::from(error).at(place)
            })?;
            match read {
                Text::End => return Ok(()),
                Text::Blank => {}
                Text::Bad(why) => self.bad(number, &why),
                Text::Line(text) => match line::read(text) {
                    Ok(line) => self.line(number, text, line, out)?,
                    Err(why) => self.bad(number, &why),
                },
            }
            self.bar.set_position(lines.bytes_read());
            if self.input.args.strict && self.bad_lines > 0 {
                return Ok(());
            }
        }
    }

    fn bad(&mut self, line: u64, why: &str) {
        self.bad_lines += 1;
        self.bar.suspend(|| say_bad_line(&self.input.name, line, why));
    }

    fn line(&mut self, number: u64, text: &str, mut line: Line, out: &mut Out) -> Result<()> {
        let ack = self.input.args.ack;
        // A pipe may be idle for hours.
        let alone = ack || self.input.stem.is_none();
        let name = self.input.name.clone();
        let session = self.session()?;
        let again = line.uuid.as_deref().is_some_and(|uuid| session.has(uuid));
        if again {
            // The line is kept, but no line continues from it: its id would then have two places.
            line = Line {
                time_us: line.time_us,
                said: Said::Nothing,
                events: Line::as_it_is(text).map_err(Failure::new)?,
                ..Line::default()
            };
        }
        let mut tell = |durable| match ack {
            true => acknowledge(durable, out),
            false => Ok(()),
        };
        let written = Written {
            name: line.name(text),
            line,
            number,
            heard: if alone { Some(&mut tell) } else { None },
        };
        let done = session.write(written);
        done.map_err(|failure| failure.at(format!("{name}:{number}")))?;
        self.repeated += u64::from(again);
        self.say_refused();
        Ok(())
    }

    fn session(&mut self) -> Result<&mut Session<'a>> {
        match &mut self.session {
            Some(session) => Ok(session),
            none => {
                let made = Session::new(self.input.engine, &self.id, self.input.user)
                    .map_err(|failure| failure.at(&self.input.name))?;
                Ok(none.insert(made))
            }
        }
    }

    fn say_refused(&mut self) {
        let session = self.session.as_mut();
        let refused = session.map(Session::take_refused).unwrap_or_default();
        for Refused { number, why } in refused {
            self.bad(number, &why);
        }
    }

    fn finish(mut self, read: Result<()>) -> Result<Outcome> {
        let name = &self.input.name;
        read?;
        let head = match &mut self.session {
            Some(session) => session.finish().map_err(|failure| failure.at(name))?,
            None => 0,
        };
        self.say_refused();
        let mut outcome = Outcome { bad_lines: self.bad_lines, ..Outcome::default() };
        let Some(session) = &self.session else {
            if self.bad_lines == 0 {
                let name = &self.input.name;
                return Err(Failure::new(format!("{name}: nothing but empty lines"))
                    .hint("give a session file, as in ~/.claude/projects/"));
            }
            return Ok(outcome);
        };
        if self.repeated > 0 {
            let lines = count(self.repeated, "line");
            note(&format!(
                "{}: {lines} with an id that came before: kept, and not continued",
                self.input.name
            ));
        }
        if session.orphans() > 0 {
            let lines = count(session.orphans(), "line");
            note(&format!(
                "{}: {lines} behind one that is not there: they go on from the line before in the \
                 file",
                self.input.name
            ));
        }
        outcome.recorded.push(Recorded {
            task: self.id.clone(),
            input: self.input.name.clone(),
            format: Format::ClaudeCode,
            lineages: session.lineages(),
            events: session.events,
            checkpoints: session.checkpoints,
            head,
        });
        Ok(outcome)
    }
}
