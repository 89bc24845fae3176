//! Lines of sessions of Claude Code, from the events that they were recorded as.
//!
//! Lines without an id are left out: a session continues without them, and an import names them by
//! their exact text.

use milepost::events::Data;
use milepost::{Body, Json};
use serde_json::json;

use super::line::NAME;
use crate::json_object::{Object, value_of};

/// Returns the line of its events. `None` if it has no id.
pub(super) fn written(events: &[Body]) -> Option<Json> {
    let mut fields = fields(events)?;
    fields.text("uuid")?;
    let has_content = events
        .iter()
        .any(|body| matches!(body, Body::Message(_) | Body::ToolCalled(_) | Body::ToolReturned(_)));
    if has_content {
        let rest = object(fields.take("message"));
        let blocks = object(fields.take("blocks"));
        let role = role(events, &fields);
        let mut message = Object::default();
        message.put("role", Json::from_value(&role).ok()?);
        message.put("content", content(events, &role, &blocks)?);
        for (name, value) in rest.into_fields() {
            message.put(name, value);
        }
        fields.put("message", Json::from_value(&message).ok()?);
    }
    Json::from_value(&fields).ok()
}

/// Returns the fields of the line that do not fit its events.
fn fields(events: &[Body]) -> Option<Object> {
    let kept = events.iter().find_map(|body| match body {
        Body::Message(message) => {
            let extra = message.extra.as_ref()?;
            value_of::<Object>(&extra.0)?.get(NAME).cloned()
        }
        Body::Application(application) => match &application.data {
            Data::Json(json) => Some(json.clone()),
            _ => None,
        },
        _ => None,
    });
    value_of(&kept?)
}

fn object(json: Option<Json>) -> Object {
    json.as_ref().and_then(value_of).unwrap_or_default()
}

/// Returns the role of the message: a line of tools has only its type.
fn role(events: &[Body], fields: &Object) -> String {
    let said = events.iter().find_map(|body| match body {
        Body::Message(message) => Some(message.role.clone()),
        _ => None,
    });
    let kind = fields.text("type");
    // A text that the user did not type has another role in the log.
    let said = said.filter(|role| role != "system" || kind.as_deref() != Some("user"));
    said.or(kind).unwrap_or_default()
}

/// Returns the content: text of a user that is alone, or a list of blocks.
fn content(events: &[Body], role: &str, rest: &Object) -> Option<Json> {
    if let [Body::Message(message)] = events
        && let Some(content) = &message.content
        && (role == "user" || !content.text().starts_with('"'))
    {
        return Some(content.clone());
    }
    let mut blocks: Vec<Json> = Vec::new();
    for part in events {
        match part {
            Body::Message(message) => {
                let Some(content) = &message.content else { continue };
                match serde_json::from_str::<Vec<Json>>(content.text()) {
                    Ok(list) => blocks.extend(list),
                    Err(_) => blocks.push(text_block(content)?),
                }
            }
            Body::ToolCalled(called) => {
                let mut block = Object::default();
                block.put("type", Json::from_value("tool_use").ok()?);
                block.put("id", Json::from_value(&called.call).ok()?);
                block.put("name", Json::from_value(&called.tool).ok()?);
                block.put("input", called.arguments.clone());
                blocks.push(with_rest(block, rest, &called.call)?);
            }
            Body::ToolReturned(returned) => {
                let mut block = Object::default();
                block.put("tool_use_id", Json::from_value(&returned.call).ok()?);
                block.put("type", Json::from_value("tool_result").ok()?);
                if let Some(output) = &returned.output {
                    block.put("content", output.clone());
                }
                if !returned.ok {
                    block.put("is_error", Json::from_value(&true).ok()?);
                }
                blocks.push(with_rest(block, rest, &returned.call)?);
            }
            _ => {}
        }
    }
    Json::from_value(&blocks).ok()
}

fn text_block(text: &Json) -> Option<Json> {
    let text: serde_json::Value = serde_json::from_str(text.text()).ok()?;
    Json::from_value(&json!({ "type": "text", "text": text })).ok()
}

/// Adds the fields of a block of a tool that did not fit its event.
fn with_rest(mut block: Object, rest: &Object, call: &str) -> Option<Json> {
    for (name, value) in object(rest.get(call).cloned()).into_fields() {
        block.put(name, value);
    }
    Json::from_value(&block).ok()
}
