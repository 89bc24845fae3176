//! Messages and calls that a program keeps in lists of its variables, as LangGraph and the sessions
//! of the OpenAI Agents SDK do: an event that adds items to `/messages` or `/items` is read as the
//! messages, calls and results in it. So is an application event with an entry of a conversation
//! of pydantic-ai.

use milepost_codec::{Body, Data, Json, PatchForm, ToolCalled, ToolReturned, VariablesPatched};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The lists that have messages.
const LISTS: [&str; 2] = ["/messages", "/items"];

/// The beginning of the names by which LangGraph starts a node.
const BRANCH: &str = "/branch:to:";

/// The application event with a message of a conversation of pydantic-ai.
const ENTRY: &str = "pydantic.entry";

/// The maximum number of items of one event.
const ITEMS_MAX: usize = 1000;

/// An operation of a patch.
#[derive(Debug, Deserialize)]
struct Operation {
    op: String,
    path: String,
    value: Option<Value>,
}

/// An entry of a conversation.
#[derive(Debug, Deserialize)]
struct Entry {
    message: EntryMessage,
}

#[derive(Debug, Deserialize)]
struct EntryMessage {
    parts: Vec<Map<String, Value>>,
}

/// Turns in the event of a run whose program keeps them in variables.
#[derive(Debug, Default)]
pub struct Items {
    /// Messages, calls and results, in order.
    pub bodies: Vec<Body>,
    /// The nodes that ran, if a graph reports them.
    pub nodes: Option<String>,
}

impl Items {
    /// Returns the items that an event adds.
    pub fn of(body: &Body) -> Self {
        match body {
            Body::VariablesPatched(patched) => Self::of_patch(patched),
            Body::Application(event) if event.name == ENTRY => Self::of_entry(&event.data),
            _ => Self::default(),
        }
    }

    fn of_entry(data: &Data) -> Self {
        let mut items = Self::default();
        let entry = match data {
            Data::Json(json) => serde_json::from_str::<Entry>(json.text()).ok(),
            Data::Bytes(_) => None,
        };
        for part in entry.into_iter().flat_map(|entry| entry.message.parts).take(ITEMS_MAX) {
            items.part(&part);
        }
        items
    }

    /// Adds a part of a message, by the names of pydantic-ai.
    fn part(&mut self, part: &Map<String, Value>) {
        let text = |name: &str| part.get(name).and_then(Value::as_str).unwrap_or_default();
        let value = |name: &str| part.get(name).cloned().unwrap_or_default();
        let call = text("tool_call_id").to_owned();
        match text("part_kind") {
            "user-prompt" => self.said("user", &value("content")),
            "system-prompt" => self.said("system", &value("content")),
            "text" => self.said("assistant", &value("content")),
            "tool-call" | "builtin-tool-call" => {
                self.called(call, text("tool_name").to_owned(), &value("args"));
            }
            "tool-return" | "builtin-tool-return" => {
                let ok = text("outcome").is_empty() || text("outcome") == "success";
                self.returned(call, ok, Json::from_value(&value("content")).ok());
            }
            "retry-prompt" if !text("tool_name").is_empty() => {
                self.returned(call, false, Json::from_value(&value("content")).ok());
            }
            "retry-prompt" => self.said("user", &value("content")),
            _ => {}
        }
    }

    /// Adds a message. Of a list of contents, such as texts and images, the texts are taken.
    fn said(&mut self, role: &str, content: &Value) {
        let content = match content {
            Value::Array(all) => {
                let texts: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
                Value::from(texts.join("\n"))
            }
            content => content.clone(),
        };
        let message = json!({"kind": "message", "role": role, "content": content});
        if let Ok(message) = Body::from_json(&message.to_string()) {
            self.bodies.push(message);
        }
    }

    fn of_patch(patched: &VariablesPatched) -> Self {
        let mut items = Self::default();
        let text = patched.patch.text();
        let has = |name: &&str| text.contains(*name);
        if patched.form != PatchForm::Patch || !LISTS.iter().chain(&[BRANCH]).any(has) {
            return items;
        }
        let Ok(operations) = serde_json::from_str::<Vec<Operation>>(text) else {
            return items;
        };
        let mut nodes = Vec::new();
        for Operation { op, path, value } in operations {
            if op == "remove" {
                nodes.extend(path.strip_prefix(BRANCH).map(unescaped));
            } else if let Some(value) = value {
                items.take(&path, value);
            }
        }
        items.nodes = (!nodes.is_empty()).then(|| nodes.join(", "));
        items
    }

    fn take(&mut self, path: &str, value: Value) {
        for list in LISTS {
            let Some(place) = path.strip_prefix(list) else {
                continue;
            };
            let is_item = |place: &str| place == "-" || place.parse::<u64>().is_ok();
            match (place.strip_prefix('/'), value) {
                (Some(place), Value::Object(item)) if is_item(place) => self.item(item),
                (None, Value::Array(all)) if place.is_empty() => {
                    for item in all {
                        if let Value::Object(item) = item {
                            self.item(item);
                        }
                    }
                }
                _ => {}
            }
            return;
        }
    }

    fn item(&mut self, mut item: Map<String, Value>) {
        if self.bodies.len() >= ITEMS_MAX {
            return;
        }
        let text = |item: &Map<String, Value>, name: &str| {
            item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let kind = text(&item, "type");
        match kind.as_str() {
            "function_call" => {
                let arguments = item.get("arguments").cloned().unwrap_or_default();
                self.called(text(&item, "call_id"), text(&item, "name"), &arguments);
            }
            "function_call_output" => {
                let output = item.get("output").and_then(|output| Json::from_value(output).ok());
                self.returned(text(&item, "call_id"), true, output);
            }
            "tool" => {
                let output = item.get("content").and_then(|output| Json::from_value(output).ok());
                let ok = text(&item, "status") != "error";
                self.returned(text(&item, "tool_call_id"), ok, output);
            }
            _ => {
                let role = match kind.as_str() {
                    "human" => "user".to_owned(),
                    "ai" => "assistant".to_owned(),
                    "system" => kind,
                    _ => text(&item, "role"),
                };
                if role.is_empty() {
                    return;
                }
                let calls = item.remove("tool_calls");
                let says = item.get("content").is_some_and(|content| {
                    *content != json!("") && *content != json!([]) && !content.is_null()
                });
                let has_usage = item.get("usage_metadata").is_some_and(Value::is_object);
                item.insert("kind".into(), "message".into());
                item.insert("role".into(), role.into());
                if !says {
                    item.remove("content");
                }
                let message = Value::Object(item).to_string();
                if (says || has_usage)
                    && let Ok(message) = Body::from_json(&message)
                {
                    self.bodies.push(message);
                }
                for call in calls.as_ref().and_then(Value::as_array).into_iter().flatten() {
                    let Some(call) = call.as_object() else { continue };
                    let arguments = call.get("args").cloned().unwrap_or_default();
                    self.called(text(call, "id"), text(call, "name"), &arguments);
                }
            }
        }
    }

    fn called(&mut self, call: String, tool: String, arguments: &Value) {
        // Some programs keep arguments as text.
        let parsed = arguments.as_str().and_then(|text| Json::new(text.to_owned()).ok());
        if let Some(arguments) = parsed.or_else(|| Json::from_value(arguments).ok()) {
            self.bodies.push(ToolCalled { call, tool, arguments }.into());
        }
    }

    fn returned(&mut self, call: String, ok: bool, output: Option<Json>) {
        self.bodies.push(ToolReturned { call, tool: None, ok, output }.into());
    }
}

/// Returns a name of a pointer without its escapes.
fn unescaped(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}
