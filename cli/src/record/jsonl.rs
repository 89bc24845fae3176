//! JSON Lines: one event body an object a line, read a line at a time in bounded memory.

use std::io::{self, BufRead};

use milepost::Body;

/// One line of input.
#[derive(Debug, PartialEq)]
pub enum Line<T = Body> {
    /// What it says: an event, or what else was looked for.
    Event(T),
    /// Nothing but white space.
    Blank,
    /// A line that cannot be read, and why.
    Bad(String),
    /// The end of the input.
    End,
}

/// Reads lines of events. A line over the limit is skipped without being held.
pub struct Lines<R> {
    input: R,
    /// The longest line, in bytes: somewhat over the largest event.
    limit: usize,
    event_max: usize,
    number: u64,
    read: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R, limit: usize, event_max: usize) -> Self {
        Self {
            input,
            limit,
            event_max,
            number: 0,
            read: 0,
            buffer: Vec::new(),
        }
    }

    /// The number of the line read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The bytes of the line read last, as far as they are held.
    pub fn length(&self) -> usize {
        self.buffer.len()
    }

    /// The bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// The next line. An error is one of the input itself.
    pub fn next_line(&mut self) -> io::Result<Line> {
        self.next_as(|text| Body::from_json(text).map_err(|error| error.to_string()))
    }

    /// The next line, read in another way.
    pub fn next_as<T>(
        &mut self,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> io::Result<Line<T>> {
        self.buffer.clear();
        let length = self.fill()?;
        if length == 0 {
            return Ok(Line::End);
        }
        self.number += 1;
        if length > self.limit as u64 {
            // A buffer that grew to the limit once need not stay that large.
            self.buffer = Vec::new();
            let max = self.event_max;
            return Ok(Line::Bad(format!(
                "a line of {length} bytes is over the limit of {max} for an event"
            )));
        }
        Ok(parse(&self.buffer, self.number == 1, read))
    }

    /// Reads up to the end of the line; returns its length, keeps no more than the limit of it.
    fn fill(&mut self) -> io::Result<u64> {
        let mut length = 0_u64;
        loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                return Ok(length);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(chunk.len(), |end| end + 1);
            let room = self.limit.saturating_sub(self.buffer.len()).min(used);
            self.buffer
                .extend_from_slice(chunk.get(..room).unwrap_or_default());
            self.input.consume(used);
            length += used as u64;
            self.read += used as u64;
            if end.is_some() {
                return Ok(length);
            }
        }
    }
}

fn parse<T>(line: &[u8], first: bool, read: impl FnOnce(&str) -> Result<T, String>) -> Line<T> {
    let line = match line.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) if first => rest,
        _ => line,
    };
    let text = match std::str::from_utf8(line) {
        Ok(text) => text.trim(),
        Err(error) => {
            return Line::Bad(format!(
                "invalid UTF-8 at byte {} of the line",
                error.valid_up_to()
            ));
        }
    };
    if text.is_empty() {
        return Line::Blank;
    }
    match read(text) {
        Ok(read) => Line::Event(read),
        Err(why) => Line::Bad(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use milepost::Message;

    fn lines(input: &[u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(io::BufReader::with_capacity(7, input), limit, limit);
        let mut all = Vec::new();
        loop {
            match lines.next_line().unwrap() {
                Line::End => return all,
                line => all.push(line),
            }
        }
    }

    fn hello() -> Line {
        Line::Event(Message::text("user", "hello").into())
    }

    const HELLO: &str = r#"{"kind":"message","role":"user","content":"hello"}"#;

    #[test]
    fn lines_are_read_with_and_without_an_end() {
        assert_eq!(
            lines(format!("{HELLO}\n{HELLO}").as_bytes(), 100),
            [hello(), hello()]
        );
        assert_eq!(
            lines(format!("\u{feff}{HELLO}\r\n\n").as_bytes(), 100),
            [hello(), Line::Blank]
        );
        assert_eq!(lines(b"", 100), []);
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_and_the_rest_goes_on() {
        let long = "x".repeat(1000);
        let read = lines(format!("{HELLO}\n{long}\n{HELLO}\n").as_bytes(), 60);
        assert!(
            matches!(&read[1], Line::Bad(why) if why.contains("1001 bytes is over the limit of 60")),
            "{read:?}"
        );
        assert_eq!(read[2], hello());
    }

    #[test]
    fn a_bad_line_says_what_is_wrong_with_it() {
        let read = lines(
            b"{\"kind\":\"message\",\"role\":\"\xff\"}\n{\"kind\":\n[]\n",
            100,
        );
        let why: Vec<_> = read.iter().map(|line| format!("{line:?}")).collect();
        assert!(why[0].contains("invalid UTF-8 at byte 26"), "{}", why[0]);
        assert!(why[1].contains("EOF"), "{}", why[1]);
        assert!(why[2].contains("object"), "{}", why[2]);
    }
}
