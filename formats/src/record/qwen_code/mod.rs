//! Sessions of qwen-code, in `~/.qwen/projects/PROJECT/chats/`.
//!
//! ```text
//! user         text              Message
//! assistant    text, thoughts    Message for each run of them
//!              functionCall      ToolCalled
//! tool_result  functionResponse  ToolReturned
//! every line                     Application `qwen_code`: the line, word for word
//! ```
//!
//! The usage of an answer is `answer`, an extra field of its first Message, or an Application
//! `qwen_code_usage`.
//!
//! As in Claude Code, each line names its parent.

use milepost::events::{Application, Data, Extra, Message, ToolReturned};
use milepost::{Body, Json};
use serde::Deserialize;

use super::claude_code::session_id;
use super::session::line::{
    Part, SessionLine, Talk, application, beginning, fields, kept, key, thought, time,
};
use super::session::{EachAlone, SessionFormat};
use crate::format::Format;
use crate::json_object::Object;

/// Name of the application events.
const NAME: &str = "qwen_code";
/// Name of the application event with the usage of an answer without a text.
const USAGE: &str = "qwen_code_usage";

/// The format.
pub static SESSIONS: SessionFormat = SessionFormat {
    format: Format::QwenCode,
    key: "qwen-code:",
    name: NAME,
    is_rewritten: true,
    session_id,
    parser: || Box::new(EachAlone(read)),
    written: |events| Json::from_value(&kept(NAME, events)?.0).ok(),
};

/// Reads a line, or returns the reason why it is invalid.
pub fn read(text: &str) -> Result<SessionLine, String> {
    let fields = fields(text)?;
    let mut line = SessionLine {
        uuid: fields.text("uuid"),
        parent: fields.text("parentUuid"),
        time_us: fields.text("timestamp").as_deref().and_then(time),
        ..SessionLine::default()
    };
    let message = line.uuid.is_some().then(|| Spoken::of(&fields)).flatten();
    if let Some(Spoken { talk, events }) = message {
        line.part = Part::Message(talk);
        line.events = events;
    }
    line.events.push(application(NAME, &fields));
    Ok(line)
}

/// A message, as events.
#[derive(Default)]
struct Spoken {
    talk: Talk,
    events: Vec<Body>,
}

impl Spoken {
    /// Returns the events of a message; `None` for any other line.
    fn of(fields: &Object) -> Option<Self> {
        let kind = fields.text("type")?;
        let role = match kind.as_str() {
            "user" | "tool_result" => "user",
            "assistant" => "assistant",
            _ => return None,
        };
        let parts: Vec<Object> = fields.object("message")?.read("parts")?;
        let mut spoken = Self::default();
        let mut usage = usage(fields).filter(|_| role == "assistant");
        for part in &parts {
            spoken.part(part, role, fields, &mut usage);
        }
        if let Some(Extra(usage)) = usage {
            let (name, data) = (USAGE.to_owned(), Data::Json(usage));
            spoken.events.push(Application { name, data }.into());
        }
        if kind != "user" || !spoken.talk.returned.is_empty() {
            spoken.talk.prompt = None;
        }
        Some(spoken)
    }

    fn part(&mut self, part: &Object, role: &str, line: &Object, usage: &mut Option<Extra>) {
        if let Some(call) = part.object("functionCall") {
            self.events.extend(self.talk.call(&call, ["id", "name", "args"]));
        } else if let Some(response) = part.object("functionResponse") {
            let Some(call) = response.text("id") else { return };
            self.talk.returned.push(key(&call));
            let result = line.object("toolCallResult").and_then(|result| result.text("status"));
            let own = response.object("response").unwrap_or_default();
            let ok = result.map_or(own.get("error").is_none(), |status| status == "success");
            let output = own.get("output").cloned().filter(|_| own.len() == 1);
            let output = output.or_else(|| response.get("response").cloned());
            let tool = response.text("name");
            self.events.push(ToolReturned { call, tool, ok, output }.into());
        } else if let Some(text) = part.text("text") {
            let content = match part.is_true("thought") {
                true => thought(&text),
                false => {
                    self.talk.prompt.get_or_insert_with(|| beginning(&text));
                    Some(Json::string(&text))
                }
            };
            let (role, extra) = (role.to_owned(), usage.take());
            self.events.push(Message { role, content, name: None, extra }.into());
        }
    }
}

/// Returns the usage of an answer, under the names that summaries read, as extra fields.
fn usage(line: &Object) -> Option<Extra> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Tokens {
        prompt_token_count: u64,
        candidates_token_count: u64,
        #[serde(default)]
        cached_content_token_count: u64,
    }
    let tokens: Tokens = line.read("usageMetadata")?;
    let usage = serde_json::json!({
        "input": tokens.prompt_token_count,
        "output": tokens.candidates_token_count,
        "cache_read": tokens.cached_content_token_count,
    });
    let answer = serde_json::json!({
        "id": line.text("uuid"), "model": line.text("model"), "usage": usage,
    });
    Json::from_value(&serde_json::json!({"answer": answer})).ok().map(Extra)
}

#[cfg(test)]
mod tests;
