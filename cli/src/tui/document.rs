//! The document of a turn or an event: what was said and done, the state, files, JSON.

use milepost::reading::row;
use milepost::state::MessageRange;
use milepost::{Body, ErrorKind};
use milepost_api::{EventForm, PointForm, TurnForm, UsageForm};
use milepost_reading::units;

use super::metrics::value_text;
use super::task::{DocumentKey, Tab, TaskView};
use crate::backend::{Backend, event_of, point_at};
use crate::error::{Failure, Result};
use crate::output::{
    BodyLine, Style, body_lines, count, duration, excerpt, grouped, printable, printable_lines,
    shell_word, size, time_short, words,
};
use crate::terminal::{Line, Tone};

/// The most of a document: bytes, events of a turn, and files.
const BYTES: usize = 256 << 10;
const EVENTS: u64 = 200;
const FILES: usize = 2000;

/// The most of one text of an event, in bytes.
const TEXT: usize = 64 << 10;

/// Columns of the value of a change.
const VALUE: usize = 160;

/// The most changes of a state that are listed.
const CHANGES: usize = BYTES / VALUE;

/// Reads a document. A failure is its text.
pub fn read(source: &dyn Backend, view: &TaskView, key: DocumentKey) -> Vec<Line> {
    let point = |at: u64| point_at(&view.form.id, key.lineage, at);
    let (first, next) = (key.range.first, key.range.next);
    let lines = match key.tab {
        Tab::Step => step(source, view, key),
        Tab::State => state(source, &point(next)),
        Tab::Changes => changes(source, &point(first), &point(next)),
        Tab::Files => files(source, &point(next)),
        Tab::Raw => raw(source, &point(first)),
    };
    lines.unwrap_or_else(|failure| vec![Line::new(Tone::Removed, shown(&failure))])
}

fn shown(failure: &Failure) -> String {
    printable(&failure.to_string()).into_owned()
}

/// Lines of a document that ends where it has no more room.
struct Lines {
    lines: Vec<Line>,
    bytes: usize,
}

impl Lines {
    fn new() -> Self {
        Self { lines: Vec::new(), bytes: 0 }
    }

    fn add(&mut self, tone: Tone, text: impl Into<String>) {
        let text = text.into();
        self.bytes += text.len() + 1;
        self.lines.push(Line::new(tone, text));
    }

    /// Adds lines of a text up to a number of bytes, and the command that prints the whole.
    fn text(&mut self, tone: Tone, text: &str, most: usize, whole: &str) {
        let mut taken = 0;
        for line in text.split('\n') {
            taken += line.len() + 1;
            if taken > most + 1 {
                let left = size((text.len() + line.len() + 1 - taken) as u64);
                self.add(Tone::Dim, format!("… {left} more: `{whole}`"));
                return;
            }
            self.add(tone, line);
        }
    }

    fn is_full(&self) -> bool {
        self.bytes > BYTES
    }
}

fn step(source: &dyn Backend, view: &TaskView, key: DocumentKey) -> Result<Vec<Line>> {
    let mut lines = Lines::new();
    let is_of = |turn: &&TurnForm| (turn.first.0, turn.next.0) == (key.range.first, key.range.next);
    let turn = view.steps.chosen().filter(is_of);
    if let Some(turn) = turn.filter(|_| !view.is_events && view.steps.cursor.event.is_none()) {
        heading(turn, &mut lines);
    }
    let end = key.range.next.min(key.range.first.saturating_add(EVENTS));
    let (mut last, point) =
        (key.range.first, point_at(&view.form.id, key.lineage, key.range.first));
    let stopped = source.events(&point, key.range.first..end, &mut |event| {
        if lines.is_full() {
            return Err(Failure::reported(0));
        }
        last = event.offset.0 + 1;
        of_event(&event, view, &mut lines);
        Ok(())
    });
    if let Err(failure) = stopped
        && !lines.is_full()
    {
        return Err(failure);
    }
    if last < key.range.next {
        let more = count(key.range.next - last, "event");
        lines.add(Tone::Dim, format!("… {more} more: `v` lists them"));
    }
    Ok(lines.lines)
}

fn heading(turn: &TurnForm, lines: &mut Lines) {
    let step = turn.step.map(|step| format!("Step {step}")).unwrap_or_else(|| "No step".into());
    let name = turn.name.as_deref().map(|name| format!("  {}", excerpt(name, VALUE)));
    lines.add(Tone::Title, format!("{step}{}", name.unwrap_or_default()));
    let calls = turn.calls.len() as u64 + turn.more_calls.map_or(0, |more| more.0);
    lines.add(
        Tone::Dim,
        format!(
            "@{} to @{}   {}   {}   {}",
            turn.first,
            turn.next.0.saturating_sub(1),
            count(calls, "call"),
            usage(turn.usage.as_ref()),
            turn.took_us.map_or("time not recorded".into(), |took| duration(took.0))
        ),
    );
    for (name, value) in &turn.metrics {
        lines.add(Tone::Plain, format!("{} {}", printable(name), value_text(value.0)));
    }
    if let Some(failed) = &turn.failed {
        lines.add(Tone::Removed, format!("✗ {}", printable(failed)));
    }
    lines.add(Tone::Plain, "");
}

/// Returns tokens and cost in words.
pub fn usage(usage: Option<&UsageForm>) -> String {
    let Some(usage) = usage else {
        return "tokens not recorded".into();
    };
    let tokens = usage.tokens().map(|tokens| format!("{} tokens", grouped(tokens)));
    let currency = usage.currency.as_deref().map(printable);
    let cost = usage.cost.map(|cost| format!("cost {}", units::cost(cost, currency.as_deref())));
    let parts: Vec<String> = tokens.into_iter().chain(cost).collect();
    parts.join(", ")
}

/// Adds an event: a line about it, and its text.
fn of_event(event: &EventForm, view: &TaskView, lines: &mut Lines) {
    let actor = event.actor.as_deref().map(|actor| format!("  {}", excerpt(actor, 40)));
    let head = format!(
        "@{} {}  {}{}",
        event.offset,
        printable(&event.kind),
        time_short(event.time_us.0),
        actor.unwrap_or_default()
    );
    lines.add(Tone::Dim, head);
    let whole = || {
        let address = words::address(&view.form.id, view.lineage, event.offset.0);
        format!("milepost show {address}")
    };
    let Some(body) = &event.body else {
        lines.add(Tone::Plain, "the body was erased");
        return lines.add(Tone::Plain, "");
    };
    if !has_text(body) {
        // Raw has the whole.
        lines.add(Tone::Plain, printable(&row(&event_of(event.clone()))));
        return lines.add(Tone::Plain, "");
    }
    let (mut taken, mut all) = (0, 0);
    for line in body_lines(body) {
        let BodyLine { indent, head, style, rest } = line;
        let text = format!("{:indent$}{head}{rest}", "");
        all += text.len();
        if taken + text.len() > TEXT {
            continue;
        }
        taken += text.len();
        lines.add(tone(style), text.trim_end());
    }
    if taken < all {
        let left = size((all - taken) as u64);
        lines.add(Tone::Dim, format!("… {left} more: `{}`", whole()));
    }
    lines.add(Tone::Plain, "");
}

/// Returns `true` for a kind of event with a text of its own; others are a line.
fn has_text(body: &Body) -> bool {
    matches!(
        body,
        Body::Message(_)
            | Body::ToolCalled(_)
            | Body::ToolReturned(_)
            | Body::PromptChanged(_)
            | Body::GuidanceGiven(_)
            | Body::StepFailed(_)
            | Body::Application(_)
    )
}

fn tone(style: Option<Style>) -> Tone {
    match style {
        Some(Style::Bold) => Tone::Title,
        Some(Style::Good) => Tone::Added,
        Some(Style::Bad) => Tone::Removed,
        Some(Style::Dim) => Tone::Dim,
        Some(Style::Name) | None => Tone::Plain,
    }
}

fn state(source: &dyn Backend, point: &PointForm) -> Result<Vec<Line>> {
    let mut state = source.state(point, MessageRange::Last(3))?;
    // Values first: they are looked for more often.
    let messages = state.as_object_mut().and_then(|fields| fields.remove("messages"));
    let mut lines = Lines::new();
    let address = printable(&point.address);
    lines.add(Tone::Title, format!("State at {address}"));
    let whole = format!("milepost state {address} --messages all");
    lines.add(Tone::Dim, format!("`{whole}` prints all"));
    lines.text(Tone::Plain, &printable_lines(&format!("{state:#}")), BYTES, &whole);
    if let Some(messages) = messages {
        lines.add(Tone::Title, "Last messages");
        lines.text(Tone::Plain, &printable_lines(&format!("{messages:#}")), BYTES, &whole);
    }
    Ok(lines.lines)
}

fn changes(source: &dyn Backend, before: &PointForm, after: &PointForm) -> Result<Vec<Line>> {
    let changes = source.changes(before, after)?;
    let (from, to) = (printable(&before.address), printable(&after.address));
    let mut lines = Lines::new();
    lines.add(Tone::Title, format!("State from @{} to @{}", before.offset, after.offset));
    let whole = format!("milepost diff {from} {to}");
    let shown = changes.items.iter().take(CHANGES);
    lines.lines.extend(shown.map(|change| Line::of_change(change, VALUE)));
    if changes.more || changes.items.len() > CHANGES {
        lines.add(Tone::Dim, "… more changes");
    }
    match lines.lines.len() {
        1 => lines.add(Tone::Dim, "no change"),
        _ => lines.add(Tone::Dim, format!("`{whole}` prints values in full")),
    }
    Ok(lines.lines)
}

fn files(source: &dyn Backend, point: &PointForm) -> Result<Vec<Line>> {
    let (mut lines, mut number) = (Lines::new(), 0);
    let read = source.files(point, &mut |file| {
        number += 1;
        if number > FILES {
            return Err(Failure::reported(0));
        }
        let bytes = file.size.map(|bytes| size(bytes.0)).unwrap_or_else(|| file.kind.to_string());
        let path = printable(&file.path.to_string()).into_owned();
        lines.add(Tone::Plain, format!("{bytes:>10}  {path}"));
        Ok(())
    });
    match read {
        Err(failure) if failure.kind() == Some(ErrorKind::NotFound) => {
            return Ok(vec![Line::new(Tone::Dim, "no files were captured before this point")]);
        }
        Err(failure) if number <= FILES => return Err(failure),
        Err(_) => {
            let whole = format!("milepost files {}", shell_word(&point.address));
            lines.add(Tone::Dim, format!("… more files: `{whole}`"));
        }
        Ok(()) => {}
    }
    let title = format!("Files captured before {}", printable(&point.address));
    lines.lines.insert(0, Line::new(Tone::Title, title));
    Ok(lines.lines)
}

fn raw(source: &dyn Backend, point: &PointForm) -> Result<Vec<Line>> {
    let event = source.event(point)?;
    let mut lines = Lines::new();
    lines.add(Tone::Dim, format!("hash {}", event.hash));
    let text = serde_json::to_string(&event)?;
    // A number out of range, such as 1e400, is valid in a log: the text stays as it is.
    let value = serde_json::from_str::<serde_json::Value>(&text);
    let text = value.map_or(text, |value| format!("{value:#}"));
    let whole = format!("milepost show {} --raw", shell_word(&point.address));
    lines.text(Tone::Plain, &printable_lines(&text), BYTES, &whole);
    Ok(lines.lines)
}

#[cfg(test)]
mod tests {
    use super::super::testing::view;
    use super::*;

    fn event(kind: &str, body: &str) -> EventForm {
        let text = format!(
            r#"{{"offset":"7","lineage":0,"kind":"{kind}","time":"","time_us":"1","body":{body}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn text(event: &EventForm) -> Vec<String> {
        let mut lines = Lines::new();
        of_event(event, &view("a b", 30), &mut lines);
        lines.lines.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn a_text_is_shown_with_its_lines_and_other_events_as_one() {
        let said = r#"{"kind":"message","role":"user","content":"one\n\u001b[2Jtwo"}"#;
        let lines = text(&event("message", said));
        assert_eq!(lines[1..], ["user:", "    one", "    \\u{1b}[2Jtwo", ""]);
        let step = r#"{"kind":"step_started","step":3,"name":"look"}"#;
        assert_eq!(text(&event("step_started", step))[1..], ["step 3: look", ""]);
        assert_eq!(text(&event("message", "null"))[1..], ["the body was erased", ""]);
    }

    #[test]
    fn a_text_that_is_cut_says_how_much_is_left_and_what_prints_it() {
        let line = "x".repeat(999);
        let long = vec![line; 100].join("\\n");
        let body = format!(r#"{{"kind":"message","role":"user","content":"{long}"}}"#);
        let lines = text(&event("message", &body));
        let last = &lines[lines.len() - 2];
        assert_eq!(last, "… 34.3 KiB more: `milepost show a%20b/0@7`");
        let mut cut = Lines::new();
        cut.text(Tone::Plain, "aaa\nbbb\nccc", 8, "whole");
        let shown: Vec<&str> = cut.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(shown, ["aaa", "bbb", "… 3 B more: `whole`"]);
    }

    #[test]
    fn usage_that_was_not_recorded_is_not_guessed() {
        assert_eq!(usage(None), "tokens not recorded");
        let form = serde_json::json!({"input": "1200", "output": "34", "cost": 0.5});
        let form: UsageForm = serde_json::from_value(form).unwrap();
        assert_eq!(usage(Some(&form)), "1,234 tokens, cost 0.500");
    }
}
