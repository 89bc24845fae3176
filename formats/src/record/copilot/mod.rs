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

use milepost::events::ToolReturned;
use milepost::{Body, Json};

use super::session::line::{
    Part, SessionLine, Talk, application, beginning, fields, kept, key, said, thought, time,
};
use super::session::{EachAlone, SessionFormat};
use crate::format::Format;
use crate::json_object::{Object, value_of};

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
        true => line.object(AROUND)?.get(AROUND).cloned(),
        false => Json::from_value(&line).ok(),
    }
}

fn is_around(fields: &Object) -> bool {
    fields.len() == 1 && fields.get(AROUND).is_some()
}

/// Returns the id of the session, which its first line has.
fn session_id(start: &[u8], _: Option<&str>) -> Option<String> {
    let data = |line: &[u8]| serde_json::from_slice::<Object>(line).ok()?.object("data");
    let id = |line: &[u8]| data(line)?.text("sessionId");
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
    let usage = fields.object("data")?.object("usage")?;
    let number = |name: &str| usage.read::<u64>(name);
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
    Some(application(USAGE, &serde_json::json!({ "answer": answer })))
}

/// Returns the part of a line in the conversation, and its events; `None` for any other line.
fn spoken(fields: &Object) -> Option<(Talk, Vec<Body>)> {
    let data = fields.object("data")?;
    let is_of_main = fields.text("agentId").is_none();
    let (mut talk, mut events) = (Talk::default(), Vec::new());
    match fields.text("type")?.as_str() {
        "user.message" if is_of_main => {
            let text = data.text("content")?;
            // Skills and other agents write as the user does, and are named.
            let is_prompt = data.text("source").is_none_or(|source| source == "user");
            talk.prompt = is_prompt.then(|| beginning(&text));
            events.push(said(if is_prompt { "user" } else { "system" }, Some(Json::string(&text))));
        }
        "assistant.message" => {
            if is_of_main {
                answer(&data, &mut events);
            }
            let requests = data.get("toolRequests").map_or("[]", Json::text);
            let requests: Vec<Object> = serde_json::from_str(requests).unwrap_or_default();
            for request in &requests {
                events.extend(talk.call(request, ["toolCallId", "name", "arguments"]));
            }
        }
        "tool.user_requested" => {
            events.extend(talk.call(&data, ["toolCallId", "toolName", "arguments"]));
        }
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
    let thoughts = text("reasoningText").and_then(|text| thought(&text));
    let texts = [thoughts, text("content").map(|text| Json::string(&text))];
    events.extend(texts.into_iter().flatten().map(|text| said("assistant", Some(text))));
}

/// Returns the result of a call: the text for the model, otherwise the whole result or error.
fn output(data: &Object) -> Option<Json> {
    let found = data.get("result").or_else(|| data.get("error"))?;
    let text = value_of(found).and_then(|parts: Object| {
        let name = ["content", "message"].into_iter().find(|name| parts.text(name).is_some())?;
        parts.get(name).cloned()
    });
    Some(text.unwrap_or_else(|| found.clone()))
}

#[cfg(test)]
mod tests;
