//! Server-sent events of the HTML standard, parsed from pieces of any length.

use std::collections::VecDeque;

/// An event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Message {
    /// The id: the place after the event, if given.
    pub(crate) id: Option<String>,
    /// The type; empty if not given.
    pub(crate) event: String,
    /// The data lines, joined with `\n`.
    pub(crate) data: String,
}

/// Errors that end a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    #[error("an event of the stream has more than {0} bytes")]
    TooLong(usize),
    #[error("a line of the stream is no UTF-8")]
    NotUtf8,
}

/// An incremental parser. Besides complete events, it holds one partial event of at most `most`
/// bytes.
#[derive(Debug)]
pub(crate) struct Parser {
    most: usize,
    /// The current line.
    line: Vec<u8>,
    /// The current event.
    message: Message,
    has_data: bool,
    /// The last byte was a carriage return: a newline directly after it ends no further line.
    was_return: bool,
    /// No line has ended yet: the first may begin with a byte order mark.
    is_first: bool,
    /// An event or a comment arrived since the last query.
    has_received: bool,
    complete: VecDeque<Message>,
}

impl Parser {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            line: Vec::new(),
            message: Message::default(),
            has_data: false,
            was_return: false,
            is_first: true,
            has_received: false,
            complete: VecDeque::new(),
        }
    }

    /// Adds received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let mut rest = bytes;
        while let Some((byte, behind)) = rest.split_first() {
            if std::mem::take(&mut self.was_return) && *byte == b'\n' {
                rest = behind;
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, ended) = rest.split_at(end.unwrap_or(rest.len()));
            if self.buffered() + part.len() > self.most {
                return Err(Broken::TooLong(self.most));
            }
            self.line.extend_from_slice(part);
            rest = match ended.split_first() {
                None => return Ok(()),
                Some((end, behind)) => {
                    self.was_return = *end == b'\r';
                    behind
                }
            };
            let line = std::mem::take(&mut self.line);
            self.ended(&line)?;
            self.line = reused(line);
        }
        Ok(())
    }

    /// Returns the next complete event.
    pub(crate) fn next(&mut self) -> Option<Message> {
        self.complete.pop_front()
    }

    /// Returns true if an event or a comment arrived since the last call.
    pub(crate) fn has_received(&mut self) -> bool {
        std::mem::take(&mut self.has_received)
    }

    fn buffered(&self) -> usize {
        let message = &self.message;
        let id = message.id.as_ref().map_or(0, String::len);
        self.line.len() + message.data.len() + message.event.len() + id
    }

    fn ended(&mut self, line: &[u8]) -> Result<(), Broken> {
        let line = std::str::from_utf8(line).map_err(|_| Broken::NotUtf8)?;
        let line = match std::mem::take(&mut self.is_first) {
            true => line.strip_prefix('\u{feff}').unwrap_or(line),
            false => line,
        };
        if line.is_empty() {
            let message = std::mem::take(&mut self.message);
            // The standard drops events without data.
            if std::mem::take(&mut self.has_data) {
                self.has_received = true;
                self.complete.push_back(message);
            }
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" if !value.contains('\0') => self.message.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.message.event),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
            }
            // A comment.
            "" => self.has_received = true,
            // `retry`, and unknown fields.
            _ => {}
        }
        Ok(())
    }
}

/// Returns the cleared buffer for reuse, unless it is large.
fn reused(mut line: Vec<u8>) -> Vec<u8> {
    const CAPACITY_MAX: usize = 64 << 10;
    if line.capacity() > CAPACITY_MAX {
        return Vec::new();
    }
    line.clear();
    line
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]], most: usize) -> Result<Vec<Message>, Broken> {
        let mut parser = Parser::new(most);
        let mut read = Vec::new();
        for piece in pieces {
            parser.push(piece)?;
            read.extend(std::iter::from_fn(|| parser.next()));
        }
        Ok(read)
    }

    fn message(id: Option<&str>, event: &str, data: &str) -> Message {
        Message { id: id.map(str::to_owned), event: event.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn events_are_read_as_they_are_written() {
        let text = "\u{feff}id: 0:13\nevent: message\ndata: {\"a\":\ndata:  1}\n\n:\n\n: a \
            comment\nretry: 5\ndata\n\nevent: lineage\n\ndata: x: y\nid: a\0b\nunknown: z\n\ndata: \
            half";
        let read = read(&[text.as_bytes()], 1000).unwrap();
        let expected = [
            message(Some("0:13"), "message", "{\"a\":\n 1}"),
            message(None, "", ""),
            message(None, "", "x: y"),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn lines_end_in_three_ways() {
        let expected = [message(Some("1"), "e", "a\nb")];
        for end in ["\n", "\r", "\r\n"] {
            let text = ["id: 1", "event: e", "data: a", "data: b", "", ""].join(end);
            assert_eq!(read(&[text.as_bytes()], 100).unwrap(), expected, "{end:?}");
        }
    }

    #[test]
    fn a_line_and_an_event_have_a_longest() {
        let long = [b'x'; 60];
        let line = [b"data: ", &long[..], b"\n"].concat();
        assert!(read(&[&line], 100).is_ok());
        assert_eq!(read(&[&line, &line], 100), Err(Broken::TooLong(100)));
        let pieces = [&long[..], &long[..]];
        assert_eq!(read(&pieces, 100), Err(Broken::TooLong(100)));
        // Complete events and comments do not count.
        let complete = [&line[..], b"\n"].concat();
        assert_eq!(read(&[&complete, &complete, &complete], 100).unwrap().len(), 3);
        let comment = [b":", &long[..], b"\n"].concat();
        assert!(read(&[&comment, &comment, &comment], 100).is_ok());
    }

    #[test]
    fn what_is_no_text_is_no_stream() {
        assert_eq!(read(&[b"data: \xff\n"], 100), Err(Broken::NotUtf8));
    }

    /// Generates concatenations of stream tokens and other bytes.
    fn parts() -> impl Strategy<Value = Vec<u8>> {
        let parts: [&'static [u8]; 12] = [
            b"data: ",
            b"id: ",
            b"event:",
            b":",
            b"\n",
            b"\r",
            b"\r\n",
            b"\n\n",
            b" x",
            "\u{feff}é".as_bytes(),
            b"\0",
            b"\xff",
        ];
        let part = prop::sample::select(parts.to_vec());
        vec(part, 0..60).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_gives_the_same_events(
            bytes in parts(),
            cuts in vec(any::<prop::sample::Index>(), 0..8),
            most in 1..200_usize,
        ) {
            let complete = read(&[&bytes], most);
            let mut cuts: Vec<usize> = cuts.iter().map(|at| at.index(bytes.len() + 1)).collect();
            cuts.sort_unstable();
            let (mut pieces, mut from) = (Vec::new(), 0);
            for at in cuts.into_iter().chain([bytes.len()]) {
                pieces.push(&bytes[from..at]);
                from = at;
            }
            prop_assert_eq!(&read(&pieces, most), &complete);
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(&read(&single, most), &complete);
        }
    }
}
