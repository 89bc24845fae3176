//! One line of a session, and its events.
//!
//! ```text
//! user, assistant    text, thinking, images   Message; adjacent blocks are one
//!                    tool_use                 ToolCalled
//!                    tool_result              ToolReturned
//!                    all other fields         `claude_code` of the first Message's extra fields,
//!                                             or an Application `claude_code` without one
//! every other type                            Application `claude_code`: the line, word for word
//! ```

use milepost::events::{Extra, Message, ToolCalled, ToolReturned};
use milepost::{Body, Json};
use serde::Deserialize;

use crate::json_object::{Object, as_text};
use crate::record::session::line::{
    Key, Part, SessionLine, Talk, application, beginning, fields, key, time,
};

/// Name of the extra field and of the application events.
pub const NAME: &str = "claude_code";
/// The tools that begin another conversation.
const AGENTS: [&str; 2] = ["Task", "Agent"];

/// Reads a line, or returns the reason why it is invalid.
pub fn read(text: &str) -> Result<SessionLine, String> {
    let mut fields = fields(text)?;
    let mut line = SessionLine {
        uuid: fields.text("uuid"),
        parent: fields.text("parentUuid").or_else(|| fields.text("logicalParentUuid")),
        side: fields.is_true("isSidechain"),
        time_us: fields.text("timestamp").as_deref().and_then(time),
        ..SessionLine::default()
    };
    let begins = line.side && line.parent.is_none();
    let message = line.uuid.is_some().then(|| message(&mut fields, begins));
    match message.flatten() {
        Some((talk, events)) => {
            line.part = Part::Message(talk);
            line.events = events;
        }
        None => line.events = vec![application(NAME, &fields)],
    }
    Ok(line)
}

/// Returns the events of a line of the conversation. For any other line, returns `None` and leaves
/// the fields unchanged.
fn message(fields: &mut Object, begins: bool) -> Option<(Talk, Vec<Body>)> {
    let kind = fields.text("type")?;
    if kind != "user" && kind != "assistant" {
        return None;
    }
    let mut message: Object = serde_json::from_str(fields.get("message")?.text()).ok()?;
    let content = message.take("content")?;
    let role = message.take_text("role").unwrap_or_else(|| kind.clone());
    fields.take("message");
    let mut parts = Parts::new(role, begins);
    parts.content(content);
    let mut talk = std::mem::take(&mut parts.talk);
    let spoken = fields.is_true("isMeta") || fields.is_true("isCompactSummary");
    if kind != "user" || spoken || !talk.returned.is_empty() {
        talk.prompt = None;
    }
    let mut events = parts.end();
    if let Some(rest) = message.into_json() {
        fields.put("message", rest);
    }
    if let Some(rest) = parts.rest.into_json() {
        fields.put("blocks", rest);
    }
    attach_rest(std::mem::take(fields), &mut events);
    Some((talk, events))
}

/// Keeps the fields that do not fit an event.
fn attach_rest(fields: Object, events: &mut Vec<Body>) {
    let message = events.iter_mut().find_map(|event| match event {
        Body::Message(message) => Some(message),
        _ => None,
    });
    match message {
        Some(message) => {
            let mut extra = Object::default();
            if let Some(json) = fields.into_json() {
                extra.put(NAME, json);
            }
            message.extra = extra.into_json().map(Extra);
        }
        None => events.push(application(NAME, &fields)),
    }
}

/// The content of a message, split into events.
struct Parts {
    role: String,
    /// True if the message begins a side conversation, which a call may have asked for.
    begins: bool,
    /// Content blocks since the last tool block.
    blocks: Vec<Object>,
    events: Vec<Body>,
    talk: Talk,
    /// Fields of tool blocks that do not fit their events, by the id of the call.
    rest: Object,
}

impl Parts {
    fn new(role: String, begins: bool) -> Self {
        Self {
            role,
            begins,
            blocks: Vec::new(),
            events: Vec::new(),
            talk: Talk::default(),
            rest: Object::default(),
        }
    }

    fn content(&mut self, content: Json) {
        let blocks = content.text().starts_with('[');
        let blocks = blocks.then(|| serde_json::from_str::<Vec<Object>>(content.text()));
        let Some(Ok(blocks)) = blocks else {
            if let Some(text) = as_text(&content) {
                self.spoken(&text);
            }
            self.push_message(Some(content));
            return;
        };
        for mut block in blocks {
            match self.tool(&mut block) {
                Some(event) => {
                    self.talk_ends();
                    self.events.push(event);
                }
                None => {
                    if let Some(text) = block.text("text") {
                        self.spoken(&text);
                    }
                    self.blocks.push(block);
                }
            }
        }
    }

    fn spoken(&mut self, text: &str) {
        if self.talk.prompt.is_none() {
            self.talk.text = self.begins.then(|| key(text));
            self.talk.prompt = Some(beginning(text));
        }
    }

    fn push_message(&mut self, content: Option<Json>) {
        let message = Message { role: self.role.clone(), content, name: None, extra: None };
        self.events.push(message.into());
    }

    /// Returns the event of a tool block, and keeps the fields that do not fit it.
    fn tool(&mut self, block: &mut Object) -> Option<Body> {
        let kind = block.text("type")?;
        let (call, event) = match kind.as_str() {
            "tool_use" => {
                let (id, tool) = (block.text("id")?, block.text("name")?);
                let arguments = block.take("input").unwrap_or_else(Json::null);
                self.talk.called.push((key(&id), prompt_key(&tool, &arguments)));
                let call = id.clone();
                let called = ToolCalled { call, tool, arguments };
                (id, Body::from(called))
            }
            "tool_result" => {
                let id = block.text("tool_use_id")?;
                self.talk.returned.push(key(&id));
                let returned = ToolReturned {
                    call: id.clone(),
                    tool: None,
                    ok: !block.is_true("is_error"),
                    output: block.take("content").filter(|json| !json.is_null()),
                };
                (id, returned.into())
            }
            _ => return None,
        };
        for name in ["type", "id", "name", "tool_use_id", "is_error"] {
            block.take(name);
        }
        if let Some(json) = std::mem::take(block).into_json() {
            self.rest.put(call, json);
        }
        Some(event)
    }

    /// Turns the blocks so far into one message: text if it is one plain text, otherwise the
    /// blocks.
    fn talk_ends(&mut self) {
        let mut blocks = std::mem::take(&mut self.blocks);
        if blocks.is_empty() {
            return;
        }
        let alone = match blocks.as_mut_slice() {
            [block] if is_plain_text(block) => block.take("text"),
            _ => None,
        };
        let content = alone.or_else(|| Json::from_value(&blocks).ok());
        self.push_message(content);
    }

    fn end(&mut self) -> Vec<Body> {
        self.talk_ends();
        if self.events.is_empty() {
            self.push_message(Some(Json::new("[]").unwrap_or_else(|_| Json::null())));
        }
        std::mem::take(&mut self.events)
    }
}

fn is_plain_text(block: &Object) -> bool {
    let kind = block.text("type");
    kind.as_deref() == Some("text") && block.text("text").is_some() && block.len() == 2
}

/// Returns the key of the prompt of a call that begins another conversation.
fn prompt_key(tool: &str, arguments: &Json) -> Option<Key> {
    #[derive(Deserialize)]
    struct Arguments {
        prompt: String,
    }
    if !AGENTS.contains(&tool) {
        return None;
    }
    let parsed: Arguments = serde_json::from_str(arguments.text()).ok()?;
    Some(key(&parsed.prompt))
}

#[cfg(test)]
mod tests;
