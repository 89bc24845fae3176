//! Sessions made by hand.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::Place;

pub const SESSION: &str = "11111111-1111-4111-8111-111111111111";

/// The lines of a session.
#[derive(Debug, Default, Clone)]
pub struct Made {
    pub lines: Vec<String>,
}

impl Made {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn user(&mut self, uuid: &str, parent: Option<&str>, text: &str) {
        self.with(uuid, parent, "user", json!(text), json!({}));
    }

    pub fn assistant(&mut self, uuid: &str, parent: &str, blocks: Value) {
        self.with(uuid, Some(parent), "assistant", blocks, json!({}));
    }

    pub fn results(&mut self, uuid: &str, parent: &str, blocks: Value) {
        let more = json!({"toolUseResult": {"stdout": "x"}});
        self.with(uuid, Some(parent), "user", blocks, more);
    }

    /// Adds a line outside of the session's own conversation.
    pub fn side(&mut self, uuid: &str, parent: Option<&str>, kind: &str, content: Value) {
        self.with(uuid, parent, kind, content, json!({"isSidechain": true}));
    }

    /// A line with more fields than others.
    pub fn with(
        &mut self,
        uuid: &str,
        parent: Option<&str>,
        kind: &str,
        content: Value,
        more: Value,
    ) {
        let second = self.lines.len() + 1;
        let mut message = json!({"role": kind, "content": content});
        if kind == "assistant" {
            message["id"] = json!("m");
        }
        let mut line = json!({
            "parentUuid": parent, "isSidechain": false, "cwd": "/x", "sessionId": SESSION,
            "version": "2.0.61", "type": kind, "message": message, "uuid": uuid,
            "timestamp": format!("2025-05-26T07:{:02}:{:02}.079Z", 27 + second / 60, second % 60),
        });
        for (name, value) in more.as_object().unwrap() {
            line[name.as_str()] = value.clone();
        }
        self.lines.push(line.to_string());
    }

    /// A line that is no message.
    pub fn other(&mut self, line: Value) {
        self.lines.push(line.to_string());
    }

    pub fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        text.push('\n');
        text
    }

    pub fn save(&self, place: &Place) -> PathBuf {
        place.write("session.jsonl", self.text())
    }
}

pub fn said(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub fn call(id: &str, tool: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": tool, "input": input})
}

pub fn result(id: &str, content: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": content})
}
