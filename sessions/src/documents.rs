//! The conversation of a session without a readable file: the documents of its hooks.
//!
//! ```text
//! prompt         the end of the step before it, a mark `prompt-N`; StepStarted, Message
//! before a tool  ToolCalled
//! after a tool   ToolReturned
//! answered       Message
//! turn ended     Message
//! ```
//!
//! Each of them is one append under the key of its document. An event before the first one marks
//! the task: an import of a session file into such a task is refused.

use milepost::events::{
    Application, MarkCause, Message, StepFinished, StepStarted, ToolCalled, ToolReturned,
};
use milepost::limits::ID_MAX;
use milepost::{Append, Body, Json, Mark, Result, Task};
use milepost_agents::documents::AgentEventKind;
use milepost_formats::DOCUMENTS_KEY;
use milepost_formats::record::beginning;
use serde_json::json;

use crate::folder::ACTOR;
use crate::lineage::is_appended;

/// Name of the event before the first document.
const DOCUMENTS: &str = "agent_documents";

/// A document, with what its part of the conversation needs.
#[derive(Debug)]
pub(crate) struct Said {
    /// The key of the events of the document.
    pub(crate) key: String,
    pub(crate) time_us: u64,
    pub(crate) actor: String,
    /// The id of the call, which some agents do not give.
    pub(crate) call: Option<String>,
    pub(crate) prompt_id: Option<String>,
    /// True if the document waited in the spool: it may be recorded on another lineage.
    pub(crate) is_spooled: bool,
    pub(crate) kind: AgentEventKind,
}

/// Returns `true` if the conversation of a task is that of documents.
pub(crate) fn is_of_documents(task: &Task) -> Result<bool> {
    Ok(task.lineage().appended_under(DOCUMENTS_KEY)?.is_some())
}

/// Notes that documents are the conversation of a task from here on.
pub(crate) fn begin(task: &Task, why: &str) -> Result<()> {
    if is_of_documents(task)? {
        return Ok(());
    }
    let event = Application::new(DOCUMENTS, &json!({ "reason": why }))?;
    task.append(Append::from(event).actor(ACTOR).key(DOCUMENTS_KEY)).map(drop)
}

/// Records the part of the conversation that a document has, if it has one.
pub(crate) fn record(task: &Task, said: &Said) -> Result<()> {
    let key = format!("{}:said", said.key);
    if is_appended(task, &key, said.is_spooled)? {
        return Ok(());
    }
    let mut actor = said.actor.as_str();
    let bodies: Vec<Body> = match (&said.kind, &said.call) {
        (AgentEventKind::Prompt { text }, _) => {
            actor = task.user();
            let step = mark_prompt(task, said, text)?;
            let started = StepStarted { step, ..StepStarted::default() };
            vec![started.into(), Message::text("user", text).into()]
        }
        (AgentEventKind::BeforeTool { tool, input, .. }, Some(call)) => {
            let (call, tool) = (call.clone(), tool.clone());
            let arguments = input.as_deref().map_or_else(Json::null, value);
            vec![ToolCalled { call, tool, arguments }.into()]
        }
        (AgentEventKind::AfterTool { tool, result, is_failed, .. }, Some(call)) => {
            let (call, tool, ok) = (call.clone(), Some(tool.clone()), !is_failed);
            let output = result.as_deref().map(value);
            vec![ToolReturned { call, tool, ok, output }.into()]
        }
        (
            AgentEventKind::Answered { text: answer }
            | AgentEventKind::TurnEnded { answer: Some(answer) }
            | AgentEventKind::SubagentEnded { answer: Some(answer), .. },
            _,
        ) => vec![Message::text("assistant", answer).into()],
        _ => return Ok(()),
    };
    let mut append = Append::batch(bodies).actor(actor).key(&key).time_us(said.time_us);
    if let Some(call) = &said.call {
        append = append.correlation(call);
    }
    task.append(append).map(drop)
}

/// Marks the point before a prompt. Returns the number of its step.
fn mark_prompt(task: &Task, said: &Said, prompt: &str) -> Result<u64> {
    let last = task.state()?.step.map_or(0, |step| step.number);
    let step = last + 1;
    let words = Json::from_value(&json!({ "prompt": beginning(prompt) }))?;
    let mut mark = Mark::new()
        .cause(MarkCause::Step)
        .label(format!("prompt-{step}"))
        .actor(ACTOR)
        .time_us(said.time_us)
        .metadata(words);
    if let Some(id) = said.prompt_id.as_ref().filter(|id| id.len() <= ID_MAX) {
        mark = mark.alias(id.as_str());
    }
    match last {
        0 => drop(task.checkpoint(mark)?),
        _ => {
            let finished = StepFinished { step: last, ..StepFinished::default() };
            let before = Append::from(finished).actor(ACTOR).time_us(said.time_us).mark(mark);
            task.append(before.key(format!("{}:before", said.key)))?;
        }
    }
    Ok(step)
}

/// Returns JSON as a value; other text, as a string.
fn value(text: &str) -> Json {
    Json::new(text).unwrap_or_else(|_| Json::string(text))
}
