//! Session files written from the log, which an agent continues.
//!
//! ```text
//! claude_code   lines of Claude Code
//! ```
//!
//! An import of such a file into the task that it was written from recognizes every line.

mod claude_code;

use milepost::Body;

use crate::format::Format;

/// A session file being written, event by event.
///
/// ```
/// use milepost::Body;
/// use milepost::events::{Application, Data, Extra, Message};
/// use milepost_formats::Format;
/// use milepost_formats::session_file::SessionFile;
///
/// let mut message = Message::text("user", "make it faster");
/// let fields = r#"{"claude_code":{"type":"user","uuid":"u-1","sessionId":"s-1"}}"#;
/// message.extra = Some(Extra(milepost::Json::new(fields)?));
/// let mut file = SessionFile::new(Format::ClaudeCode).unwrap();
/// file.push(Some("claude-code:u-1"), &Body::from(message));
/// let text = String::from_utf8(file.finish()).unwrap();
/// assert!(text.contains(r#""content":"make it faster""#));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug)]
pub struct SessionFile {
    /// Events of the current line.
    line: Vec<Body>,
    bytes: Vec<u8>,
    lines: u64,
}

impl SessionFile {
    /// Begins a file. `None`: files of this format cannot be written.
    pub fn new(format: Format) -> Option<Self> {
        let empty = Self { line: Vec::new(), bytes: Vec::new(), lines: 0 };
        (format == Format::ClaudeCode).then_some(empty)
    }

    /// Adds an event of the task, in the order of the log, with the key of its append if it is the
    /// first of one. Events of no line are left out.
    pub fn push(&mut self, key: Option<&str>, body: &Body) {
        let is_part = claude_code::is_part(body);
        let is_first = key.is_some();
        if is_first || !is_part {
            self.end_line();
        }
        let is_of_line = match key {
            Some(key) => claude_code::is_key(key),
            None => !self.line.is_empty(),
        };
        if is_of_line && is_part {
            self.line.push(body.clone());
        }
    }

    /// Returns the number of whole lines.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns the file's bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.end_line();
        self.bytes
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if let Some(text) = claude_code::text(&line) {
            self.bytes.extend_from_slice(text.as_bytes());
            self.bytes.push(b'\n');
            self.lines += 1;
        }
    }
}

#[cfg(test)]
mod tests;
