//! Documents of hooks: the reports of an agent at each event, as one kind of event for all agents.
//!
//! [`read`] takes any bytes. Fields that are not known are ignored; a field that is missing or of
//! another kind is absent. For a document of no known event it returns the reason.
//!
//! A tool's arguments keep their text, with numbers and repeated names as they were.
//!
//! ```text
//! named   documents with the name of their event, in the form of Claude Code
//! cline   those of Cline
//! cursor  those of Cursor
//! fields  the members that are read
//! event   events
//! ```

mod cline;
mod cursor;
mod event;
mod fields;
mod named;
#[cfg(test)]
mod tests;

pub use event::{AgentEvent, AgentEventKind};

use serde_json::Value;

use self::fields::Fields;
use crate::agent::Agent;
use crate::json::{Json, JsonKind};

/// Largest document that is read, in bytes.
pub const SIZE_MAX: usize = 64 << 20;

/// Name of the event of a document that `milepost rewind` sends.
pub const GOING_BACK: &str = "MilepostRewind";

/// Member that all documents of Cursor have, and no others.
const CURSOR_VERSION: &str = "cursor_version";

/// Beginning of a prompt that the program itself wrote.
const NOTIFICATION: &str = "<task-notification>";

/// The result of reading a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Document {
    /// An event of a session.
    Event(Box<AgentEvent>),
    /// A document that is recorded nowhere.
    Ignored(IgnoredDocument),
}

/// Reason why a document is recorded nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoredDocument {
    /// More than [`SIZE_MAX`].
    TooLarge,
    /// No JSON object.
    NoObject,
    /// No session, or an id that is empty or longer than 256 bytes.
    NoSession,
    /// An event that is not taken.
    OtherEvent,
    /// A prompt that is empty, or that the program itself wrote.
    NoPrompt,
    /// A call without the name of a tool.
    NoTool,
    /// A document of Cursor, which calls the hooks of Claude Code, too.
    OfCursor,
}

/// Reads the document of a hook.
pub fn read(agent: Agent, bytes: &[u8]) -> Document {
    match event(agent, bytes) {
        Ok(event) => Document::Event(Box::new(event)),
        Err(ignored) => Document::Ignored(ignored),
    }
}

fn event(agent: Agent, bytes: &[u8]) -> Result<AgentEvent, IgnoredDocument> {
    if bytes.len() > SIZE_MAX {
        return Err(IgnoredDocument::TooLarge);
    }
    let text = String::from_utf8_lossy(bytes);
    let json = Json::parse(&text).map_err(|_| IgnoredDocument::NoObject)?;
    if json.kind() != JsonKind::Object {
        return Err(IgnoredDocument::NoObject);
    }
    let fields = Fields::of(&json);
    let is_going_back = fields.text("hook_event_name").as_deref() == Some(GOING_BACK);
    match agent {
        Agent::Cline if !is_going_back => cline::event(&fields),
        Agent::Cursor if !is_going_back => cursor::event(&fields),
        Agent::Cursor => named::event(agent, &fields),
        // Its own hooks record it.
        _ if fields.has(CURSOR_VERSION) => Err(IgnoredDocument::OfCursor),
        _ => named::event(agent, &fields),
    }
}

/// Returns `true` for a document of Cursor, which calls the hooks in settings of Claude Code, too,
/// and refuses a call of a tool where one prints no JSON.
pub fn is_of_cursor(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    // Most documents are parsed by the daemon alone.
    text.contains(CURSOR_VERSION)
        && Json::parse(&text).is_ok_and(|json| json.member(CURSOR_VERSION).is_some())
}

/// Returns the text of a prompt that the user wrote.
fn prompt(fields: &Fields<'_>) -> Result<String, IgnoredDocument> {
    let text = fields.text("prompt").filter(|text| !text.trim().is_empty());
    text.filter(|text| !text.starts_with(NOTIFICATION)).ok_or(IgnoredDocument::NoPrompt)
}

/// Returns the name of the tool of a call.
fn tool(fields: &Fields<'_>) -> Result<String, IgnoredDocument> {
    fields.id("tool_name").ok_or(IgnoredDocument::NoTool)
}

/// Returns `true` if the result of a call reports a failure. A list fails with any of its parts.
fn says_failed(result: &str) -> bool {
    let is_failed = |result: &Value| {
        let is = |name: &str, value: bool| result.get(name) == Some(&Value::Bool(value));
        is("is_error", true)
            || is("isError", true)
            || is("success", false)
            || result.get("error").is_some_and(|error| !error.is_null())
    };
    match serde_json::from_str(result) {
        Ok(Value::Array(parts)) => parts.iter().any(is_failed),
        Ok(result) => is_failed(&result),
        Err(_) => false,
    }
}
