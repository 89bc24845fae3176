//! The id of a session in the lines that the agent finds it by.

use milepost::Json;

use crate::format::Format;
use crate::json_object::{Object, value_of};

/// Returns a line with the id of a new session. Claude Code takes the name of the file.
pub(super) fn renamed(format: Format, line: Json, id: &str) -> Json {
    let renamed = match format {
        Format::Codex => codex(&line, id),
        Format::GeminiCli => gemini_cli(&line, id),
        Format::QwenCode => qwen_code(&line, id),
        Format::Copilot => copilot(&line, id),
        _ => None,
    };
    renamed.unwrap_or(line)
}

/// Changes `id` and `session_id` of the payload of a line `session_meta`.
fn codex(line: &Json, id: &str) -> Option<Json> {
    let mut fields: Object = value_of(line)?;
    if fields.text("type").as_deref() != Some("session_meta") {
        return None;
    }
    let mut payload = fields.object("payload")?;
    set(&mut payload, "id", id)?;
    let _ = set(&mut payload, "session_id", id);
    fields.replace("payload", Json::from_value(&payload).ok()?)?;
    Json::from_value(&fields).ok()
}

/// Changes `sessionId` of a line, and in its `$set`.
fn gemini_cli(line: &Json, id: &str) -> Option<Json> {
    let mut fields: Object = value_of(line)?;
    let in_line = set(&mut fields, "sessionId", id);
    let in_set = fields.object("$set").and_then(|mut inner| {
        set(&mut inner, "sessionId", id)?;
        fields.replace("$set", Json::from_value(&inner).ok()?).map(drop)
    });
    in_line.or(in_set)?;
    Json::from_value(&fields).ok()
}

/// Changes `sessionId` of a line.
fn qwen_code(line: &Json, id: &str) -> Option<Json> {
    let mut fields: Object = value_of(line)?;
    set(&mut fields, "sessionId", id)?;
    Json::from_value(&fields).ok()
}

/// Changes `sessionId` in the data of the first line of a session.
fn copilot(line: &Json, id: &str) -> Option<Json> {
    let mut fields: Object = value_of(line)?;
    if fields.text("type").as_deref() != Some("session.start") {
        return None;
    }
    let mut data = fields.object("data")?;
    set(&mut data, "sessionId", id)?;
    fields.replace("data", Json::from_value(&data).ok()?)?;
    Json::from_value(&fields).ok()
}

/// Changes an existing field.
fn set(fields: &mut Object, name: &str, id: &str) -> Option<()> {
    fields.get(name)?;
    fields.replace(name, Json::from_value(id).ok()?).map(drop)
}
