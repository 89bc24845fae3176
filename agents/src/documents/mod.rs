//! Documents of hooks: what an agent says at each event, as one kind of event for all agents.
//!
//! [`read`] takes any bytes. Fields that are not known are ignored; a field that is missing or of
//! another kind is absent. A document that is none of the events says why.
//!
//! A tool's arguments keep their text, with numbers and repeated names as they were.

mod event;
#[cfg(test)]
mod tests;

pub use event::{AgentEvent, AgentEventKind};

use std::collections::BTreeMap;

use crate::agent::Agent;
use crate::json::{Json, JsonKind};

/// Largest document that is read, in bytes.
pub const SIZE_MAX: usize = 64 << 20;

/// Most bytes of an id: of a session, a prompt, a call or a sub-agent.
const ID_MAX: usize = 256;

/// Most bytes of a path.
const PATH_MAX: usize = 4096;

/// Beginning of a prompt that the program itself wrote.
const NOTIFICATION: &str = "<task-notification>";

/// The result of reading a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Document {
    /// An event of a session.
    Event(Box<AgentEvent>),
    /// A document that is recorded nowhere.
    Ignored(IgnoredDocument),
}

/// Reason why a document is recorded nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoredDocument {
    /// More than [`SIZE_MAX`].
    TooLarge,
    /// No JSON object.
    NoObject,
    /// No session, or an id that is empty or longer than 256 bytes.
    NoSession,
    /// An event that is not taken.
    OtherEvent,
    /// A prompt that is empty, or that the program itself wrote.
    NoPrompt,
    /// A call without the name of a tool.
    NoTool,
}

/// Reads the document of a hook.
pub fn read(agent: Agent, bytes: &[u8]) -> Document {
    match event(agent, bytes) {
        Ok(event) => Document::Event(Box::new(event)),
        Err(ignored) => Document::Ignored(ignored),
    }
}

fn event(agent: Agent, bytes: &[u8]) -> Result<AgentEvent, IgnoredDocument> {
    if bytes.len() > SIZE_MAX {
        return Err(IgnoredDocument::TooLarge);
    }
    let text = String::from_utf8_lossy(bytes);
    let json = Json::parse(&text).map_err(|_| IgnoredDocument::NoObject)?;
    if json.kind() != JsonKind::Object {
        return Err(IgnoredDocument::NoObject);
    }
    let fields = Fields::of(&json);
    let session = fields.id("session_id").ok_or(IgnoredDocument::NoSession)?;
    let kind = kind(agent, &fields)?;
    Ok(AgentEvent {
        agent,
        session,
        folder: fields.path("cwd"),
        session_file: fields.path("transcript_path"),
        prompt_id: fields.id(match agent {
            Agent::Codex => "turn_id",
            Agent::ClaudeCode | Agent::GeminiCli => "prompt_id",
        }),
        subagent: fields.id("agent_id"),
        kind,
    })
}

fn kind(agent: Agent, fields: &Fields<'_>) -> Result<AgentEventKind, IgnoredDocument> {
    let name = fields.text("hook_event_name").ok_or(IgnoredDocument::OtherEvent)?;
    let is_gemini = agent == Agent::GeminiCli;
    Ok(match (name.as_str(), is_gemini) {
        ("SessionStart", _) => AgentEventKind::SessionStarted {
            cause: fields.text("source"),
            model: fields.text("model"),
        },
        ("SessionEnd", _) => AgentEventKind::SessionEnded { cause: fields.text("reason") },
        ("UserPromptSubmit", false) | ("BeforeAgent", true) => {
            AgentEventKind::Prompt { text: prompt(fields)? }
        }
        ("PreToolUse", false) | ("BeforeTool", true) => AgentEventKind::BeforeTool {
            call: fields.id("tool_use_id"),
            tool: tool(fields)?,
            input: fields.raw("tool_input"),
        },
        ("PostToolUse", false) | ("AfterTool", true) => AgentEventKind::AfterTool {
            call: fields.id("tool_use_id"),
            tool: tool(fields)?,
            input: fields.raw("tool_input"),
            result: fields.raw("tool_response"),
        },
        ("Stop", false) | ("AfterAgent", true) => AgentEventKind::TurnEnded {
            answer: fields.text(match is_gemini {
                true => "prompt_response",
                false => "last_assistant_message",
            }),
        },
        ("SubagentStart", false) => {
            AgentEventKind::SubagentStarted { kind: fields.text("agent_type") }
        }
        ("SubagentStop", false) => AgentEventKind::SubagentEnded {
            session_file: fields.path("agent_transcript_path"),
            answer: fields.text("last_assistant_message"),
        },
        ("PreCompact", false) => AgentEventKind::Compaction { cause: fields.text("trigger") },
        _ => return Err(IgnoredDocument::OtherEvent),
    })
}

fn prompt(fields: &Fields<'_>) -> Result<String, IgnoredDocument> {
    let text = fields.text("prompt").filter(|text| !text.trim().is_empty());
    text.filter(|text| !text.starts_with(NOTIFICATION)).ok_or(IgnoredDocument::NoPrompt)
}

fn tool(fields: &Fields<'_>) -> Result<String, IgnoredDocument> {
    fields.id("tool_name").ok_or(IgnoredDocument::NoTool)
}

/// The members that are read. Others are not even kept: a document may have millions.
const FIELDS: [&str; 20] = [
    "agent_id",
    "agent_transcript_path",
    "agent_type",
    "cwd",
    "hook_event_name",
    "last_assistant_message",
    "model",
    "prompt",
    "prompt_id",
    "prompt_response",
    "reason",
    "session_id",
    "source",
    "tool_input",
    "tool_name",
    "tool_response",
    "tool_use_id",
    "transcript_path",
    "trigger",
    "turn_id",
];

/// The members of a document by their names. The last one of a name counts.
struct Fields<'a>(BTreeMap<String, Json<'a>>);

impl<'a> Fields<'a> {
    fn of(document: &Json<'a>) -> Self {
        let mut fields = BTreeMap::new();
        document.each_part(|part| {
            let name = part.name.unwrap_or_default();
            if FIELDS.contains(&name.as_ref()) {
                fields.insert(name.into_owned(), part.value);
            }
        });
        Self(fields)
    }

    fn get(&self, name: &str) -> Option<&Json<'a>> {
        debug_assert!(FIELDS.contains(&name), "{name}");
        self.0.get(name)
    }

    fn text(&self, name: &str) -> Option<String> {
        Some(self.get(name)?.text()?.into_owned())
    }

    fn id(&self, name: &str) -> Option<String> {
        self.text(name).filter(|id| !id.is_empty() && id.len() <= ID_MAX)
    }

    /// Returns an absolute path.
    fn path(&self, name: &str) -> Option<std::path::PathBuf> {
        let path = self.text(name).filter(|path| path.len() <= PATH_MAX && !path.contains('\0'))?;
        path.starts_with('/').then(|| path.into())
    }

    /// Returns the JSON of a value.
    fn raw(&self, name: &str) -> Option<String> {
        Some(self.get(name)?.raw().to_owned())
    }
}
