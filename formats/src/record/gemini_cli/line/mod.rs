//! One line of a session, and its events.
//!
//! ```text
//! a message              user     Message, or a ToolReturned for each result of a call
//!                        gemini   Message of its thoughts, Message, ToolCalled and ToolReturned
//!                        others   Application `gemini_cli`
//! a message once more    what is new in it: its text, calls, results
//! $set with messages     the messages in it that are new
//! $rewindTo              the session continues before that message
//! every other            Application `gemini_cli`: the line, word for word
//! ```
//!
//! The usage of an answer is `answer`, another extra field, or an Application `gemini_cli_usage`. A
//! message of the user that Gemini CLI writes is one of `system`.
//!
//! The line itself is `gemini_cli`, an extra field of its Message or an Application, with `null` in
//! the place of the text of the Message.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;

use milepost::events::{Application, Data, Extra, Message, ToolCalled, ToolReturned};
use milepost::{Body, Json};
use serde::Deserialize;

use crate::json_object::{Object, as_text};
use crate::record::session::LineParser;
use crate::record::session::line::{
    Back, Key, Part, SessionLine, Talk, application, beginning, fields, is_name, kept, key,
    put_content, said, take_content, time,
};

/// Name of the extra field and of the application events.
pub const NAME: &str = "gemini_cli";
/// Name of the application event with the usage of an answer without a text.
const USAGE: &str = "gemini_cli_usage";
/// Beginning of a message of the user that Gemini CLI writes itself.
const OWN: &str = "<session_context>";

/// A message that was read.
#[derive(Debug)]
struct Known {
    key: Key,
    /// True if the message has a line of its own.
    has_line: bool,
    /// Key of its text.
    text: Option<Key>,
    /// True if its thoughts were read.
    has_thoughts: bool,
    /// True if its usage was read.
    has_usage: bool,
    /// Calls that it has.
    calls: Vec<Key>,
}

/// A parser of a session.
#[derive(Debug, Default)]
pub struct Chat {
    /// The messages, in order.
    known: Vec<Known>,
    /// Index of each message.
    places: HashMap<Key, usize>,
    /// The calls that were read, and whether their results were.
    calls: HashMap<Key, bool>,
}

/// Events of a line, and its part in the conversation.
#[derive(Default)]
struct Added {
    talk: Talk,
    events: Vec<Body>,
}

impl LineParser for Chat {
    fn read(&mut self, text: &str) -> Result<SessionLine, String> {
        let mut fields = fields(text)?;
        let mut line = SessionLine {
            follows: true,
            time_us: fields.text("timestamp").as_deref().and_then(time),
            ..SessionLine::default()
        };
        let mut added = Added::default();
        if let Some(target) = fields.text("$rewindTo") {
            line.part = self.rewind(&target);
        } else if let Some(set) = fields.object("$set") {
            let messages: Option<Vec<Object>> = set.read("messages");
            for message in messages.iter().flatten() {
                self.message(message, &mut added, None);
            }
            added.talk.prompt = None;
        } else if fields.text("id").is_some() && fields.text("type").is_some() {
            self.line(&mut fields, &mut line, &mut added);
        }
        let is_kept = added.events.iter().any(|event| match event {
            Body::Message(message) => message.extra.is_some(),
            _ => false,
        });
        if !is_kept {
            added.events.push(application(NAME, &fields));
        }
        line.events = added.events;
        if line.part == Part::Nothing && added.talk != Talk::default() {
            line.part = Part::Message(added.talk);
        }
        Ok(line)
    }
}

impl Chat {
    /// Forgets a message and all after it, and returns where the session continues.
    fn rewind(&mut self, target: &str) -> Part {
        let target_key = key(target);
        let (at, has_line) = match self.places.get(&target_key) {
            Some(at) => (*at, self.known.get(*at).is_some_and(|known| known.has_line)),
            // Gemini CLI forgets all messages then.
            None => (0, true),
        };
        let back = match self.places.contains_key(&target_key) {
            true => Back::Before(target.to_owned()),
            false => Back::Beginning,
        };
        for gone in self.known.drain(at..) {
            self.places.remove(&gone.key);
            for call in gone.calls {
                self.calls.remove(&call);
            }
        }
        match has_line {
            true => Part::Back(back),
            // The message is known from a list only: its place is unknown.
            false => Part::Nothing,
        }
    }

    /// Reads the line of a message.
    fn line(&mut self, fields: &mut Object, line: &mut SessionLine, added: &mut Added) {
        let id = fields.text("id").unwrap_or_default();
        let has_line = |known: &Known| known.has_line;
        let at = self.places.get(&key(&id)).copied();
        if !at.and_then(|at| self.known.get(at)).is_some_and(has_line) && is_name(&id) {
            line.uuid = Some(id);
        }
        let message = fields.clone();
        self.message(&message, added, Some(fields));
    }

    /// Adds the new part of a message. Its text is taken out of its line.
    fn message(&mut self, message: &Object, added: &mut Added, line: Option<&mut Object>) {
        let Some(id) = message.text("id") else { return };
        let has_line = line.is_some();
        let at = self.at(&id, has_line);
        let role = match message.text("type").as_deref() {
            Some("user") => "user",
            Some("gemini") => "assistant",
            _ => return,
        };
        let parts: Vec<Object> = message.read("content").unwrap_or_default();
        for response in parts.iter().filter_map(|part| part.object("functionResponse")) {
            self.response(&response, added);
        }
        if let Some(thoughts) = message.read("thoughts").filter(|all: &Vec<Object>| !all.is_empty())
            && self
                .known
                .get_mut(at)
                .is_some_and(|known| !mem::replace(&mut known.has_thoughts, true))
        {
            added.events.push(thought(&thoughts));
        }
        self.text(message, &parts, role, at, added, line);
        if has_line
            && let Some(known) = self.known.get_mut(at).filter(|known| !known.has_usage)
            && let Some(usage) = usage(message)
        {
            // An answer without a text.
            known.has_usage = true;
            let (name, data) = (USAGE.to_owned(), Data::Json(usage));
            added.events.push(Application { name, data }.into());
        }
        let calls: Vec<Object> = message.read("toolCalls").unwrap_or_default();
        for call in &calls {
            self.call(call, at, added);
        }
        // A list that a session is resumed with has calls among the parts only.
        for call in parts.iter().filter_map(|part| part.object("functionCall")) {
            self.call(&call, at, added);
        }
    }

    /// Returns the index of a message, which is known from now on.
    fn at(&mut self, id: &str, has_line: bool) -> usize {
        let id_key = key(id);
        let at = *self.places.entry(id_key).or_insert(self.known.len());
        if at == self.known.len() {
            self.known.push(Known {
                key: id_key,
                has_line: false,
                text: None,
                has_thoughts: false,
                has_usage: false,
                calls: Vec::new(),
            });
        }
        if let Some(known) = self.known.get_mut(at) {
            known.has_line |= has_line;
        }
        at
    }

    /// Adds the text of a message, unless it is known.
    fn text(
        &mut self,
        message: &Object,
        parts: &[Object],
        role: &str,
        at: usize,
        added: &mut Added,
        line: Option<&mut Object>,
    ) {
        let Some(content) = message.get("content").cloned() else { return };
        let is_of_tools = |part: &Object| {
            part.get("functionResponse").is_some() || part.get("functionCall").is_some()
        };
        let texts = parts.iter().filter_map(|part| part.text("text"));
        let spoken = as_text(&content).unwrap_or_else(|| texts.collect::<Vec<_>>().join("\n"));
        let only_tools = !parts.is_empty() && parts.iter().all(is_of_tools);
        let is_empty = matches!(content.text(), "\"\"" | "[]" | "null");
        let hash = key(&spoken);
        let known = self.known.get_mut(at).map(|known| known.text.replace(hash));
        if only_tools || is_empty || known == Some(Some(hash)) {
            return;
        }
        let is_first = known == Some(None);
        let is_own = role == "user" && spoken.trim_start().starts_with(OWN);
        if role == "user" && is_first && !is_own && !parts.iter().any(is_of_tools) {
            added.talk.prompt = Some(beginning(&spoken));
        }
        let role = if is_own { "system" } else { role };
        let taken = line.map(|line| (take_content(line, |_| true), extra(message, line)));
        let (content, extra) = match taken {
            Some((Some(text), extra)) => {
                if let Some(known) = self.known.get_mut(at) {
                    known.has_usage = true;
                }
                (text, extra)
            }
            _ => (content, None),
        };
        let message = Message { role: role.to_owned(), content: Some(content), name: None, extra };
        added.events.push(message.into());
    }

    /// Adds a call and its result, unless they are known.
    fn call(&mut self, call: &Object, at: usize, added: &mut Added) {
        let (Some(id), Some(tool)) = (call.text("id"), call.text("name")) else { return };
        let id_key = key(&id);
        if let Entry::Vacant(entry) = self.calls.entry(id_key) {
            entry.insert(false);
            if let Some(known) = self.known.get_mut(at) {
                known.calls.push(id_key);
            }
            let arguments = call.get("args").cloned().unwrap_or_else(Json::null);
            added.talk.called.push((id_key, None));
            added.events.push(ToolCalled { call: id, tool, arguments }.into());
        }
        let responses: Vec<Object> = call.read("result").unwrap_or_default();
        for response in responses.iter().filter_map(|part| part.object("functionResponse")) {
            let ok = call.text("status").is_none_or(|status| status == "success");
            self.returned(&response, ok, added);
        }
    }

    fn response(&mut self, response: &Object, added: &mut Added) {
        let failed = response.object("response").is_some_and(|own| own.get("error").is_some());
        self.returned(response, !failed, added);
    }

    fn returned(&mut self, response: &Object, ok: bool, added: &mut Added) {
        let Some(call) = response.text("id") else { return };
        let id_key = key(&call);
        if self.calls.insert(id_key, true) == Some(true) {
            return;
        }
        let own = response.object("response").unwrap_or_default();
        let output = match own.len() {
            1 => own.get("output").or_else(|| own.get("error")).cloned(),
            _ => None,
        };
        let output = output.or_else(|| response.get("response").cloned());
        added.talk.returned.push(id_key);
        added.events.push(ToolReturned { call, tool: response.text("name"), ok, output }.into());
    }
}

/// Returns the line and the usage of an answer as extra fields.
fn extra(message: &Object, line: &Object) -> Option<Extra> {
    let mut extra = Object::default();
    extra.put(NAME, Json::from_value(line).ok()?);
    if let Some(usage) = usage(message) {
        extra.put("answer", usage);
    }
    extra.into_json().map(Extra)
}

/// Returns the usage of an answer under the names that summaries read.
fn usage(message: &Object) -> Option<Json> {
    #[derive(Deserialize)]
    struct Tokens {
        input: u64,
        output: u64,
        #[serde(default)]
        cached: u64,
    }
    let tokens: Tokens = message.read("tokens")?;
    let Tokens { input, output, cached } = tokens;
    Json::from_value(&serde_json::json!({
        "id": message.text("id"),
        "model": message.text("model"),
        "usage": {"input": input, "output": output, "cache_read": cached},
    }))
    .ok()
}

/// Returns the message of the thoughts before an answer.
fn thought(thoughts: &[Object]) -> Body {
    let text = |thought: &Object| {
        let parts = ["subject", "description"].map(|name| thought.text(name).unwrap_or_default());
        parts.join("\n").trim().to_owned()
    };
    let block = |thought| serde_json::json!({"type": "thinking", "thinking": text(thought)});
    let content = Json::from_value(&thoughts.iter().map(block).collect::<Vec<_>>()).ok();
    said("assistant", content)
}

/// Returns the line that events are of, word for word.
pub fn written(events: &[Body]) -> Option<Json> {
    let (mut line, message) = kept(NAME, events)?;
    if let Some(message) = message {
        put_content(&mut line, message.content.as_ref()?)?;
    }
    Json::from_value(&line).ok()
}

#[cfg(test)]
mod tests;
