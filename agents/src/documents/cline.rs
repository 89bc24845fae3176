//! Documents of Cline: names of their own, and objects within the object.

use super::event::{AgentEvent, AgentEventKind};
use super::fields::Fields;
use super::{IgnoredDocument, prompt, says_failed};
use crate::agent::Agent;

pub(super) fn event(fields: &Fields<'_>) -> Result<AgentEvent, IgnoredDocument> {
    // Each run in a session is a task with an id of its own.
    let session = fields.within("sessionContext").id("rootSessionId");
    let session = session.or_else(|| fields.id("taskId")).ok_or(IgnoredDocument::NoSession)?;
    let subagent = fields.id("agent_id").filter(|_| fields.id("parent_agent_id").is_some());
    Ok(AgentEvent {
        agent: Agent::Cline,
        session,
        folder: fields.first_path("workspaceRoots"),
        session_file: None,
        prompt_id: None,
        kind: kind(fields, subagent.is_some())?,
        subagent,
    })
}

fn kind(fields: &Fields<'_>, is_child: bool) -> Result<AgentEventKind, IgnoredDocument> {
    let name = fields.text("hookName").ok_or(IgnoredDocument::OtherEvent)?;
    Ok(match (name.as_str(), is_child) {
        ("agent_start" | "agent_resume", true) => AgentEventKind::SubagentStarted { kind: None },
        ("agent_end" | "agent_abort" | "agent_error", true) => {
            AgentEventKind::SubagentEnded { session_file: None, answer: answer(fields) }
        }
        ("agent_start", false) => {
            AgentEventKind::SessionStarted { cause: Some("startup".to_owned()), model: None }
        }
        ("agent_resume", false) => {
            AgentEventKind::SessionStarted { cause: Some("resume".to_owned()), model: None }
        }
        ("prompt_submit", false) => {
            AgentEventKind::Prompt { text: prompt(&fields.within("userPromptSubmit"))? }
        }
        ("tool_call", _) => {
            let call = fields.within("tool_call");
            AgentEventKind::BeforeTool {
                call: call.id("id"),
                tool: call.id("name").ok_or(IgnoredDocument::NoTool)?,
                input: call.raw("input"),
            }
        }
        ("tool_result", _) => {
            let call = fields.within("tool_result");
            let output = call.not_null("output");
            let is_failed =
                call.not_null("error").is_some() || output.as_deref().is_some_and(says_failed);
            AgentEventKind::AfterTool {
                call: call.id("id"),
                tool: call.id("name").ok_or(IgnoredDocument::NoTool)?,
                input: call.raw("input"),
                result: output.or_else(|| call.not_null("error")),
                is_failed,
            }
        }
        ("agent_end" | "agent_abort" | "agent_error", false) => {
            AgentEventKind::TurnEnded { answer: answer(fields) }
        }
        ("session_shutdown", false) => {
            AgentEventKind::SessionEnded { cause: fields.text("reason") }
        }
        _ => return Err(IgnoredDocument::OtherEvent),
    })
}

fn answer(fields: &Fields<'_>) -> Option<String> {
    fields.within("turn").text("outputText").filter(|text| !text.is_empty())
}
