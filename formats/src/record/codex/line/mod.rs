//! One line of a rollout, and its events.
//!
//! ```text
//! response_item  message                   Message, of `system` if the user did not write it
//!                reasoning                 Message of the assistant, its item as it is
//!                function_call, custom_tool_call, local_shell_call
//!                                          ToolCalled, Application `codex`
//!                .._output                 ToolReturned, Application `codex`
//! every other                              Application `codex`: the line, word for word
//! ```
//!
//! The line itself is `codex`, an extra field of the Message or an Application, with `null` in the
//! place of a part that is in the event.

use std::mem;

use milepost::events::{Extra, Message, ToolCalled, ToolReturned};
use milepost::{Body, Json};

use crate::json_object::{Object, as_text, value_of};
use crate::record::session::LineParser;
use crate::record::session::line::{
    Back, Part, SessionLine, Talk, application, beginning, fields, is_name, kept, key, put_content,
    take_content, time,
};

/// Name of the extra field and of the application events.
pub const NAME: &str = "codex";
/// Beginnings of messages of the role `user` that Codex writes itself. Newer versions mark them in
/// the message.
const OWN: [&str; 9] = [
    "# AGENTS.md instructions",
    "<environment_context>",
    "<user_instructions>",
    "<skill>",
    "<skills_instructions>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<hook_prompt",
];

/// A parser of a rollout.
#[derive(Debug, Default)]
pub struct Rollout {
    /// Id of the current turn.
    turn: Option<String>,
    /// True once a prompt has the turn as its alias.
    is_taken: bool,
}

impl LineParser for Rollout {
    fn read(&mut self, text: &str) -> Result<SessionLine, String> {
        let mut fields = fields(text)?;
        let mut line = SessionLine {
            follows: true,
            time_us: fields.text("timestamp").as_deref().and_then(time),
            ..SessionLine::default()
        };
        let kind = fields.text("type").unwrap_or_default();
        let payload = fields.object("payload");
        let item = payload.as_ref().and_then(|payload| payload.text("type")).unwrap_or_default();
        if let Some(payload) = &payload {
            self.note_turn(&kind, &item, payload, &mut line);
        }
        let done = match (kind.as_str(), payload) {
            ("response_item", Some(payload)) => self.item(&mut fields, &item, payload, &mut line),
            ("event_msg", Some(payload)) if item == "thread_rolled_back" => {
                let turns = payload.get("num_turns").and_then(|turns| turns.text().parse().ok());
                line.part = turns.map_or(Part::Nothing, |turns| Part::Back(Back::Prompts(turns)));
                None
            }
            _ => None,
        };
        line.events = done.unwrap_or_else(|| vec![application(NAME, &fields)]);
        Ok(line)
    }
}

impl Rollout {
    /// Notes the turn that begins, by which its line and its prompt are found.
    fn note_turn(&mut self, kind: &str, item: &str, payload: &Object, line: &mut SessionLine) {
        let begins = kind == "event_msg" && matches!(item, "task_started" | "turn_started");
        if begins || kind == "turn_context" {
            let turn = payload.text("turn_id").filter(|turn| is_name(turn));
            if begins {
                line.alias.clone_from(&turn);
            }
            if turn.is_some() && turn != self.turn {
                (self.turn, self.is_taken) = (turn, false);
            }
        }
    }

    /// Returns the events of an item, if it has a kind of its own.
    fn item(
        &mut self,
        fields: &mut Object,
        item: &str,
        payload: Object,
        line: &mut SessionLine,
    ) -> Option<Vec<Body>> {
        match item {
            "message" => self.message(fields, payload, line),
            "reasoning" => Some(reasoning(fields)),
            "function_call" => called(fields, payload, "arguments", true, line),
            "custom_tool_call" => called(fields, payload, "input", false, line),
            "local_shell_call" => called(fields, payload, "action", false, line),
            "function_call_output" | "custom_tool_call_output" => returned(fields, payload, line),
            _ => None,
        }
    }

    fn message(
        &mut self,
        fields: &mut Object,
        mut payload: Object,
        line: &mut SessionLine,
    ) -> Option<Vec<Body>> {
        let mut role = payload.text("role")?;
        let content = payload.get("content")?.clone();
        let blocks: Option<Vec<Object>> = value_of(&content);
        let text = |block: &Object| block.text("text");
        let spoken: String = match &blocks {
            Some(blocks) => blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n"),
            None => as_text(&content).unwrap_or_default(),
        };
        let mut talk = Talk::default();
        if role == "user" && is_prompt(&payload, &spoken) {
            talk.prompt = Some(beginning(&spoken));
            let own = payload.text("id").filter(|id| is_name(id));
            let turn = self.turn.clone().filter(|_| !mem::replace(&mut self.is_taken, true));
            line.alias = turn.or(own);
        } else if role == "user" {
            // The line keeps the role.
            role = "system".to_owned();
        }
        line.part = Part::Message(talk);
        let content = take_content(&mut payload, is_text)?;
        fields.replace("payload", Json::from_value(&payload).ok()?);
        Some(vec![message(role, Some(content), fields)])
    }
}

/// Returns `true` if the user wrote a message of the role `user`.
fn is_prompt(payload: &Object, spoken: &str) -> bool {
    let own = payload.object("internal_chat_message_metadata_passthrough");
    let kinds: Option<Vec<String>> = own.and_then(|own| own.read("content_item_kinds"));
    match kinds {
        Some(kinds) if !kinds.is_empty() => kinds.iter().any(|kind| kind.starts_with("user.")),
        _ => !OWN.iter().any(|own| spoken.trim_start().starts_with(own)),
    }
}

fn is_text(block: &Object) -> bool {
    matches!(block.text("type").as_deref(), Some("input_text" | "output_text" | "text"))
}

/// Returns a message with the line, without the parts in the message, among its extra fields.
fn message(role: String, content: Option<Json>, line: &Object) -> Body {
    let mut extra = Object::default();
    if let Ok(line) = Json::from_value(line) {
        extra.put(NAME, line);
    }
    Message { role, content, name: None, extra: extra.into_json().map(Extra) }.into()
}

fn reasoning(fields: &mut Object) -> Vec<Body> {
    let payload = fields.replace("payload", Json::null()).unwrap_or_else(Json::null);
    let content = Json::new(format!("[{}]", payload.text())).ok();
    vec![message("assistant".to_owned(), content, fields)]
}

/// Returns the events of a call. Arguments that are the text of an object become that object.
fn called(
    fields: &mut Object,
    mut payload: Object,
    arguments: &str,
    is_encoded: bool,
    line: &mut SessionLine,
) -> Option<Vec<Body>> {
    let call = payload.text("call_id")?;
    let tool = payload.text("name").or_else(|| Some(payload.text("type")?.replace("_call", "")))?;
    let given = payload.get(arguments)?.clone();
    let text = as_text(&given);
    if !is_encoded || text.is_some() {
        payload.replace(arguments, Json::null());
    }
    // The text is to be the same when it is written again.
    let same = |text: &String| text.starts_with('{') && Json::string(text).text() == given.text();
    let parsed = text.filter(|text| is_encoded && same(text));
    let parsed = parsed.and_then(|text| Json::new(text).ok());
    fields.replace("payload", Json::from_value(&payload).ok()?);
    line.part = Part::Message(Talk { called: vec![(key(&call), None)], ..Talk::default() });
    let called = ToolCalled { call, tool, arguments: parsed.unwrap_or(given) };
    Some(vec![called.into(), application(NAME, fields)])
}

fn returned(fields: &mut Object, mut payload: Object, line: &mut SessionLine) -> Option<Vec<Body>> {
    let call = payload.text("call_id")?;
    let output = payload.replace("output", Json::null())?;
    let success = value_of(&output).and_then(|output: Object| output.read("success"));
    let failed = success == Some(false);
    fields.replace("payload", Json::from_value(&payload).ok()?);
    line.part = Part::Message(Talk { returned: vec![key(&call)], ..Talk::default() });
    let output = Some(output).filter(|output| !output.is_null());
    let returned = ToolReturned { call, tool: None, ok: !failed, output };
    Some(vec![returned.into(), application(NAME, fields)])
}

/// Returns the line that events are of, word for word.
pub fn written(events: &[Body]) -> Option<Json> {
    let (mut line, message) = kept(NAME, events)?;
    let payload = match (line.object("payload"), message) {
        (None, Some(message)) => {
            // The item of a reasoning is the only block.
            let blocks: Vec<Json> = value_of(message.content.as_ref()?)?;
            line.replace("payload", blocks.into_iter().next()?)?;
            return Json::from_value(&line).ok();
        }
        (Some(mut payload), Some(message)) => {
            put_content(&mut payload, message.content.as_ref()?)?;
            Some(payload)
        }
        (Some(mut payload), None) => {
            events.iter().try_for_each(|event| put_back(&mut payload, event))?;
            Some(payload)
        }
        (None, None) => None,
    };
    if let Some(payload) = payload {
        line.replace("payload", Json::from_value(&payload).ok()?)?;
    }
    Json::from_value(&line).ok()
}

/// Puts the part of an item that an event of a tool has back.
fn put_back(payload: &mut Object, event: &Body) -> Option<()> {
    let (name, value) = match event {
        Body::ToolReturned(returned) => {
            ("output", returned.output.clone().unwrap_or_else(Json::null))
        }
        Body::ToolCalled(called) => match payload.text("type")?.as_str() {
            "custom_tool_call" => ("input", called.arguments.clone()),
            "local_shell_call" => ("action", called.arguments.clone()),
            _ if called.arguments.text().starts_with('{') => {
                ("arguments", Json::string(called.arguments.text()))
            }
            _ => ("arguments", called.arguments.clone()),
        },
        _ => return Some(()),
    };
    // A value that is not a text stays in the item.
    if payload.get(name)?.is_null() {
        payload.replace(name, value)?;
    }
    Some(())
}

#[cfg(test)]
mod tests;
