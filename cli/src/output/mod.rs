//! Output: tables and sentences for people, JSON for programs.
//!
//! ```text
//! text          text without characters that could harm a terminal, and its width
//! units         times, big numbers
//! words         addresses as text
//! outcomes      outcomes of lineages as marks
//! lineage_tree  lineages as a tree
//! escaped       bytes and JSON on a terminal
//! fitted_table  tables that never exceed the terminal
//! nearest       names near to one that does not exist
//! body_text     bodies of events as text
//! printed_commands  commands in messages
//! bars          progress bars (job_bar: of jobs)
//! pager         the pager
//! ```

mod bars;
mod body_text;
mod escaped;
mod fitted_table;
mod job_bar;
pub mod lineage_tree;
pub mod nearest;
mod outcomes;
mod pager;
mod printed_commands;
mod text;
mod units;
pub mod words;

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

pub use bars::bar;
pub use body_text::{BodyLine, body_lines, print_body};
use escaped::{Escaped, OneLine, escaped};
pub use fitted_table::{FittedRow, FittedTable, NONE};
pub use job_bar::JobBar;
pub use milepost_reading::units::{
    age, count, duration, grouped, grouped_short, plural, seconds, size, span,
};
pub use outcomes::{outcome_mark, outcomes};
use pager::Pager;
pub use printed_commands::{StoreOption, name_store, shell_word, with_store};
use text::{ascii, clean, is_ascii_locale, padded};
pub use text::{excerpt, fitted, folded, printable, printable_lines, width};
pub use units::{big, show_local_times, time, time_short};

/// Notes and hints held back while the pager owns the screen.
static LATER: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Set with `--json`: notes and hints are JSON, too.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Standard output, with its format and colours.
pub struct Out {
    stdout: BufWriter<Box<dyn Write + Send>>,
    /// The pager that reads the output, if one was started.
    pager: Option<Pager>,
    pub json: bool,
    terminal: bool,
    /// Set for a terminal whose locale is not one of UTF-8.
    ascii: bool,
    /// Escapes the bytes of files for a terminal.
    escaped: Escaped,
    color: bool,
    color_stderr: bool,
    /// Number of lines and pieces that were printed.
    printed: u64,
}

/// The form of failures on standard error.
#[derive(Debug, Clone, Copy)]
pub struct ErrorStyle {
    pub is_json: bool,
    pub has_color: bool,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

/// The style of a piece of text on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
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
        IS_JSON.store(json, Ordering::Relaxed);
        Self {
            stdout: buffered(Box::new(Named(io::stdout()))),
            pager: None,
            json,
            terminal: io::stdout().is_terminal(),
            ascii: io::stdout().is_terminal() && is_ascii_locale(|name| std::env::var(name).ok()),
            escaped: Escaped::default(),
            color: !json && wanted(io::stdout().is_terminal()),
            color_stderr: wanted(io::stderr().is_terminal()),
            printed: 0,
        }
    }

    /// Returns the number of lines and pieces that were printed.
    pub fn printed(&self) -> u64 {
        self.printed
    }

    /// Returns `true` if standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns the columns of a line: those of the terminal, or of COLUMNS, or 100.
    pub fn columns(&self) -> usize {
        let named = || std::env::var("COLUMNS").ok()?.parse().ok();
        let size = self.terminal.then(|| ratatui::crossterm::terminal::size().ok());
        let columns = size.flatten().map(|(columns, _)| usize::from(columns));
        columns.or_else(named).filter(|columns| *columns > 0).unwrap_or(100).max(20)
    }

    /// Returns the columns that a table may take: those of the terminal, or of COLUMNS. On a pipe
    /// nothing is cut.
    pub fn limit(&self) -> usize {
        match self.terminal || std::env::var_os("COLUMNS").is_some() {
            true => self.columns(),
            false => usize::MAX,
        }
    }

    /// Returns `true` if standard output is coloured.
    pub fn colors(&self) -> bool {
        self.color
    }

    /// Returns the form of failures.
    pub fn error_style(&self) -> ErrorStyle {
        ErrorStyle { is_json: self.json, has_color: self.color_stderr }
    }

    /// Sends the following output through a pager if it is text for a terminal.
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

    /// Writes out the buffer and waits until the pager ends, then prints the notes held back.
    pub fn end(&mut self) -> io::Result<()> {
        let left = self.escaped.end();
        self.stdout.write_all(left.as_bytes())?;
        let flushed = self.stdout.flush();
        if let Some(pager) = self.pager.take() {
            // The end of its input ends the pager.
            self.stdout = buffered(Box::new(io::stdout()));
            pager.wait()?;
            let later = LATER.lock().unwrap_or_else(PoisonError::into_inner).take();
            later.unwrap_or_default().iter().for_each(|text| say(text));
        }
        flushed
    }

    pub fn line(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        self.printed += 1;
        let text = match self.ascii {
            true => ascii(text.as_ref()),
            false => Cow::Borrowed(text.as_ref()),
        };
        self.stdout.write_all(text.as_bytes())?;
        self.stdout.write_all(b"\n")
    }

    /// Prints a sentence, which may have commands for the next step: each names the store. Lines
    /// end between words, and begin as far on the right as the first one.
    pub fn advice(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        let text = with_store(text.as_ref());
        let sentence = text.trim_start_matches(' ');
        let indent = text.len() - sentence.len();
        let lines = folded(&printable(sentence), indent, indent, self.limit());
        self.line(format!("{:indent$}{lines}", ""))
    }

    /// Prints bytes unchanged; on a terminal, escapes control characters.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.printed += 1;
        match self.terminal {
            true => self.stdout.write_all(self.escaped.push(bytes).as_bytes()),
            false => self.stdout.write_all(bytes),
        }
    }

    /// Returns a line of a file for printing: unchanged, but with control characters escaped on a
    /// terminal.
    pub fn line_of_file<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.terminal {
            true => clean(text, |c| c.is_control() && c != '\t'),
            false => Cow::Borrowed(text),
        }
    }

    /// Prints a value as one line of JSON. Values that are stored with line breaks between their
    /// parts are printed with spaces there.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.printed += 1;
        match self.terminal {
            true => self.raw(&serde_json::to_string(value)?.replace(['\n', '\r'], " "))?,
            false => serde_json::to_writer(OneLine(&mut self.stdout), value)?,
        }
        self.stdout.write_all(b"\n")
    }

    /// Prints a piece of JSON text, without an end of line. On a terminal its control characters
    /// are escaped, which leaves its value unchanged.
    pub fn raw(&mut self, json: &str) -> io::Result<()> {
        self.printed += 1;
        match self.terminal {
            true => self.stdout.write_all(escaped(json).as_bytes()),
            false => self.stdout.write_all(json.as_bytes()),
        }
    }

    /// Prints a JSON value for people: indented, with control characters escaped.
    pub fn pretty(&mut self, value: &Value) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        self.line(printable_lines(&text))
    }

    /// Prints JSON text as [`Self::pretty`] does. Text that cannot be parsed, such as `1e400`, is
    /// not indented.
    pub fn pretty_text(&mut self, text: &str) -> io::Result<()> {
        match serde_json::from_str(text) {
            Ok(value) => self.pretty(&value),
            Err(_) => self.line(printable_lines(text)),
        }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }

    /// Returns the text in a style, if standard output is coloured.
    pub fn style(&self, style: Style, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Good => "32",
            Style::Bad => "31",
            Style::Name => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Prints rows in columns as wide as their widest cell. The last one is not padded.
    pub fn table(&mut self, titles: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
        let mut widths: Vec<usize> = titles.iter().map(|title| width(title)).collect();
        for row in rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(width(cell));
            }
        }
        let title: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
        let title = self.style(Style::Dim, &columns(&title, &widths));
        self.line(title)?;
        for row in rows {
            self.line(columns(row, &widths))?;
        }
        Ok(())
    }
}

/// Standard output whose errors name it. A broken pipe keeps its error, which callers recognize by
/// its kind.
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

/// Prints a hint about the next step to standard error.
pub fn hint(text: &str) {
    aside("hint", "hint", &with_store(text));
}

/// Prints a note to standard error.
pub fn note(text: &str) {
    aside("note", "milepost", &printable(&with_store(text)));
}

/// Prints a sentence for people: with `--json` as one object a line.
fn aside(field: &str, title: &str, text: &str) {
    say_in_time(match IS_JSON.load(Ordering::Relaxed) {
        true => json!({ field: text }).to_string(),
        false => format!("{title}: {text}"),
    });
}

/// Prints the text, or holds it back while the pager runs.
fn say_in_time(text: String) {
    match LATER.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        Some(later) => later.push(text),
        None => say(&text),
    }
}

fn say(text: &str) {
    // If standard error is closed, the text is lost.
    let _ = writeln!(io::stderr().lock(), "{text}");
}
