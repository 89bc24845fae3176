//! Session files written from the log, which an agent continues.
//!
//! ```text
//! renamed   the id of a session in its lines
//! document  a document of opencode, made of lines
//! ```
//!
//! An import of such a file into the task that it was written from recognizes every line.

mod document;
mod renamed;

use milepost::Body;

use crate::format::Format;
use crate::record::session::SessionFormat;
use crate::record::session_format;
use document::Document;

/// A session file being written, event by event.
///
/// ```
/// use milepost::Body;
/// use milepost::events::{Extra, Message};
/// use milepost_formats::Format;
/// use milepost_formats::session_file::SessionFile;
///
/// let mut message = Message::text("user", "make it faster");
/// let fields = r#"{"claude_code":{"type":"user","uuid":"u-1","sessionId":"s-1"}}"#;
/// message.extra = Some(Extra(milepost::Json::new(fields)?));
/// let mut file = SessionFile::new(Format::ClaudeCode, "s-2").unwrap();
/// file.push(Some("claude-code:u-1"), Some(&Body::from(message)));
/// let text = String::from_utf8(file.bytes()).unwrap();
/// assert!(text.contains(r#""content":"make it faster""#));
/// # Ok::<(), milepost::Error>(())
/// ```
pub struct SessionFile {
    format: &'static SessionFormat,
    /// The id of the new session.
    id: String,
    /// Events of the current line.
    line: Vec<Body>,
    bytes: Vec<u8>,
    /// The file, if it is a document.
    document: Option<Document>,
    /// True if the next events without a key may be of the line.
    is_in_line: bool,
    has_message: bool,
}

impl SessionFile {
    /// Begins a file of a session with an id. `None`: the format has no sessions.
    pub fn new(format: Format, id: &str) -> Option<Self> {
        let format = session_format(format)?;
        Some(Self {
            format,
            id: id.to_owned(),
            line: Vec::new(),
            bytes: Vec::new(),
            document: (format.format == Format::Opencode).then(Document::default),
            is_in_line: false,
            has_message: false,
        })
    }

    /// Adds an event of the task, in the order of the log, with the key of its append if it is the
    /// first of one. Events of no line are left out, and a line of which an event was erased, which
    /// has no body.
    pub fn push(&mut self, key: Option<&str>, body: Option<&Body>) {
        if let Some(key) = key {
            self.end_line();
            self.is_in_line = key.starts_with(self.format.key) && !key.ends_with(":before");
        }
        match body {
            Some(body) if self.is_part(body) => {
                if self.is_in_line {
                    self.line.push(body.clone());
                }
            }
            Some(_) => {
                self.end_line();
                self.is_in_line = false;
            }
            // An erased event.
            None => {
                self.line.clear();
                self.is_in_line = false;
            }
        }
    }

    /// Returns `true` for an event that may be a part of a line.
    fn is_part(&self, body: &Body) -> bool {
        match body {
            Body::StepStarted(_) | Body::Message(_) | Body::ToolCalled(_) => true,
            Body::ToolReturned(_) => true,
            // The tokens of a line are an event of their own.
            Body::Application(application) => application.name.starts_with(self.format.name),
            _ => false,
        }
    }

    /// Returns `true` if a whole line has a message of the user. Agents refuse a session without
    /// one.
    pub fn has_message(&self) -> bool {
        self.has_message
    }

    /// Returns the file's bytes so far.
    pub fn bytes(&mut self) -> Vec<u8> {
        self.end_line();
        match &self.document {
            Some(document) => document.bytes(),
            None => self.bytes.clone(),
        }
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        // The recording added it.
        line.retain(|body| !matches!(body, Body::StepStarted(_)));
        if line.is_empty() {
            return;
        }
        let is_said = |body: &Body| matches!(body, Body::Message(said) if said.role == "user");
        let is_said = line.iter().any(is_said);
        if let Some(text) = (self.format.written)(&line) {
            self.has_message |= is_said;
            if let Some(document) = &mut self.document {
                let _ = document.add(&text, &self.id);
                return;
            }
            let text = renamed::renamed(self.format.format, text, &self.id);
            self.bytes.extend_from_slice(text.text().as_bytes());
            self.bytes.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests;
