//! What is printed: tables and sentences for people, JSON for programs.
//!
//! ```text
//! text   text without what could harm a terminal, and how wide it is
//! units  times, sizes, numbers
//! escaped  bytes and JSON on a terminal
//! bars   how far something is
//! pager  what is read a page at a time
//! ```

mod bars;
mod escaped;
mod pager;
mod text;
mod units;

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;

use crate::args::When;
pub use bars::{bar, counter};
use escaped::{Escaped, escaped};
use pager::Pager;
use text::{clean, padded, width};
pub use text::{excerpt, printable, printable_lines};
pub use units::{
    big, count, duration, grouped, plural, show_local_times, size, span, time, time_short,
};

/// What is said when the pager was left: until then the screen is its own.
static LATER: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Standard output, and how to write to it.
pub struct Out {
    stdout: BufWriter<Box<dyn Write + Send>>,
    /// What reads it a page at a time, where something does.
    pager: Option<Pager>,
    pub json: bool,
    terminal: bool,
    /// Bytes of a file on their way to a terminal.
    escaped: Escaped,
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
            stdout: buffered(Box::new(Named(io::stdout()))),
            pager: None,
            json,
            terminal: io::stdout().is_terminal(),
            escaped: Escaped::default(),
            color: !json && wanted(io::stdout().is_terminal()),
            color_stderr: wanted(io::stderr().is_terminal()),
        }
    }

    /// Whether people read it.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Whether colours are wanted.
    pub fn colors(&self) -> bool {
        self.color
    }

    pub fn colors_stderr(&self) -> bool {
        self.color_stderr
    }

    /// Has what comes from here on read a page at a time, where people read it.
    pub fn page(&mut self) -> io::Result<()> {
        if !self.terminal || self.json || self.pager.is_some() {
            return Ok(());
        }
        if let Some((pager, input)) = Pager::start() {
            self.stdout.flush()?;
            self.stdout = buffered(Box::new(input));
            self.pager = Some(pager);
            *LATER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
        }
        Ok(())
    }

    /// Ends: all is written, and whoever reads it a page at a time has read it.
    pub fn end(&mut self) -> io::Result<()> {
        let left = self.escaped.end();
        self.stdout.write_all(left.as_bytes())?;
        let flushed = self.stdout.flush();
        if let Some(pager) = self.pager.take() {
            // It ends with its input.
            self.stdout = buffered(Box::new(io::stdout()));
            pager.wait()?;
            let later = LATER.lock().unwrap_or_else(PoisonError::into_inner).take();
            later.unwrap_or_default().iter().for_each(|text| say(text));
        }
        flushed
    }

    pub fn line(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        self.stdout.write_all(text.as_ref().as_bytes())?;
        self.stdout.write_all(b"\n")
    }

    /// Prints bytes as they are; on a terminal without control characters.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.terminal {
            true => self.stdout.write_all(self.escaped.push(bytes).as_bytes()),
            false => self.stdout.write_all(bytes),
        }
    }

    /// A line of a file as it may be printed: as it is, but on a terminal without control
    /// characters.
    pub fn line_of_file<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.terminal {
            true => clean(text, |c| c.is_control() && c != '\t'),
            false => Cow::Borrowed(text),
        }
    }

    /// Prints a JSON document or a line of JSON.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        match self.terminal {
            true => self.raw(&serde_json::to_string(value)?)?,
            false => serde_json::to_writer(&mut self.stdout, value)?,
        }
        self.stdout.write_all(b"\n")
    }

    /// Prints a piece of JSON text, without an end of line. On a terminal its control characters
    /// are escaped, which is the same JSON.
    pub fn raw(&mut self, json: &str) -> io::Result<()> {
        match self.terminal {
            true => self.stdout.write_all(escaped(json).as_bytes()),
            false => self.stdout.write_all(json.as_bytes()),
        }
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
        let mut widths: Vec<usize> = titles.iter().map(|title| width(title)).collect();
        for row in rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(width(cell));
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

/// Standard output, whose errors say that they are of it. That nobody reads on is known by its
/// kind.
struct Named(io::Stdout);

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

fn named(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted => error,
        kind => io::Error::new(kind, format!("standard output: {error}")),
    }
}

fn buffered(to: Box<dyn Write + Send>) -> BufWriter<Box<dyn Write + Send>> {
    BufWriter::with_capacity(64 << 10, to)
}

fn columns(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        line.push_str(&padded(cell, *width));
        line.push_str("  ");
    }
    line.truncate(line.trim_end().len());
    line
}

/// Says what may be done next, on standard error.
pub fn hint(text: &str) {
    say_in_time(format!("hint: {text}"));
}

/// Says something beside the output, on standard error.
pub fn note(text: &str) {
    say_in_time(format!("milepost: {}", printable(text)));
}

/// Now, or when the pager was left.
fn say_in_time(text: String) {
    match LATER.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        Some(later) => later.push(text),
        None => say(&text),
    }
}

fn say(text: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(io::stderr().lock(), "{text}");
}
