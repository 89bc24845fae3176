//! A document of opencode as lines.
//!
//! ```text
//! the session          Application: its info
//! a part   text        Message
//!          reasoning   Message, a thought
//!          tool        a line with ToolCalled, and one with ToolReturned once it has ended
//! the end of a message Application: its info, and the usage of an answer
//! ```
//!
//! Each line has an Application `opencode` with its source, word for word: the object of the
//! session, a message or a part, in a field `session`, `message` or `part`.
//!
//! The last message may still be written: its lines end before the first part that is not complete.

use milepost::events::{ToolCalled, ToolReturned};
use milepost::internals::json_reason;
use milepost::{Body, Json};
use serde_json::json;

use super::{NAME, name_of};
use crate::json_object::{Object, value_of};
use crate::record::session::line::{
    Part, SessionLine, Talk, application, beginning, is_name, key, said, thought,
};

/// Name of the application event with the usage of an answer.
const USAGE: &str = "opencode_usage";

/// A document as lines.
#[derive(Debug, Default)]
pub struct Document {
    /// The id of the session.
    pub id: String,
    pub lines: Vec<SessionLine>,
    /// Number and reason of each message that cannot be read.
    pub bad: Vec<(usize, String)>,
    /// Number of the first incomplete message. The reading ends before it.
    pub open: Option<usize>,
}

/// Returns the lines of a document, or the reason why it is not one.
pub fn read(text: &str) -> Result<Document, String> {
    let document: Object = serde_json::from_str(text)
        .map_err(|error| format!("not an export: {}", json_reason(&error)))?;
    let info = document.object("info").ok_or("not an export: there is no `info`")?;
    let id = info.text("id").ok_or("not an export: `info` has no `id`")?;
    let messages = document.get("messages").map_or("[]", Json::text);
    let messages: Vec<Json> = serde_json::from_str(messages)
        .map_err(|error| format!("not an export: `messages`: {error}"))?;
    let mut lines = Lines::default();
    let events = vec![whole("session", &info)];
    lines.push(
        &name_of(&id),
        SessionLine { time_us: time(&info, "created"), events, ..SessionLine::default() },
    );
    let (mut bad, mut open) = (Vec::new(), None);
    let last_answer = messages.iter().rposition(is_answer);
    for (at, message) in messages.iter().enumerate() {
        // A prompt may wait for the end of an answer.
        let has_next = last_answer.is_some_and(|last| at < last);
        match Spoken::of(message, has_next) {
            Ok(spoken) => {
                if spoken.parts.iter().any(|part| part.text("id").is_none()) {
                    bad.push((at + 1, "a part without an `id`".to_owned()));
                }
                spoken.lines(&mut lines);
                if !spoken.is_whole {
                    open = Some(at + 1);
                    break;
                }
            }
            Err(why) => bad.push((at + 1, why)),
        }
    }
    Ok(Document { id, lines: lines.lines, bad, open })
}

/// Returns `true` for a message of the agent.
fn is_answer(message: &Json) -> bool {
    let info = value_of(message).and_then(|message: Object| message.object("info"));
    info.is_some_and(|info| info.text("role").as_deref() == Some("assistant"))
}

/// Lines, each after the one before it.
#[derive(Default)]
struct Lines {
    lines: Vec<SessionLine>,
    last: Option<String>,
}

impl Lines {
    fn push(&mut self, name: &str, mut line: SessionLine) {
        line.uuid = Some(name.to_owned());
        line.parent = self.last.replace(name.to_owned());
        self.lines.push(line);
    }
}

/// A message, and its parts.
struct Spoken {
    id: String,
    info: Object,
    role: String,
    parts: Vec<Object>,
    /// True if nothing in it changes any more.
    is_whole: bool,
}

impl Spoken {
    fn of(message: &Json, has_next: bool) -> Result<Self, String> {
        let message: Object =
            serde_json::from_str(message.text()).map_err(|error| json_reason(&error))?;
        let info = message.object("info").ok_or("there is no `info`")?;
        let (Some(id), Some(role)) = (info.text("id"), info.text("role")) else {
            return Err("`info` has no `id` and `role`".to_owned());
        };
        let parts = message.get("parts").map_or("[]", Json::text);
        let parts = serde_json::from_str(parts)
            .map_err(|error| format!("`parts`: {}", json_reason(&error)))?;
        // An answer with calls gets further parts when they have returned.
        let is_complete = time(&info, "completed").is_some()
            && info.text("finish").as_deref() != Some("tool-calls");
        let has_failed = info.get("error").is_some_and(|error| !error.is_null());
        let is_whole = has_next || role != "assistant" || is_complete || has_failed;
        Ok(Self { id, info, role, parts, is_whole })
    }

    fn lines(&self, lines: &mut Lines) {
        let mut is_asked = false;
        for part in &self.parts {
            let Some(id) = part.text("id") else { continue };
            let kind = part.text("type").unwrap_or_default();
            let is_done = match kind.as_str() {
                "tool" => self.call(part, &name_of(&id), lines),
                "text" | "reasoning" => {
                    let is_done = self.is_whole || time(part, "end").is_some();
                    if is_done {
                        lines.push(&name_of(&id), self.text(part, &kind, &mut is_asked));
                    }
                    is_done
                }
                _ => {
                    lines
                        .push(&name_of(&id), self.line(Talk::default(), None, whole("part", part)));
                    true
                }
            };
            if !is_done {
                return;
            }
        }
        if self.is_whole {
            let line = self.line(Talk::default(), self.usage(), whole("message", &self.info));
            lines.push(&name_of(&self.id), line);
        }
    }

    fn line(&self, talk: Talk, event: Option<Body>, kept: Body) -> SessionLine {
        SessionLine {
            time_us: time(&self.info, "created"),
            part: Part::Message(talk),
            events: event.into_iter().chain([kept]).collect(),
            ..SessionLine::default()
        }
    }

    fn text(&self, part: &Object, kind: &str, is_asked: &mut bool) -> SessionLine {
        let text = part.text("text").unwrap_or_default();
        // opencode writes the content of files that the user names as texts of the user.
        let is_own = part.is_true("synthetic") && self.role == "user";
        let role = if is_own { "system" } else { self.role.as_str() };
        let content = match kind {
            "reasoning" => thought(&text),
            _ => Some(Json::string(&text)),
        };
        let mut talk = Talk::default();
        if role == "user" && !std::mem::replace(is_asked, true) {
            talk.prompt = Some(beginning(&text));
        }
        let mut line = self.line(talk, Some(said(role, content)), whole("part", part));
        line.alias = Some(self.id.clone()).filter(|id| is_name(id));
        line.time_us = time(part, "start").or(line.time_us);
        line
    }

    /// Adds the lines of a call. Returns `false` if it has not ended.
    fn call(&self, part: &Object, name: &str, lines: &mut Lines) -> bool {
        let state = part.object("state").unwrap_or_default();
        let (Some(call), Some(tool)) = (part.text("callID"), part.text("tool")) else {
            lines.push(name, self.line(Talk::default(), None, whole("part", part)));
            return true;
        };
        let status = state.text("status").unwrap_or_default();
        if status == "pending" && !self.is_whole {
            return false;
        }
        let talk = Talk { called: vec![(key(&call), None)], ..Talk::default() };
        let arguments = state.get("input").cloned().unwrap_or_else(Json::null);
        let called = ToolCalled { call: call.clone(), tool: tool.clone(), arguments };
        let mut id = Object::default();
        id.put("called", Json::string(name));
        let mut line = self.line(talk, Some(called.into()), application(NAME, &id));
        line.time_us = time(&state, "start").or(line.time_us);
        lines.push(name, line);
        let ok = status == "completed";
        let has_ended = ok || status == "error";
        if !has_ended && !self.is_whole {
            return false;
        }
        let talk = Talk { returned: vec![key(&call)], ..Talk::default() };
        let output = state.get(if ok { "output" } else { "error" }).cloned();
        let returned = ToolReturned { call, tool: Some(tool), ok, output };
        let returned = has_ended.then(|| returned.into());
        let mut line = self.line(talk, returned, whole("part", part));
        line.time_us = time(&state, "end").or(line.time_us);
        lines.push(&format!("{name}:end"), line);
        true
    }

    /// Returns the usage of an answer, under the names that summaries read.
    fn usage(&self) -> Option<Body> {
        let tokens = self.info.object("tokens").filter(|_| self.role == "assistant")?;
        let cache = tokens.object("cache").unwrap_or_default();
        let number = |fields: &Object, name: &str| fields.read::<u64>(name);
        let cost = self.info.read("cost").filter(|cost: &f64| *cost > 0.0);
        let answer = json!({
            "id": self.id,
            "model": self.info.text("modelID"),
            "usage": {
                "input": number(&tokens, "input"),
                // Its `output` is without the tokens of thoughts.
                "output": number(&tokens, "output")
                    .map(|output| output.saturating_add(number(&tokens, "reasoning").unwrap_or(0))),
                "cache_read": number(&cache, "read"),
                "cache_write": number(&cache, "write"),
                "cost": cost,
                "currency": cost.map(|_| "USD"),
            },
        });
        Some(application(USAGE, &json!({ "answer": answer })))
    }
}

/// Returns the event that has an object of the document.
fn whole(name: &str, fields: &Object) -> Body {
    let mut kept = Object::default();
    kept.put(name, Json::from_value(fields).unwrap_or_else(|_| Json::null()));
    application(NAME, &kept)
}

/// Returns a time of `time`, which has milliseconds.
fn time(fields: &Object, name: &str) -> Option<u64> {
    fields.object("time")?.read::<u64>(name)?.checked_mul(1000)
}

#[cfg(test)]
mod tests;
