//! Contents, as the service of Google has them.

use serde_json::{Value, json};

use super::script::Item;
use super::tools::Tools;
use super::{Answer, Shared, ToolCall, id, list};

/// Answers a request for content.
pub(super) fn answer(shared: &Shared, body: &Value, is_stream: bool) -> Answer {
    let lists = list(&body["tools"]).iter().map(|tool| list(&tool["functionDeclarations"]));
    let declared = lists.flatten().map(|function| {
        let schema = function.get("parametersJsonSchema").unwrap_or(&function["parameters"]);
        (&function["name"], schema)
    });
    let (mut text, calls) = shared.next(&items(body), &Tools::of(declared));
    let config = &body["generationConfig"];
    if config.get("responseJsonSchema").or(config.get("responseSchema")).is_some() {
        text = Some(verdict().to_string());
    }
    let texts = text.iter().map(|text| json!({"text": text}));
    let parts: Vec<_> = texts.chain(calls.into_iter().map(part)).collect();
    let content = json!({"role": "model", "parts": parts});
    let answer = json!({
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 1000,
            "candidatesTokenCount": 20,
            "totalTokenCount": 1020,
        },
        "modelVersion": "scripted",
        "responseId": id(),
    });
    match is_stream {
        true => Answer::Stream(vec![("", answer)]),
        false => Answer::Document(answer),
    }
}

/// The answer to questions that the program asks by a schema: which model, and who speaks next.
fn verdict() -> Value {
    json!({
        "reasoning": "as it is",
        "model_choice": "flash",
        "next_speaker": "user",
        "complexity_score": 1,
        "complexity_reasoning": "plain",
    })
}

fn items(body: &Value) -> Vec<Item> {
    let users = list(&body["contents"]).iter().filter(|content| content["role"] != "model");
    let parts = users.flat_map(|content| list(&content["parts"]));
    let item = |part: &Value| match part.get("functionResponse") {
        Some(_) => Some(Item::Result),
        None => Some(Item::User(part["text"].as_str()?.to_owned())),
    };
    parts.filter_map(item).collect()
}

fn part(call: ToolCall) -> Value {
    json!({"functionCall": {"id": call.id, "name": call.name, "args": call.input}})
}
