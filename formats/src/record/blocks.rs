//! The content of a message in Anthropic's form, split into events.
//!
//! ```text
//! text, thinking, images   Message; adjacent blocks are one
//! tool_use                 ToolCalled
//! tool_result              ToolReturned
//! ```

use milepost::events::{ToolCalled, ToolReturned};
use milepost::{Body, Json};

use super::session::line::said;
use crate::json_object::{Object, as_text};

/// The parts of a message.
#[derive(Default)]
pub struct Split {
    pub events: Vec<Body>,
    /// Its texts.
    pub texts: Vec<String>,
    /// Indices of its calls among the events.
    pub called: Vec<usize>,
    /// Ids of the calls that it answers.
    pub returned: Vec<String>,
    /// Fields of tool blocks that do not fit their events, by the id of the call.
    pub rest: Object,
}

/// Returns `true` if content is a list with a block of a tool.
pub fn has_tools(content: &Json) -> bool {
    let is_of_tool = |block: &Object| {
        let kind = block.text("type");
        matches!(kind.as_deref(), Some("tool_use" | "tool_result"))
    };
    let text = content.text();
    text.starts_with('[')
        && text.contains("tool_")
        && serde_json::from_str::<Vec<Object>>(text).is_ok_and(|all| all.iter().any(is_of_tool))
}

/// Splits content, which has one event at least.
pub fn split(role: &str, content: Json) -> Split {
    let mut split = Split::default();
    let blocks = content.text().starts_with('[');
    let blocks = blocks.then(|| serde_json::from_str::<Vec<Object>>(content.text()));
    let Some(Ok(blocks)) = blocks else {
        split.texts.extend(as_text(&content));
        split.events.push(said(role, Some(content)));
        return split;
    };
    let mut talk: Vec<Object> = Vec::new();
    for mut block in blocks {
        let tool = split.tool(&mut block);
        match tool {
            Some(event) => {
                split.events.extend(joined(role, &mut talk));
                if matches!(event, Body::ToolCalled(_)) {
                    split.called.push(split.events.len());
                }
                split.events.push(event);
            }
            None => {
                split.texts.extend(block.text("text"));
                talk.push(block);
            }
        }
    }
    split.events.extend(joined(role, &mut talk));
    if split.events.is_empty() {
        split.events.push(said(role, Some(content)));
    }
    split
}

/// Converts blocks into one message: text if it is one plain text, otherwise the blocks.
fn joined(role: &str, blocks: &mut Vec<Object>) -> Option<Body> {
    let mut blocks = std::mem::take(blocks);
    let alone = match blocks.as_mut_slice() {
        [] => return None,
        [block] if is_plain_text(block) => block.take("text"),
        _ => None,
    };
    alone.or_else(|| Json::from_value(&blocks).ok()).map(|content| said(role, Some(content)))
}

fn is_plain_text(block: &Object) -> bool {
    let kind = block.text("type");
    kind.as_deref() == Some("text") && block.text("text").is_some() && block.len() == 2
}

impl Split {
    /// Returns the event of a tool block, and keeps the fields that do not fit it.
    fn tool(&mut self, block: &mut Object) -> Option<Body> {
        let kind = block.text("type")?;
        let (call, event) = match kind.as_str() {
            "tool_use" => {
                let (id, tool) = (block.text("id")?, block.text("name")?);
                let arguments = block.take("input").unwrap_or_else(Json::null);
                let called = ToolCalled { call: id.clone(), tool, arguments };
                (id, Body::from(called))
            }
            "tool_result" => {
                let id = block.text("tool_use_id")?;
                self.returned.push(id.clone());
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
}
