//! JSON Lines: one event body per line, read line by line in bounded memory.

use std::io::{self, BufRead};

use milepost::Body;

use crate::bounded_lines::BoundedLines;

/// A parsed line of input.
#[derive(Debug, PartialEq)]
pub enum EventLine {
    /// An event.
    Event(Body),
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
}

impl<R: BufRead> Lines<R> {
    /// Creates a reader of lines of at most `limit` bytes. Messages name `event_max`.
    pub fn new(input: R, limit: usize, event_max: usize) -> Self {
        Self { input: BoundedLines::new(input, limit), event_max }
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

    /// Reads and parses the next line. Errors are those of the input.
    pub fn next_line(&mut self) -> io::Result<EventLine> {
        Ok(match self.next_text()? {
            Text::End => EventLine::End,
            Text::Blank => EventLine::Blank,
            Text::Bad(why) => EventLine::Bad(why),
            Text::Line(text) => match Body::from_json(text) {
                Ok(body) => EventLine::Event(body),
                Err(error) => EventLine::Bad(error.to_string()),
            },
        })
    }

    /// Reads the next line without parsing it. Errors are those of the input.
    pub fn next_text(&mut self) -> io::Result<Text<'_>> {
        let length = self.input.advance()?;
        if length == 0 {
            return Ok(Text::End);
        }
        if length > self.input.limit() as u64 {
            let max = self.event_max;
            return Ok(Text::Bad(format!(
                "a line of {length} bytes is over the limit of {max} for an event"
            )));
        }
        Ok(text(self.input.buffered(), self.number() == 1))
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
            return Text::Bad(format!("invalid UTF-8 at byte {} of the line", error.valid_up_to()));
        }
    };
    match text.is_empty() {
        true => Text::Blank,
        false => Text::Line(text),
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
    }
}
