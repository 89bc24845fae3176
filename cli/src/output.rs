//! What is printed: tables and sentences for people, JSON for programs.
//!
//! Text out of a store or a file may hold anything; nothing of it reaches a terminal as a
//! control character.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::args::When;

/// Standard output, and how to write to it.
pub struct Out {
    stdout: BufWriter<Stdout>,
    pub json: bool,
    terminal: bool,
    color: bool,
    color_stderr: bool,
}

/// How a piece of text looks on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Bold,
    Dim,
    Good,
    Bad,
    Name,
}

impl Out {
    pub fn new(json: bool, when: When) -> Self {
        let wanted = |terminal: bool| match when {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        };
        Self {
            stdout: BufWriter::with_capacity(64 << 10, io::stdout()),
            json,
            terminal: io::stdout().is_terminal(),
            color: !json && wanted(io::stdout().is_terminal()),
            color_stderr: wanted(io::stderr().is_terminal()),
        }
    }

    /// Whether people read it.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    pub fn colors_stderr(&self) -> bool {
        self.color_stderr
    }

    pub fn line(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        self.stdout.write_all(text.as_ref().as_bytes())?;
        self.stdout.write_all(b"\n")
    }

    /// Prints bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdout.write_all(bytes)
    }

    /// A line of a file as it may be printed: as it is, but on a terminal without control characters.
    pub fn line_of_file<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.terminal {
            true => clean(text, |c| c.is_control() && c != '\t'),
            false => Cow::Borrowed(text),
        }
    }

    /// Prints a JSON document or a line of JSON.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.stdout, value)?;
        self.stdout.write_all(b"\n")
    }

    /// Prints a piece of JSON text, without an end of line.
    pub fn raw(&mut self, json: &str) -> io::Result<()> {
        self.stdout.write_all(json.as_bytes())
    }

    /// Prints JSON text for people: indented, nothing in it but itself.
    pub fn pretty(&mut self, value: &Value) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        self.line(printable_lines(&text))
    }

    /// The same from JSON text. What has no value, as `1e400`, is printed as it is.
    pub fn pretty_text(&mut self, text: &str) -> io::Result<()> {
        match serde_json::from_str(text) {
            Ok(value) => self.pretty(&value),
            Err(_) => self.line(printable_lines(text)),
        }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }

    /// The text with a look, where colours are wanted.
    pub fn look(&self, look: Look, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let code = match look {
            Look::Bold => "1",
            Look::Dim => "2",
            Look::Good => "32",
            Look::Bad => "31",
            Look::Name => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Prints rows in columns as wide as they need; the last one is not padded.
    pub fn table(&mut self, titles: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
        let mut widths: Vec<usize> = titles.iter().map(|title| title.chars().count()).collect();
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let title: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
        let title = self.look(Look::Dim, &columns(&title, &widths));
        self.line(title)?;
        for row in rows {
            self.line(columns(row, &widths))?;
        }
        Ok(())
    }
}

fn columns(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        line.push_str(&format!("{cell:width$}  "));
    }
    line.truncate(line.trim_end().len());
    line
}

/// Says what may be done next, on standard error.
pub fn hint(text: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(io::stderr().lock(), "hint: {text}");
}

/// Says something beside the output, on standard error.
pub fn note(text: &str) {
    // As above.
    let _ = writeln!(io::stderr().lock(), "milepost: {}", printable(text));
}

/// A number for JSON that may pass 2^53: a string.
pub fn big(number: u64) -> Value {
    Value::String(number.to_string())
}

/// A time in microseconds since the Unix epoch, by RFC 3339 in UTC.
pub fn time(us: u64) -> String {
    let stamp = i64::try_from(us)
        .ok()
        .and_then(|us| Timestamp::from_microsecond(us).ok());
    stamp.map_or_else(|| format!("{us} us"), |stamp| stamp.to_string())
}

/// The same to the second, for people.
pub fn time_short(us: u64) -> String {
    time(us - us % 1_000_000)
}

/// A duration in microseconds, for people.
pub fn duration(us: u64) -> String {
    match us {
        0..10_000 => format!("{:.2} ms", us as f64 / 1e3),
        10_000..1_000_000 => format!("{:.0} ms", us as f64 / 1e3),
        _ => format!("{:.2} s", us as f64 / 1e6),
    }
}

/// A time span in microseconds, for people: its largest unit alone.
pub fn span(us: u64) -> String {
    let seconds = us / 1_000_000;
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute")];
    match units.iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, name)) => count(seconds / unit, name),
        None => count(seconds, "second"),
    }
}

/// A size in bytes, for people.
pub fn size(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} B"),
    }
}

/// A number of something, for people: `what` is one of it.
pub fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{} {}", grouped(number), plural(what)),
    }
}

/// The word for several of what this is one of.
pub fn plural(what: &str) -> String {
    match what.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{what}s"),
    }
}

/// A number for people, with a comma before each three digits.
pub fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

/// The text on one line, without control characters.
pub fn printable(text: &str) -> Cow<'_, str> {
    clean(text, |c| c.is_control())
}

/// The text with its line ends, and without other control characters.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    clean(text, |c| c.is_control() && c != '\n')
}

fn clean(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    // Direction overrides can make a line read as another one.
    let bad = |c| bad(c) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) {
            out.extend(c.escape_default())
        } else {
            out.push(c)
        }
    }
    Cow::Owned(out)
}

/// At most `max` characters of the text, on one line.
pub fn excerpt(text: &str, max: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        for c in (count > 0).then_some(' ').into_iter().chain(word.chars()) {
            if count == max {
                line.push('…');
                return printable(&line).into_owned();
            }
            line.push(c);
            count += 1;
        }
    }
    printable(&line).into_owned()
}

/// A bar on standard error, where that is a terminal and the work is long.
pub fn bar(length: u64, what: &str, long: bool, bytes: bool) -> ProgressBar {
    if !long || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let unit = if bytes {
        "{bytes}/{total_bytes}"
    } else {
        "{human_pos}/{human_len}"
    };
    let template = format!("{{prefix}} [{{bar:30}}] {unit} {{eta}}");
    let bar = ProgressBar::new(length).with_prefix(what.to_owned());
    match ProgressStyle::with_template(&template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

/// How far it is, as the bar's message, on standard error: of work whose end nobody knows.
pub fn counter(what: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_prefix(what.to_owned());
    match ProgressStyle::with_template("{prefix} {spinner} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_reach_a_terminal() {
        assert_eq!(
            printable("a\x1b[31mb\nc\u{202e}"),
            "a\\u{1b}[31mb\\nc\\u{202e}"
        );
        assert_eq!(printable_lines("a\nb\r"), "a\nb\\r");
        assert_eq!(printable("plain é"), "plain é");
    }

    #[test]
    fn an_excerpt_is_one_line_of_bounded_length() {
        assert_eq!(excerpt("  a\n\n b\tc ", 10), "a b c");
        assert_eq!(excerpt("abcdef", 3), "abc…");
        assert_eq!(excerpt("abc", 3), "abc");
    }

    #[test]
    fn times_durations_and_sizes_read_well() {
        assert_eq!(time(1_700_000_000_123_456), "2023-11-14T22:13:20.123456Z");
        assert_eq!(time_short(1_700_000_000_123_456), "2023-11-14T22:13:20Z");
        assert_eq!(time(u64::MAX), format!("{} us", u64::MAX));
        assert_eq!(duration(230), "0.23 ms");
        assert_eq!(duration(1_500_000), "1.50 s");
        assert_eq!(size(1 << 20), "1.0 MiB");
        assert_eq!(size(12), "12 B");
        assert_eq!(count(1, "event"), "1 event");
        assert_eq!(count(0, "event"), "0 events");
        assert_eq!(count(1, "entry"), "1 entry");
        assert_eq!(count(12_345, "entry"), "12,345 entries");
    }
}
