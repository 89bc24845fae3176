//! A run as a person reads it: a line a turn, and a line for what was said between them.

use milepost::reading::{TEXT_MAX, Turn, Turns};
use milepost::{Body, Event};
use milepost_api::PointForm;
use milepost_reading::row_within;

use super::walk::Walk;
use crate::backend::{Backend, event_of};
use crate::commands::turn_text::{result, what};
use crate::error::Result;
use crate::output::{
    Out, Style, age, fitted, grouped_short, note, printable, seconds, shell_word, time_short,
};
use crate::store_locator::now_us;

/// Number of events from which on a step is shown in parts, so that it need not fit into memory.
const PART: usize = 4096;

/// Columns of the number of a step, at least.
const NUMBER: usize = 3;

/// Widths from which on the result, and the numbers, have columns.
const WITH_RESULT: usize = 60;
const WITH_NUMBERS: usize = 90;

/// A line of the output.
#[derive(Debug)]
enum Entry {
    Turn(Box<Turn>),
    /// An event between turns: its time and row.
    Between(u64, String),
}

/// Layout of the lines.
pub struct LineLayout {
    pub columns: usize,
    pub now_us: u64,
    /// Prints times in full, not as ages.
    pub stamps: bool,
}

impl LineLayout {
    pub fn of(out: &Out, stamps: bool) -> Self {
        Self { columns: out.limit(), now_us: now_us(), stamps }
    }

    /// Returns the most characters of a text.
    fn text_max(&self) -> usize {
        if self.columns == usize::MAX { usize::MAX } else { TEXT_MAX }
    }
}

/// Prints the last turns before a point, newest first or oldest first.
pub fn run(
    source: &dyn Backend,
    point: &PointForm,
    begin: u64,
    (last, oldest_first): (Option<u64>, bool),
    layout: &LineLayout,
    out: &mut Out,
) -> Result<()> {
    let mut left = last.unwrap_or(u64::MAX);
    if oldest_first && last.is_none() {
        return forwards(source, point, begin, layout, out);
    }
    let mut is_empty = true;
    let mut walk = Walk::new(source, point, begin..point.offset.0);
    let mut kept = Vec::new();
    while left > 0 {
        let entries = segment(&mut walk, left, layout)?;
        if entries.is_empty() {
            break;
        }
        for entry in entries.into_iter().rev().take(usize::try_from(left).unwrap_or(usize::MAX)) {
            left -= 1;
            is_empty = false;
            match oldest_first {
                true => kept.push(entry),
                false => entry.print(layout, out)?,
            }
        }
    }
    if is_empty && last != Some(0) {
        nothing_told(point);
    }
    kept.iter().rev().try_for_each(|entry| entry.print(layout, out))
}

/// Notes that the events are of kinds that have no line.
fn nothing_told(point: &PointForm) {
    let place = shell_word(&point.address);
    note(&format!("nothing was said or called: `milepost log {place} --events` prints the events"));
}

fn forwards(
    source: &dyn Backend,
    point: &PointForm,
    begin: u64,
    layout: &LineLayout,
    out: &mut Out,
) -> Result<()> {
    let mut entries = Entries::within(layout.text_max());
    source.events(point, begin..point.offset.0, &mut |event| {
        entries.add(&event_of(event));
        entries.ready.drain(..).try_for_each(|entry| entry.print(layout, out))
    })?;
    entries.end();
    if !entries.has_told {
        nothing_told(point);
    }
    entries.ready.iter().try_for_each(|entry| entry.print(layout, out))
}

/// Reads events backwards to the beginning of a step, and returns their lines, oldest first.
fn segment(walk: &mut Walk<'_>, wanted: u64, layout: &LineLayout) -> Result<Vec<Entry>> {
    let mut events = Vec::new();
    while let Some(event) = walk.next(wanted.saturating_mul(8))? {
        let begins = matches!(&event.body, Some(Body::StepStarted(_)));
        events.push(event_of(event));
        if begins || events.len() == PART {
            break;
        }
    }
    let mut entries = Entries::within(layout.text_max());
    events.iter().rev().for_each(|event| entries.add(event));
    entries.end();
    Ok(entries.ready)
}

/// Events, divided into lines.
struct Entries {
    text_max: usize,
    turns: Turns,
    ready: Vec<Entry>,
    /// Set once there was a line.
    has_told: bool,
}

impl Entries {
    fn within(text_max: usize) -> Self {
        Self { text_max, turns: Turns::within(text_max), ready: Vec::new(), has_told: false }
    }

    fn add(&mut self, event: &Event) {
        let ended = self.turns.add(event);
        let is_in = |turn: &Turn| turn.next == event.offset.saturating_add(1);
        let inside = ended.as_ref().is_some_and(is_in) || self.turns.reaches(event.offset);
        self.ready.extend(ended.map(|turn| Entry::Turn(Box::new(turn))));
        if !inside && is_told(event) {
            let text = format!("{}{}", prefix(event), row_within(event, self.text_max));
            self.ready.push(Entry::Between(event.header.time_us, text));
        }
        self.has_told |= !self.ready.is_empty();
    }

    fn end(&mut self) {
        self.ready.extend(self.turns.end().map(|turn| Entry::Turn(Box::new(turn))));
        self.has_told |= !self.ready.is_empty();
    }
}

/// Returns the word before the row of an event whose row does not say its kind.
fn prefix(event: &Event) -> &'static str {
    match &event.body {
        Some(Body::LineageOpened(_)) => "lineage: ",
        Some(Body::GuidanceGiven(_)) => "guidance: ",
        Some(Body::PromptChanged(_)) => "prompt: ",
        Some(Body::ControlChanged(_)) => "run: ",
        Some(Body::Restored(_)) => "restored ",
        Some(Body::PhaseChanged(_)) => "phase: ",
        Some(Body::CheckpointMarked(_)) => "checkpoint: ",
        Some(Body::WorkspaceCaptured(_)) => "captured ",
        _ => "",
    }
}

/// Returns `true` for an event between turns that a reader wants to see.
fn is_told(event: &Event) -> bool {
    match &event.body {
        Some(Body::LineageOpened(opened)) => opened.parent.is_some(),
        Some(Body::Message(_) | Body::GuidanceGiven(_) | Body::PromptChanged(_)) => true,
        Some(Body::ControlChanged(_) | Body::Restored(_) | Body::PhaseChanged(_)) => true,
        Some(Body::CheckpointMarked(mark)) => mark.label.is_some(),
        Some(Body::WorkspaceCaptured(_)) => true,
        // An erased event may have been any of these.
        None => true,
        _ => false,
    }
}

impl Entry {
    fn print(&self, layout: &LineLayout, out: &mut Out) -> Result<()> {
        let line = match self {
            Self::Turn(turn) => layout.turn(turn, out),
            Self::Between(time_us, text) => layout.between(*time_us, text, out),
        };
        Ok(out.line(line.trim_end())?)
    }
}

impl LineLayout {
    fn when(&self, time_us: u64) -> String {
        match self.stamps {
            true => time_short(time_us),
            false => age(self.now_us.saturating_sub(time_us)),
        }
    }

    /// Returns the columns of the time.
    fn when_columns(&self) -> usize {
        if self.stamps { 20 } else { 4 }
    }

    fn between(&self, time_us: u64, text: &str, out: &Out) -> String {
        let lead = 2 + NUMBER + 2;
        let right = if self.columns >= WITH_NUMBERS { self.when_columns() + 2 } else { 0 };
        let text = match self.columns {
            usize::MAX => printable(text).into_owned(),
            columns => fitted(text, columns.saturating_sub(lead + right)),
        };
        let when = if right > 0 { format!("  {}", self.when(time_us)) } else { String::new() };
        out.style(Style::Dim, &format!("{:lead$}{text}{when}", ""))
    }

    fn turn(&self, turn: &Turn, out: &Out) -> String {
        let number = match (turn.step, turn.turn) {
            (Some(step), 0) => step.to_string(),
            (Some(_), _) => String::new(),
            // The end of its address: TASK@N is before it.
            (None, _) => format!("@{}", turn.first),
        };
        let number = format!("{number:>NUMBER$}");
        let glyph = match (&turn.failed, &turn.mark) {
            (Some(_), _) => out.style(Style::Bad, "✗"),
            (None, Some(_)) => out.style(Style::Good, "◆"),
            (None, None) => "○".to_owned(),
        };
        let numbers = self.numbers(turn);
        let lead = 2 + number.len() + 2;
        let room = self.columns.saturating_sub(lead + numbers.len());
        let (what, result) = (what(turn), result(turn));
        let look = |text: &str| match turn.failed {
            Some(_) => out.style(Style::Bad, text),
            None => out.style(Style::Dim, text),
        };
        if self.columns == usize::MAX {
            // Nothing reads the columns of a pipe, and nothing is cut there.
            let (what, result) = (printable(&what).into_owned(), look(&printable(&result)));
            return format!("{glyph} {number}  {what}  {result}{numbers}");
        }
        let body = match (self.columns >= WITH_RESULT, &turn.failed) {
            (true, _) => {
                let half = room * 11 / 20;
                let second = fitted(&result, room.saturating_sub(half + 2));
                format!("{}  {}", fitted(&what, half), look(&second))
            }
            (false, Some(reason)) => {
                let half = room / 2;
                let second = fitted(reason, room.saturating_sub(half + 1));
                format!("{} {}", fitted(&what, half), look(&second))
            }
            (false, None) => fitted(&what, room),
        };
        format!("{glyph} {number}  {body}{numbers}")
    }

    /// Returns the columns of time taken, tokens and age.
    fn numbers(&self, turn: &Turn) -> String {
        if self.columns < WITH_NUMBERS {
            return String::new();
        }
        let took = turn.took_us.filter(|took| *took >= 1000).map(seconds).unwrap_or_default();
        let tokens = turn.usage.as_ref().and_then(|usage| usage.tokens());
        let tokens = tokens.map(grouped_short).unwrap_or_default();
        let (when, columns) = (self.when(turn.time_us), self.when_columns());
        format!("  {took:>6}  {tokens:>5}  {when:>columns$}")
    }
}

#[cfg(test)]
mod tests {
    use milepost::events::{Message, StepStarted, ToolCalled, ToolReturned};
    use milepost::{Header, Json, LineageId};
    use proptest::prelude::*;

    use super::*;
    use crate::output::{When, width};

    fn entries(bodies: Vec<Body>) -> Vec<Entry> {
        let mut entries = Entries::within(TEXT_MAX);
        for (offset, body) in (0..).zip(bodies) {
            let header = Header { time_us: offset * 1_000_000, ..Header::default() };
            let lineage = LineageId(0);
            entries.add(&Event { lineage, offset, header, body: Some(body) });
        }
        entries.end();
        entries.ready
    }

    fn lines(entries: &[Entry], columns: usize) -> Vec<String> {
        let out = Out::new(false, When::Never);
        let layout = LineLayout { columns, now_us: 100_000_000, stamps: false };
        let line = |entry: &Entry| match entry {
            Entry::Turn(turn) => layout.turn(turn, &out),
            Entry::Between(time, text) => layout.between(*time, text, &out),
        };
        entries.iter().map(|entry| line(entry).trim_end().to_owned()).collect()
    }

    fn sample(text: &str, ok: bool) -> Vec<Body> {
        let arguments = Json::from_value(&serde_json::json!({ "command": text })).unwrap();
        let call = || "c".to_owned();
        let output = Some(Json::string(text));
        vec![
            Message::text("user", text).into(),
            StepStarted { step: 7, ..StepStarted::default() }.into(),
            Message::text("assistant", text).into(),
            ToolCalled { call: call(), tool: "bash".into(), arguments }.into(),
            ToolReturned { call: call(), tool: None, ok, output }.into(),
        ]
    }

    #[test]
    fn a_turn_is_a_line_with_what_was_done_and_what_came_back() {
        let of = |columns| lines(&entries(sample("make test", false)), columns).join("\n");
        assert_eq!(of(40), "       user: make test\n✗   7  bash make test   make test");
        let wide = of(100);
        assert!(wide.contains("✗   7  bash make test"), "{wide}");
        assert!(wide.contains("  3.0 s ") && wide.ends_with(" 1m"), "{wide}");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_screen(text in "[\\s\\S]{0,300}", ok: bool) {
            let entries = entries(sample(&text, ok));
            for columns in [40, 80, 120, 200] {
                for line in lines(&entries, columns) {
                    prop_assert!(width(&line) <= columns, "{} {}", columns, line);
                    prop_assert!(!line.chars().any(char::is_control));
                }
            }
        }
    }
}
