//! Responses and chat completions, as the service of OpenAI has them.

use serde_json::{Value, json};

use super::script::Item;
use super::tools::Tools;
use super::{Answer, Shared, ToolCall, id, list, text_of};

/// Answers a request for a response.
pub(super) fn responses(shared: &Shared, body: &Value) -> Answer {
    let tools = Tools::of_openai(&body["tools"]);
    let (text, calls) = shared.next(&items(body), &tools);
    let texts = text.iter().map(|text| {
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        let id = format!("msg_{}", id());
        json!({"type": "message", "id": id, "role": "assistant", "status": "completed",
            "content": content})
    });
    let output: Vec<_> = texts.chain(calls.into_iter().map(|call| item(call, &tools))).collect();
    let response = json!({
        "id": format!("resp_{}", id()),
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "completed",
        "model": body["model"],
        "output": output,
        "error": null,
        "incomplete_details": null,
        "usage": {
            "input_tokens": 1000,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 1020,
        },
    });
    if body["stream"] != true {
        return Answer::Document(response);
    }
    let mut begun = response.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = vec![("response.created", json!({"response": begun}))];
    for (n, item) in output.into_iter().enumerate() {
        events.extend(stream(n, item));
    }
    events.push(("response.completed", json!({"response": response})));
    for (n, (name, data)) in events.iter_mut().enumerate() {
        data["type"] = json!(name);
        data["sequence_number"] = json!(n);
    }
    Answer::Stream(events)
}

fn items(body: &Value) -> Vec<Item> {
    let inputs = list(&body["input"]).iter();
    let item = |input: &Value| {
        let kind = input["type"].as_str().unwrap_or("message");
        match kind {
            "message" if input["role"] == "user" => Some(Item::User(text_of(&input["content"]))),
            kind if kind.ends_with("_output") => Some(Item::Result),
            _ => None,
        }
    };
    match body["input"].as_str() {
        Some(text) => vec![Item::User(text.to_owned())],
        None => inputs.filter_map(item).collect(),
    }
}

fn item(call: ToolCall, tools: &Tools) -> Value {
    let ToolCall { id, name, input } = call;
    let call_id = format!("call_{id}");
    match tools.is_plain(&name) {
        true => json!({"type": "custom_tool_call", "id": format!("ctc_{id}"), "call_id": call_id,
            "name": name, "input": input, "status": "completed"}),
        false => json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": call_id,
            "name": name, "arguments": input.to_string(), "status": "completed"}),
    }
}

/// The events of an item.
fn stream(n: usize, item: Value) -> Vec<(&'static str, Value)> {
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    let mut events =
        vec![("response.output_item.added", json!({"output_index": n, "item": begun}))];
    if item["type"] == "message" {
        let text = text_of(&item["content"]);
        let delta = json!({"item_id": item["id"], "output_index": n, "content_index": 0,
            "delta": text});
        events.push(("response.output_text.delta", delta));
    }
    events.push(("response.output_item.done", json!({"output_index": n, "item": item})));
    events
}

/// Answers a request for a chat completion.
pub(super) fn completions(shared: &Shared, body: &Value) -> Answer {
    let message = |message: &Value| match message["role"].as_str()? {
        "tool" => Some(Item::Result),
        "user" => Some(Item::User(text_of(&message["content"]))),
        _ => None,
    };
    let items: Vec<_> = list(&body["messages"]).iter().filter_map(message).collect();
    let (text, calls) = shared.next(&items, &Tools::of_openai(&body["tools"]));
    let end = if calls.is_empty() { "stop" } else { "tool_calls" };
    let calls: Vec<_> = calls.into_iter().enumerate().map(chat_call).collect();
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020});
    let whole = |object: &str, choices: Value| {
        json!({"id": format!("chatcmpl-{}", id()), "object": object, "created": 1_700_000_000,
            "model": body["model"], "choices": choices, "usage": usage})
    };
    if body["stream"] != true {
        let choice = json!([{"index": 0, "message": message, "finish_reason": end}]);
        return Answer::Document(whole("chat.completion", choice));
    }
    let choice = |delta: &Value, end: Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": end}]);
        ("", whole("chat.completion.chunk", choices))
    };
    Answer::Stream(vec![choice(&message, Value::Null), choice(&json!({}), json!(end))])
}

fn chat_call((n, call): (usize, ToolCall)) -> Value {
    let function = json!({"name": call.name, "arguments": call.input.to_string()});
    json!({"index": n, "id": format!("call_{}", call.id), "type": "function",
        "function": function})
}
