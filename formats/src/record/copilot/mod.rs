//! Sessions of Copilot CLI, in `~/.copilot/session-state/ID/events.jsonl`.
//!
//! ```text
//! user.message             Message
//! assistant.message        Message of the thoughts, Message, ToolCalled for each of toolRequests
//! tool.user_requested      ToolCalled
//! tool.execution_complete  ToolReturned
//! every line               Application `copilot`: the line, word for word
//! ```
//!
//! The usage of an answer is a line of its own. Of the lines of a sub-agent, which have `agentId`,
//! only the calls and their results are events: its messages are no part of the conversation.
//!
//! Each line names the one before it. A `/rewind` writes the file anew, without the lines that it
//! takes back.

use milepost::events::{Message, ToolCalled, ToolReturned};
use milepost::{Body, Json};
use serde::Deserialize;

use super::session::line::{
    Part, SessionLine, Talk, application, beginning, fields, kept, key, thought, time,
};
use super::session::{EachAlone, SessionFormat};
use crate::format::Format;
use crate::json_object::Object;

/// Name of the application events.
const NAME: &str = "copilot";

/// The format.
pub static SESSIONS: SessionFormat = SessionFormat {
    format: Format::Copilot,
    key: "copilot:",
    name: NAME,
    is_rewritten: true,
    session_id,
    parser: || Box::new(EachAlone(read)),
    written: |events| Json::from_value(&kept(NAME, events)?.0).ok(),
};

/// Returns the id of the session, which its first line has.
fn session_id(start: &[u8], _: Option<&str>) -> Option<String> {
    #[derive(Deserialize)]
    struct Start {
        data: Ids,
    }
    #[derive(Deserialize)]
    struct Ids {
        #[serde(rename = "sessionId")]
        session_id: String,
    }
    let id =
        |line: &[u8]| serde_json::from_slice(line).ok().map(|line: Start| line.data.session_id);
    start.split(|byte| *byte == b'\n').find_map(id)
}

/// Reads a line, or returns the reason why it is invalid.
pub fn read(text: &str) -> Result<SessionLine, String> {
    let fields = fields(text)?;
    let mut line = SessionLine {
        uuid: fields.text("id"),
        parent: fields.text("parentId"),
        time_us: fields.text("timestamp").as_deref().and_then(time),
        ..SessionLine::default()
    };
    let spoken = line.uuid.is_some().then(|| spoken(&fields)).flatten();
    if let Some((talk, events)) = spoken {
        line.part = Part::Message(talk);
        line.events = events;
    }
    line.events.push(application(NAME, &fields));
    Ok(line)
}

/// Returns the part of a line in the conversation, and its events; `None` for any other line.
fn spoken(fields: &Object) -> Option<(Talk, Vec<Body>)> {
    let data: Object = serde_json::from_str(fields.get("data")?.text()).ok()?;
    let is_of_main = fields.text("agentId").is_none();
    let (mut talk, mut events) = (Talk::default(), Vec::new());
    match fields.text("type")?.as_str() {
        "user.message" if is_of_main => {
            let text = data.text("content")?;
            // Skills and other agents write as the user does, and are named.
            let is_prompt = data.text("source").is_none_or(|source| source == "user");
            talk.prompt = is_prompt.then(|| beginning(&text));
            events.push(said(if is_prompt { "user" } else { "system" }, Json::string(&text)));
        }
        "assistant.message" => {
            if is_of_main {
                answer(&data, &mut events);
            }
            let requests = data.get("toolRequests").map_or("[]", Json::text);
            let requests: Vec<Object> = serde_json::from_str(requests).unwrap_or_default();
            for request in &requests {
                called(request, "name", &mut talk, &mut events);
            }
        }
        "tool.user_requested" => called(&data, "toolName", &mut talk, &mut events),
        "tool.execution_complete" => {
            let call = data.text("toolCallId")?;
            talk.returned.push(key(&call));
            let output = output(&data);
            let ok = data.is_true("success");
            events.push(ToolReturned { call, tool: None, ok, output }.into());
        }
        _ => {}
    }
    (!events.is_empty()).then_some((talk, events))
}

/// Adds the thoughts and the text of an answer.
fn answer(data: &Object, events: &mut Vec<Body>) {
    let text = |name: &str| data.text(name).filter(|text| !text.is_empty());
    if let Some(thoughts) = text("reasoningText").and_then(|text| thought(&text)) {
        events.push(said("assistant", thoughts));
    }
    if let Some(text) = text("content") {
        events.push(said("assistant", Json::string(&text)));
    }
}

fn said(role: &str, content: Json) -> Body {
    Message { role: role.to_owned(), content: Some(content), name: None, extra: None }.into()
}

fn called(request: &Object, tool: &str, talk: &mut Talk, events: &mut Vec<Body>) {
    let (Some(id), Some(tool)) = (request.text("toolCallId"), request.text(tool)) else { return };
    talk.called.push((key(&id), None));
    let arguments = request.get("arguments").cloned().unwrap_or_else(Json::null);
    events.push(ToolCalled { call: id, tool, arguments }.into());
}

/// Returns what a call returned: the text for the model, otherwise the whole result or error.
fn output(data: &Object) -> Option<Json> {
    let found = data.get("result").or_else(|| data.get("error"))?;
    let parts: Option<Object> = serde_json::from_str(found.text()).ok();
    let text = parts.and_then(|parts| {
        let name = ["content", "message"].into_iter().find(|name| parts.text(name).is_some())?;
        parts.get(name).cloned()
    });
    Some(text.unwrap_or_else(|| found.clone()))
}

#[cfg(test)]
mod tests;
