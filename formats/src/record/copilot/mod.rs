//! Sessions of Copilot CLI, in `~/.copilot/session-state/ID/events.jsonl`.
//!
//! ```text
//! user.message             Message
//! assistant.message        Message of the thoughts, Message, ToolCalled for each of toolRequests
//! tool.user_requested      ToolCalled
//! tool.execution_complete  ToolReturned
//! session.usage_record     Application `copilot_usage`: the tokens of an answer
//! every line               Application `copilot`: the line, word for word
//! ```
//!
//! A line with usage is kept two levels deeper, since its cost is a number of requests and not of
//! money, which summaries would count. Of the lines of a sub-agent, which have `agentId`, only the
//! calls and their results are events: its messages do not belong to the conversation.
//!
//! Each line names the one before it. A `/rewind` writes the file anew, without the lines that it
//! removes.

use milepost::events::{Application, Data, Message, ToolCalled, ToolReturned};
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
/// Name of the application event with the usage of an answer.
const USAGE: &str = "copilot_usage";
/// Name of both fields around a line with usage.
const AROUND: &str = "line";

/// The format.
pub static SESSIONS: SessionFormat = SessionFormat {
    format: Format::Copilot,
    key: "copilot:",
    name: NAME,
    is_rewritten: true,
    session_id,
    parser: || Box::new(EachAlone(read)),
    written,
};

/// Returns the line that events are of, word for word.
fn written(events: &[Body]) -> Option<Json> {
    let line = kept(NAME, events)?.0;
    match is_around(&line) {
        true => object(&line, AROUND)?.get(AROUND).cloned(),
        false => Json::from_value(&line).ok(),
    }
}

fn is_around(fields: &Object) -> bool {
    fields.len() == 1 && fields.get(AROUND).is_some()
}

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
    match usage(&fields) {
        None if !is_around(&fields) => line.events.push(application(NAME, &fields)),
        usage => {
            line.events.extend(usage);
            line.events.push(application(NAME, &around(&around(&fields))));
        }
    }
    Ok(line)
}

fn around(fields: &Object) -> Object {
    let mut outer = Object::default();
    outer.put(AROUND, Json::from_value(fields).unwrap_or_else(|_| Json::null()));
    outer
}

/// Returns the usage of an answer, under the names that summaries read; `None` for any other line.
fn usage(fields: &Object) -> Option<Body> {
    if fields.text("type")? != "session.usage_record" {
        return None;
    }
    let usage = object(&object(fields, "data")?, "usage")?;
    let number = |name: &str| -> Option<u64> { serde_json::from_str(usage.get(name)?.text()).ok() };
    let answer = serde_json::json!({
        "id": usage.text("apiCallId"),
        "model": usage.text("model"),
        "usage": {
            "input": number("inputTokens"),
            "output": number("outputTokens"),
            "cache_read": number("cacheReadTokens"),
            "cache_write": number("cacheWriteTokens"),
        },
    });
    let data = Data::Json(Json::from_value(&serde_json::json!({ "answer": answer })).ok()?);
    Some(Application { name: USAGE.to_owned(), data }.into())
}

fn object(fields: &Object, name: &str) -> Option<Object> {
    serde_json::from_str(fields.get(name)?.text()).ok()
}

/// Returns the part of a line in the conversation, and its events; `None` for any other line.
fn spoken(fields: &Object) -> Option<(Talk, Vec<Body>)> {
    let data = object(fields, "data")?;
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

/// Returns the result of a call: the text for the model, otherwise the whole result or error.
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
