//! Documents with the name of their event, in the form that Claude Code began.

use super::event::{AgentEvent, AgentEventKind};
use super::fields::Fields;
use super::{GOING_BACK, IgnoredDocument, prompt, says_failed, tool};
use crate::agent::Agent;

pub(super) fn event(agent: Agent, fields: &Fields<'_>) -> Result<AgentEvent, IgnoredDocument> {
    let own = fields.id("session_id").ok_or(IgnoredDocument::NoSession)?;
    // A sub-agent of Copilot reports the id of its own session, and that of its parent.
    let parent = fields.id("parent_agent_id").filter(|_| agent == Agent::Copilot);
    let kind = kind(agent, fields, parent.is_some())?;
    Ok(AgentEvent {
        agent,
        session: parent.unwrap_or(own),
        folder: fields.path("cwd"),
        session_file: fields.path("transcript_path"),
        prompt_id: fields.id(match agent {
            Agent::Codex => "turn_id",
            _ => "prompt_id",
        }),
        subagent: fields.id("agent_id"),
        kind,
    })
}

fn kind(
    agent: Agent,
    fields: &Fields<'_>,
    is_child: bool,
) -> Result<AgentEventKind, IgnoredDocument> {
    let name = fields.text("hook_event_name").ok_or(IgnoredDocument::OtherEvent)?;
    let is_gemini = agent == Agent::GeminiCli;
    Ok(match (name.as_str(), is_gemini) {
        // A child of Copilot has a prompt and an end of its own; its parent reports the end, too.
        ("UserPromptSubmit", _) if is_child => {
            AgentEventKind::SubagentStarted { kind: fields.text("agent_type") }
        }
        ("Stop", _) if is_child => return Err(IgnoredDocument::OtherEvent),
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
        ("PostToolUse" | "PostToolUseFailure", false) | ("AfterTool", true) => {
            let result = result(fields);
            let is_failed =
                name == "PostToolUseFailure" || result.as_deref().is_some_and(says_failed);
            AgentEventKind::AfterTool {
                call: fields.id("tool_use_id"),
                tool: tool(fields)?,
                input: fields.raw("tool_input"),
                result,
                is_failed,
            }
        }
        ("Stop" | "StopFailure", false) | ("AfterAgent", true) => AgentEventKind::TurnEnded {
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
        (GOING_BACK, _) => AgentEventKind::GoingBack,
        ("PreCompact", false) => AgentEventKind::Compaction { cause: fields.text("trigger") },
        _ => return Err(IgnoredDocument::OtherEvent),
    })
}

/// Returns the result of a tool; of one that failed, the reason.
fn result(fields: &Fields<'_>) -> Option<String> {
    ["tool_response", "tool_result", "error"].iter().find_map(|name| fields.not_null(name))
}
