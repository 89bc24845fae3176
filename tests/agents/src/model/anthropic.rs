//! Messages, as the service of Anthropic has them.

use serde_json::{Value, json};

use super::script::Item;
use super::tools::Tools;
use super::{Answer, Shared, ToolCall, id, list};

/// Answers a request for a message, as a stream if it asks for one.
pub(super) fn answer(shared: &Shared, body: &Value) -> Answer {
    let declared = list(&body["tools"]).iter().map(|tool| (&tool["name"], &tool["input_schema"]));
    let (text, calls) = shared.next(&items(body), &Tools::of(declared));
    let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
    let texts = text.iter().map(|text| json!({"type": "text", "text": text}));
    let blocks: Vec<_> = texts.chain(calls.into_iter().map(block)).collect();
    let mut message = json!({
        "id": format!("msg_{}", id()),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": {
            "input_tokens": 1000,
            "output_tokens": 20,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    });
    if body["stream"] != true {
        return Answer::Document(message);
    }
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    let mut events = vec![("message_start", json!({"message": message}))];
    for (n, block) in blocks.into_iter().enumerate() {
        events.extend(stream(n, block));
    }
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    let usage = json!({"output_tokens": 20});
    events.push(("message_delta", json!({"delta": delta, "usage": usage})));
    events.push(("message_stop", json!({})));
    for (name, data) in &mut events {
        data["type"] = json!(name);
    }
    Answer::Stream(events)
}

fn items(body: &Value) -> Vec<Item> {
    let mut items = Vec::new();
    for message in list(&body["messages"]).iter().filter(|message| message["role"] == "user") {
        if let Some(text) = message["content"].as_str() {
            items.push(Item::User(text.to_owned()));
        }
        items.extend(list(&message["content"]).iter().filter_map(|block| {
            match block["type"].as_str()? {
                "tool_result" => Some(Item::Result),
                "text" => Some(Item::User(block["text"].as_str()?.to_owned())),
                _ => None,
            }
        }));
    }
    items
}

fn block(call: ToolCall) -> Value {
    let ToolCall { id, name, input } = call;
    json!({"type": "tool_use", "id": format!("toolu_{id}"), "name": name, "input": input})
}

/// The events of a block: begin, all of it at once, end.
fn stream(n: usize, mut block: Value) -> [(&'static str, Value); 3] {
    let delta = if block["type"] == "text" {
        json!({"type": "text_delta", "text": block["text"].take()})
    } else {
        json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
    };
    match block["type"] == "text" {
        true => block["text"] = json!(""),
        false => block["input"] = json!({}),
    }
    [
        ("content_block_start", json!({"index": n, "content_block": block})),
        ("content_block_delta", json!({"index": n, "delta": delta})),
        ("content_block_stop", json!({"index": n})),
    ]
}
