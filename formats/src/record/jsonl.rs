//! JSON Lines: one event body per line, read line by line in bounded memory.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use milepost::Body;
use milepost::events::Application;
use serde::Deserialize;

use crate::bounded_lines::BoundedLines;
use crate::detect::of_object;
use crate::format::Format;
use crate::objects::{Piece, pieces};

/// Maximum size of a line beyond its event: names and quotes of JSON, and escapes.
pub const LINE_SLACK: usize = 1 << 20;

/// Characters of a line that a message quotes.
const QUOTE_CHARS: usize = 40;

/// The likeness of two names, from 0 to 1, above which one is taken for a typo of the other.
const LIKE_MIN: f64 = 0.6;

/// A parsed line of input.
#[derive(Debug, PartialEq)]
pub enum EventLine {
    /// An event.
    Event(Body),
    /// An object with a kind that events do not have: the kind, and the line as an `application`
    /// event.
    Unknown(String, Body),
    /// Only white space.
    Blank,
    /// A line that cannot be parsed, and the reason.
    Bad(String),
    /// The end of the input.
    End,
}

/// A line of input before it is parsed.
#[derive(Debug, PartialEq)]
pub enum Text<'a> {
    /// Text without the white space around it.
    Line(&'a str),
    /// Only white space.
    Blank,
    /// A line that is too long or not UTF-8, and the reason.
    Bad(String),
    /// The end of the input.
    End,
}

/// Reads lines of events. A line over the limit is skipped without being held.
pub struct Lines<R> {
    /// Its limit is somewhat larger than that of an event.
    input: BoundedLines<R>,
    event_max: usize,
    /// Events of the line read last.
    ready: VecDeque<EventLine>,
}

impl<R: BufRead> Lines<R> {
    /// Creates a reader of lines of at most `limit` bytes. Messages name `event_max`.
    pub fn new(input: R, limit: usize, event_max: usize) -> Self {
        Self { input: BoundedLines::new(input, limit), event_max, ready: VecDeque::new() }
    }

    /// Returns the number of the last line read, from 1.
    pub fn number(&self) -> u64 {
        self.input.number()
    }

    /// Returns the number of bytes held of the last line read.
    pub fn length(&self) -> usize {
        self.input.buffered().len()
    }

    /// Returns the number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    /// Returns the bytes held of the last line read.
    pub fn held(&self) -> &[u8] {
        self.input.buffered()
    }

    /// Reads and parses the next line, or returns a further part of a damaged one. Returns the
    /// errors of the input.
    pub fn next_line(&mut self) -> io::Result<EventLine> {
        if let Some(ready) = self.ready.pop_front() {
            return Ok(ready);
        }
        let why = match self.next_text()? {
            Text::End => return Ok(EventLine::End),
            Text::Blank => return Ok(EventLine::Blank),
            Text::Bad(why) => why,
            Text::Line(text) => match parsed(text) {
                EventLine::Bad(why) => why,
                event => return Ok(event),
            },
        };
        let found = pieces(self.held(), |text| of_object(text) == Some(Format::Jsonl));
        if !found.iter().any(|piece| matches!(piece, Piece::Object(_))) {
            return Ok(if found.is_empty() { EventLine::Blank } else { EventLine::Bad(why) });
        }
        let found = found.into_iter().map(|piece| match piece {
            Piece::Object(text) => parsed(text),
            Piece::Lost(bytes) => EventLine::Bad(no_object(bytes)),
        });
        self.ready = found.collect();
        Ok(self.ready.pop_front().unwrap_or(EventLine::Blank))
    }

    /// Reads the next line without parsing it. Returns the errors of the input.
    pub fn next_text(&mut self) -> io::Result<Text<'_>> {
        let length = self.input.advance()?;
        Ok(match length {
            0 => Text::End,
            length => self.text(length),
        })
    }

    /// Reads the next line that has an end without parsing it. Returns `None` if the input ends
    /// before the line does: a later call continues it.
    pub fn next_whole(&mut self) -> io::Result<Option<Text<'_>>> {
        let length = self.input.advance_whole()?;
        Ok(length.map(|length| self.text(length)))
    }

    /// Returns the last bytes of the line read last, at most `max`; none if it was over the limit.
    pub fn last_bytes(&self, max: usize) -> &[u8] {
        let held = self.input.buffered();
        match held.ends_with(b"\n") {
            true => held.get(held.len().saturating_sub(max)..).unwrap_or_default(),
            false => &[],
        }
    }

    fn text(&self, length: u64) -> Text<'_> {
        if length > self.input.limit() as u64 {
            let max = self.event_max;
            return Text::Bad(format!(
                "a line of {length} bytes is over the limit of {max} for an event"
            ));
        }
        text(self.input.buffered(), self.number() == 1)
    }
}

fn text(line: &[u8], first: bool) -> Text<'_> {
    let line = match line.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) if first => rest,
        _ => line,
    };
    let text = match std::str::from_utf8(line) {
        Ok(text) => text.trim(),
        Err(error) => {
            let (at, shown) = (error.valid_up_to(), String::from_utf8_lossy(line));
            return Text::Bad(format!("invalid UTF-8 at byte {at} of the line: {}", quote(&shown)));
        }
    };
    match text.is_empty() {
        true => Text::Blank,
        false => Text::Line(text),
    }
}

/// Returns the event of a text.
fn parsed(text: &str) -> EventLine {
    match Body::from_json(text) {
        Ok(Body::Application(own)) => application(own, text),
        Ok(body) => EventLine::Event(body),
        Err(error) => EventLine::Bad(reason(&error.to_string(), text)),
    }
}

/// Returns the reason to refuse a part of a line whose other parts are recorded.
pub fn no_object(bytes: &[u8]) -> String {
    let (length, shown) = (bytes.len(), String::from_utf8_lossy(bytes));
    format!("{length} bytes of the line are no whole JSON object: {}", quote(&shown))
}

/// Returns an application event, or an event of an unknown kind that was made into one.
fn application(own: Application, text: &str) -> EventLine {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    match serde_json::from_str::<Kind>(text) {
        Ok(Kind { kind }) if kind != Body::name_of(Application::KIND) => {
            EventLine::Unknown(kind, own.into())
        }
        _ => EventLine::Event(own.into()),
    }
}

/// Returns the reason to refuse a line, with its text. The line has its number already: of the
/// place in an error of JSON only the column is kept.
fn reason(error: &str, text: &str) -> String {
    let shown = quote(text);
    match error.rsplit_once(" at line 1 column ") {
        Some((error, column)) => format!("{error} at column {column}: {shown}"),
        None => format!("{error}: {shown}"),
    }
}

/// Returns the beginning of a text in backquotes.
fn quote(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(QUOTE_CHARS) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or(text)),
        None => format!("`{text}`"),
    }
}

/// Returns the reason to refuse a kind that events do not have, with the nearest one that they
/// have.
pub fn unknown_kind(kind: &str) -> String {
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(known, kind);
    let known = (1..).map_while(|number| Body::is_known(number).then(|| Body::name_of(number)));
    let near = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let shown = quote(kind);
    match near.filter(|near| likeness(near) >= LIKE_MIN) {
        Some(near) => format!("events have no kind {shown}; did you mean `{near}`?"),
        None => format!("events have no kind {shown}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use milepost::events::Message;

    fn lines(input: &[u8], limit: usize) -> Vec<EventLine> {
        let mut lines = Lines::new(io::BufReader::with_capacity(7, input), limit, limit);
        let mut all = Vec::new();
        loop {
            match lines.next_line().unwrap() {
                EventLine::End => return all,
                line => all.push(line),
            }
        }
    }

    fn hello() -> EventLine {
        EventLine::Event(Message::text("user", "hello").into())
    }

    const HELLO: &str = r#"{"kind":"message","role":"user","content":"hello"}"#;

    #[test]
    fn lines_are_read_with_and_without_an_end() {
        assert_eq!(lines(format!("{HELLO}\n{HELLO}").as_bytes(), 100), [hello(), hello()]);
        assert_eq!(
            lines(format!("\u{feff}{HELLO}\r\n\n").as_bytes(), 100),
            [hello(), EventLine::Blank]
        );
        assert_eq!(lines(b"", 100), []);
    }

    #[test]
    fn every_whole_event_of_a_damaged_line_is_read_and_the_rest_is_told() {
        let lost = |why: &str| matches!(why, why if why.contains("no whole JSON object"));
        for (text, events, bad) in [
            (format!("{HELLO}{HELLO}\n"), 2, 0),
            (format!("\0\0{HELLO}\n\0\0\n"), 1, 0),
            (format!("{{\"kind\":\"mess{HELLO}\n"), 1, 1),
            (format!("{HELLO} and text\n"), 1, 1),
        ] {
            let read = lines(text.as_bytes(), 1000);
            assert_eq!(read.iter().filter(|line| **line == hello()).count(), events, "{text}");
            let told = |line: &&EventLine| matches!(line, EventLine::Bad(why) if lost(why));
            assert_eq!(read.iter().filter(told).count(), bad, "{text}: {read:?}");
        }
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_and_the_rest_goes_on() {
        let long = "x".repeat(1000);
        let read = lines(format!("{HELLO}\n{long}\n{HELLO}\n").as_bytes(), 60);
        assert!(
            matches!(&read[1], EventLine::Bad(why)
                if why.contains("1001 bytes is over the limit of 60")),
            "{read:?}"
        );
        assert_eq!(read[2], hello());
    }

    #[test]
    fn a_bad_line_says_what_is_wrong_with_it() {
        let read = lines(b"{\"kind\":\"message\",\"role\":\"\xff\"}\n{\"kind\":\n[]\n", 100);
        let why: Vec<_> = read.iter().map(|line| format!("{line:?}")).collect();
        assert!(why[0].contains("invalid UTF-8 at byte 26"), "{}", why[0]);
        assert!(why[1].contains("EOF"), "{}", why[1]);
        assert!(why[2].contains("object"), "{}", why[2]);
        assert_eq!(
            lines("nope, this is the text of a page and no event: ä\n".as_bytes(), 100),
            [EventLine::Bad(
                "not a JSON object: a word that is not `null`, `true` or `false` at column 2: \
                 `nope, this is the text of a page and no …`"
                    .to_owned()
            )]
        );
    }

    #[test]
    fn an_unknown_kind_is_told_apart_and_the_nearest_one_is_named() {
        let own = r#"{"kind":"application","name":"messag","data":{"kind":"messag"}}"#;
        let typo = r#"{"kind":"messag","role":"user"}"#;
        let read = lines(format!("{own}\n{typo}\n").as_bytes(), 100);
        assert!(matches!(&read[0], EventLine::Event(Body::Application(_))), "{read:?}");
        assert!(matches!(&read[1], EventLine::Unknown(kind, _) if kind == "messag"), "{read:?}");
        assert_eq!(unknown_kind("messag"), "events have no kind `messag`; did you mean `message`?");
        assert_eq!(unknown_kind("tea_break"), "events have no kind `tea_break`");
    }
}
