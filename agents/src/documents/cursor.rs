//! Documents of Cursor: events with names of their own, in fields like those of Claude Code.
//!
//! The fields are those of its page about hooks, <https://cursor.com/docs/hooks>. They were not
//! compared with a version that runs.

use serde_json::Value;

use super::event::{AgentEvent, AgentEventKind};
use super::fields::Fields;
use super::{IgnoredDocument, prompt, says_failed, tool};
use crate::agent::Agent;

pub(super) fn event(fields: &Fields<'_>) -> Result<AgentEvent, IgnoredDocument> {
    // A sub-agent has a conversation of its own.
    let parent = fields.id("parent_conversation_id");
    let session = parent.or_else(|| fields.id("conversation_id"));
    let session = session.or_else(|| fields.id("session_id")).ok_or(IgnoredDocument::NoSession)?;
    Ok(AgentEvent {
        agent: Agent::Cursor,
        session,
        // A call of a shell that names no folder has an empty `cwd`.
        folder: fields.path("cwd").or_else(|| fields.first_path("workspace_roots")),
        // Its lines have neither ids nor results of calls, and come after the calls.
        session_file: None,
        prompt_id: fields.id("generation_id"),
        subagent: fields.id("subagent_id"),
        kind: kind(fields)?,
    })
}

fn kind(fields: &Fields<'_>) -> Result<AgentEventKind, IgnoredDocument> {
    let name = fields.text("hook_event_name").ok_or(IgnoredDocument::OtherEvent)?;
    Ok(match name.as_str() {
        "sessionStart" => {
            AgentEventKind::SessionStarted { cause: None, model: fields.text("model") }
        }
        "sessionEnd" => AgentEventKind::SessionEnded { cause: fields.text("reason") },
        "beforeSubmitPrompt" => AgentEventKind::Prompt { text: prompt(fields)? },
        "preToolUse" => AgentEventKind::BeforeTool {
            call: fields.id("tool_use_id"),
            tool: tool(fields)?,
            input: fields.raw("tool_input"),
        },
        "postToolUse" => {
            let result = output(fields);
            AgentEventKind::AfterTool {
                call: fields.id("tool_use_id"),
                tool: tool(fields)?,
                input: fields.raw("tool_input"),
                is_failed: result.as_deref().is_some_and(has_failed),
                result,
            }
        }
        "postToolUseFailure" => AgentEventKind::AfterTool {
            call: fields.id("tool_use_id"),
            tool: tool(fields)?,
            input: fields.raw("tool_input"),
            result: fields.not_null("error_message"),
            is_failed: true,
        },
        "afterAgentResponse" => AgentEventKind::Answered { text: answer(fields)? },
        "stop" => AgentEventKind::TurnEnded { answer: None },
        "subagentStop" => AgentEventKind::SubagentEnded {
            session_file: None,
            answer: fields.text("summary").filter(|text| !text.is_empty()),
        },
        "preCompact" => AgentEventKind::Compaction { cause: fields.text("trigger") },
        _ => return Err(IgnoredDocument::OtherEvent),
    })
}

/// Returns the output of a tool: JSON in a string, or any other value as it is.
fn output(fields: &Fields<'_>) -> Option<String> {
    let inner = fields.text("tool_output");
    let inner = inner.filter(|text| {
        serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object() || value.is_array())
    });
    inner.or_else(|| fields.not_null("tool_output"))
}

/// Returns `true` if the output reports a failure. Commands report their exit code only.
fn has_failed(output: &str) -> bool {
    let code = serde_json::from_str::<Value>(output).ok().and_then(|output| {
        ["exitCode", "exit_code"].iter().find_map(|name| output.get(*name)?.as_i64())
    });
    says_failed(output) || code.is_some_and(|code| code != 0)
}

fn answer(fields: &Fields<'_>) -> Result<String, IgnoredDocument> {
    fields.text("text").filter(|text| !text.is_empty()).ok_or(IgnoredDocument::OtherEvent)
}
