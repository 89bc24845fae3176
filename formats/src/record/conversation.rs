//! Chat messages to events: messages, tool calls and tool returns.
//!
//! Each is recorded once. The conversation of a state is its messages, tool calls and tool returns
//! in order:
//!
//! ```text
//! {"role": "assistant", "content": "..", "tool_calls": [a, b]}    Message, ToolCalled, ToolCalled
//! {"role": "assistant", "content": null, "tool_calls": [a]}       ToolCalled
//! {"role": "tool", "content": "..", "tool_call_id": ".."}         ToolReturned
//! {"role": .., "content": [text, tool_use, tool_result]}           Message, ToolCalled,
//! ToolReturned {"role": anything else, "content": ".."}                        Message
//! ```

use milepost::events::{Extra, Message, ToolCalled, ToolReturned};
use milepost::{Body, Json};

use super::blocks::{has_tools, split};
use crate::json_object::{Object, as_text};

/// Fields of tool calls and returns that do not fit their events, by the id of the call.
#[derive(Debug, Default)]
pub struct Leftover {
    called: Object,
    returned: Object,
}

impl Leftover {
    /// Removes the fields so far, and returns them as one object.
    pub fn take(&mut self) -> Object {
        let mut all = Object::default();
        let parts = [("called", &mut self.called), ("returned", &mut self.returned)];
        for (name, part) in parts {
            if let Some(json) = std::mem::take(part).into_json() {
                all.put(name, json);
            }
        }
        all
    }
}

/// Returns the events of one message, in order. `place` names it in an error.
pub fn events(
    mut message: Object,
    place: &str,
    leftover: &mut Leftover,
) -> Result<Vec<Body>, String> {
    let role = message.take_text("role").ok_or_else(|| format!("{place} has no `role`"))?;
    if role == "tool"
        && let Some(calls) = take_call_ids(&mut message)
    {
        return Ok(tool_returns(message, calls, leftover));
    }
    if message.get("content").is_some_and(has_tools)
        && let Some(content) = message.take("content")
    {
        return Ok(of_blocks(&role, content, message, leftover));
    }
    let content = take_present(&mut message, "content");
    let calls = take_calls(&mut message);
    let name = message.take_text("name");
    let bare = content.is_none() && name.is_none() && message.is_empty() && role == "assistant";
    let mut events = Vec::new();
    if calls.is_empty() || !bare {
        events.push(Message { role, content, name, extra: message.into_json().map(Extra) }.into());
    }
    for (call, rest) in calls {
        attach_rest(&mut leftover.called, &call.call, rest);
        events.push(call.into());
    }
    Ok(events)
}

/// Returns the events of a message with blocks of tools.
fn of_blocks(role: &str, content: Json, rest: Object, leftover: &mut Leftover) -> Vec<Body> {
    let mut split = split(role, content);
    let first = split.events.iter_mut().find_map(|event| match event {
        Body::Message(message) => Some(message),
        _ => None,
    });
    match (first, split.returned.first()) {
        (Some(message), _) => message.extra = rest.into_json().map(Extra),
        (None, Some(call)) => attach_rest(&mut leftover.returned, call, rest),
        (None, None) => {
            let message = Message { role: role.to_owned(), content: None, name: None, extra: None };
            if let Some(rest) = rest.into_json() {
                let extra = Some(Extra(rest));
                split.events.insert(0, Message { extra, ..message }.into());
            }
        }
    }
    for (call, fields) in split.rest.into_fields() {
        let is_returned = split.returned.contains(&call);
        let part = if is_returned { &mut leftover.returned } else { &mut leftover.called };
        part.put(call, fields);
    }
    split.events
}

fn take_present(object: &mut Object, name: &str) -> Option<Json> {
    object.take(name).filter(|json| !json.is_null())
}

fn attach_rest(part: &mut Object, call: &str, rest: Object) {
    if let Some(json) = rest.into_json() {
        part.put(call, json);
    }
}

/// Returns the ids of the calls that a tool message answers: `tool_call_id`, or SWE-agent's
/// `tool_call_ids`.
fn take_call_ids(message: &mut Object) -> Option<Vec<String>> {
    if let Some(id) = message.take_text("tool_call_id") {
        return Some(vec![id]);
    }
    let ids: Vec<String> = message.read("tool_call_ids")?;
    if ids.is_empty() {
        return None;
    }
    message.take("tool_call_ids");
    Some(ids)
}

fn tool_returns(mut message: Object, calls: Vec<String>, leftover: &mut Leftover) -> Vec<Body> {
    let mut output = take_present(&mut message, "content");
    let tool = message.take_text("name");
    if let Some(first) = calls.first() {
        attach_rest(&mut leftover.returned, first, message);
    }
    let answer =
        |call| ToolReturned { call, tool: tool.clone(), ok: true, output: output.take() }.into();
    calls.into_iter().map(answer).collect()
}

/// Removes the tool calls of a message, and returns each with the fields that do not fit its event.
/// Calls in an unknown form stay in the message.
fn take_calls(message: &mut Object) -> Vec<(ToolCalled, Object)> {
    let calls: Vec<Object> = message.read("tool_calls").unwrap_or_default();
    let calls: Option<Vec<_>> = calls.into_iter().map(tool_call).collect();
    match calls {
        Some(calls) if !calls.is_empty() => {
            message.take("tool_calls");
            calls
        }
        _ => Vec::new(),
    }
}

fn tool_call(mut call: Object) -> Option<(ToolCalled, Object)> {
    let id = call.take_text("id")?;
    let mut function: Object = serde_json::from_str(call.take("function")?.text()).ok()?;
    let tool = function.take_text("name")?;
    let arguments = function.take("arguments").map_or_else(Json::null, arguments);
    if call.text("type").as_deref() == Some("function") {
        call.take("type");
    }
    if let Some(rest) = function.into_json() {
        call.put("function", rest);
    }
    Some((ToolCalled { call: id, tool, arguments }, call))
}

/// Returns the arguments of a call. They are often a string that contains JSON; that JSON is then
/// returned. A string that contains a JSON string, or no JSON, is returned unchanged.
fn arguments(json: Json) -> Json {
    let inner = as_text(&json).filter(|text| !text.trim_start().starts_with('"'));
    inner.and_then(|text| Json::new(text).ok()).unwrap_or(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Body>, Leftover) {
        let mut leftover = Leftover::default();
        let message = serde_json::from_str(text).unwrap();
        (events(message, "message 0", &mut leftover).unwrap(), leftover)
    }

    fn json(text: &str) -> Json {
        Json::new(text).unwrap()
    }

    #[test]
    fn an_assistants_message_with_calls_becomes_a_message_and_its_calls() {
        let (events, leftover) = read(
            r#"{"role":"assistant","content":"let me look","tool_calls":[
                {"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"a\":1}"}},
                {"id":"c2","type":"function","function":{"name":"sh","arguments":"ls -l"}}]}"#,
        );
        let called = |call: &str, tool: &str, arguments| {
            Body::ToolCalled(ToolCalled { call: call.into(), tool: tool.into(), arguments })
        };
        assert_eq!(
            events,
            [
                Message::text("assistant", "let me look").into(),
                called("c1", "ls", json(r#"{"a":1}"#)),
                called("c2", "sh", json(r#""ls -l""#)),
            ]
        );
        assert!(leftover.called.is_empty());
    }

    #[test]
    fn blocks_of_tools_are_calls_and_results_as_in_sessions() {
        let (events, leftover) = read(
            r#"{"role":"assistant","ts":2,"content":[{"type":"text","text":"ok"},
                {"type":"tool_use","id":"t","name":"ls","input":{"a":1},"cache":true}]}"#,
        );
        let extra = Some(Extra(json(r#"{"ts":2}"#)));
        let called =
            ToolCalled { call: "t".into(), tool: "ls".into(), arguments: json(r#"{"a":1}"#) };
        let said = Message { extra, ..Message::text("assistant", "ok") };
        assert_eq!(events, [said.into(), called.into()]);
        assert_eq!(leftover.called.get("t").unwrap().text(), r#"{"cache":true}"#);
        let (events, leftover) = read(
            r#"{"role":"user","ts":3,"content":[
                {"type":"tool_result","tool_use_id":"t","is_error":true,"content":"A"}]}"#,
        );
        let output = Some(json(r#""A""#));
        let returned = ToolReturned { call: "t".into(), tool: None, ok: false, output };
        assert_eq!(events, [returned.into()]);
        assert_eq!(leftover.returned.get("t").unwrap().text(), r#"{"ts":3}"#);
        // Without a tool, the blocks are the content.
        let (events, _) = read(r#"{"role":"user","content":[{"type":"text","text":"x"}]}"#);
        assert!(matches!(&events[..], [Body::Message(message)]
            if message.content.as_ref().unwrap().text().starts_with('[')));
    }

    #[test]
    fn a_message_without_content_that_only_calls_is_its_calls() {
        let (events, _) = read(
            r#"{"role":"assistant","content":null,
                "tool_calls":[{"id":"c","type":"function",
                    "function":{"name":"x","arguments":""}}]}"#,
        );
        let call = ToolCalled { call: "c".into(), tool: "x".into(), arguments: json(r#""""#) };
        assert_eq!(events, [call.into()]);
    }

    #[test]
    fn a_string_in_a_string_is_not_taken_apart() {
        assert_eq!(arguments(json(r#""\"x\"""#)).text(), r#""\"x\"""#);
        assert_eq!(arguments(json(r#"{"a":1}"#)).text(), r#"{"a":1}"#);
        assert_eq!(arguments(json(r#""{\"a\":1.0}""#)).text(), r#"{"a":1.0}"#);
    }

    #[test]
    fn what_a_tool_returned_keeps_every_field() {
        let (events, mut leftover) = read(
            r#"{"role":"tool","content":"ok","agent":"main","tool_call_ids":["c"],"name":"ls"}"#,
        );
        let returned = ToolReturned {
            call: "c".into(),
            tool: Some("ls".into()),
            ok: true,
            output: Some(json(r#""ok""#)),
        };
        assert_eq!(events, [returned.into()]);
        let leftover = leftover.take().into_json().unwrap();
        assert_eq!(leftover.text(), r#"{"returned":{"c":{"agent":"main"}}}"#);
    }

    #[test]
    fn a_message_without_a_role_is_an_error_that_names_it() {
        let message = serde_json::from_str(r#"{"content":"x"}"#).unwrap();
        let error = events(message, "message 3", &mut Leftover::default()).unwrap_err();
        assert_eq!(error, "message 3 has no `role`");
    }

    #[test]
    fn a_tool_message_that_answers_nothing_stays_a_message() {
        let (events, _) = read(r#"{"role":"tool","content":"ok"}"#);
        assert_eq!(events, [Message::text("tool", "ok").into()]);
    }
}
