//! Escapes for JSON and file contents on a terminal: control characters and bidirectional controls
//! as `\\u001b`, bytes that are not UTF-8 as `\\xff`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::text::turns;

/// Returns the JSON text with every character escaped that a terminal interprets. Its value is
/// unchanged.
pub fn escaped(json: &str) -> Cow<'_, str> {
    if !json.contains(is_bad) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    add(json, &mut out);
    Cow::Owned(out)
}

fn is_bad(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t') || turns(c)
}

fn add(text: &str, out: &mut String) {
    for c in text.chars() {
        match is_bad(c) {
            // All of them fit in 16 bits.
            true => drop(write!(out, "\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
    }
}

/// Escapes a stream of bytes. A character may be split between two pieces.
#[derive(Debug, Default)]
pub struct Escaped {
    cut: Vec<u8>,
}

impl Escaped {
    /// Adds a piece and returns the text that can be printed now.
    pub fn push(&mut self, piece: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.cut);
        bytes.extend_from_slice(piece);
        let mut out = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            add(chunk.valid(), &mut out);
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && is_begun(invalid) {
                self.cut = invalid.to_vec();
            } else {
                add_bytes(invalid, &mut out);
            }
        }
        out
    }

    /// Returns the rest: the first bytes of an incomplete character.
    pub fn end(&mut self) -> String {
        let mut out = String::new();
        add_bytes(&std::mem::take(&mut self.cut), &mut out);
        out
    }
}

/// Returns `true` if more bytes may complete these to a character.
fn is_begun(bytes: &[u8]) -> bool {
    let error = std::str::from_utf8(bytes).err();
    !bytes.is_empty() && error.is_some_and(|error| error.error_len().is_none())
}

fn add_bytes(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        let _ = write!(out, "\\x{byte:02x}");
    }
}

/// A writer of JSON text on one line: line breaks, which are between its values, become spaces.
pub struct OneLine<W>(pub W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
        match bytes.iter().position(is_break) {
            None => self.0.write(bytes),
            Some(0) => self.0.write(b" "),
            Some(end) => self.0.write(bytes.get(..end).unwrap_or_default()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_on_a_terminal_says_the_same_without_control_characters() {
        let value = serde_json::json!({"a\u{7f}": "\u{9b}31m\u{202e}x\u{1b}\n é 日"});
        let text = value.to_string();
        let shown = escaped(&text);
        assert!(!shown.contains(|c: char| c.is_control() || turns(c)), "{shown}");
        let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, value);
    }

    #[test]
    fn json_with_line_breaks_is_one_line_of_the_same_value() {
        let text = "{\n \"a\\n\": [1.50,\r\n 2]\n}";
        let mut line = OneLine(Vec::new());
        line.write_all(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(line.0).unwrap(), "{  \"a\\n\": [1.50,   2] }");
    }

    #[test]
    fn bytes_are_escaped_wherever_they_are_cut() {
        let bytes = b"a\x1b]0;x\x07\xc2\x9b\xe6\x97\xa5\xff\xe2\x80\xae\n\xe6\x97";
        let expected = "a\\u001b]0;x\\u0007\\u009b日\\xff\\u202e\n\\xe6\\x97";
        for at in 0..=bytes.len() {
            let mut escaped = Escaped::default();
            let (front, rest) = bytes.split_at(at);
            let out = escaped.push(front) + &escaped.push(rest) + &escaped.end();
            assert_eq!(out, expected, "cut at {at}");
        }
    }
}
