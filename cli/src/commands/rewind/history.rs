//! The prompts of a session, and the facts that its hooks told.

use std::collections::BTreeSet;
use std::path::PathBuf;

use milepost::Body;
use milepost::events::{CheckpointMarked, Data, MarkCause, Message};
use milepost_api::{CheckpointForm, TaskForm};
use serde::Deserialize;
use serde_json::Value;

use crate::backend::Backend;
use crate::error::Result;
use crate::output::words;

/// Beginning of the labels of the marks before prompts.
const LABEL: &str = "prompt-";

/// Most files of captures that are compared for a list: a service sends all of them.
const CAPTURED_MAX: u64 = 10_000;

/// Most files that can differ between two of these captures: all are counted.
const COUNTED_MAX: u64 = 2 * CAPTURED_MAX;

/// Beginnings of lines of the role `user` that the user did not write.
const OWN: [&str; 7] = [
    "[Request interrupted",
    "<task-notification>",
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
];

/// A prompt of a session.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub label: String,
    /// Its first words.
    pub text: String,
    /// All of it.
    pub message: Option<String>,
    /// The offset before it.
    pub at: u64,
    pub time_us: u64,
    /// Number of calls of tools until the next prompt.
    pub calls: u64,
    /// Number of captures around these calls that came too late.
    pub late: u64,
    /// The offsets of the first and the last mark around these calls, each behind its capture.
    pub captures: Option<(u64, u64)>,
    /// Number of files in the largest capture of the session so far.
    pub captured: u64,
}

/// A point that the user marked.
#[derive(Debug, Clone)]
pub(super) struct UserMark {
    pub label: String,
    /// The offset of the point.
    pub at: u64,
    pub time_us: u64,
}

/// Facts of a session, as its hooks said them.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SessionFacts {
    pub agent: String,
    pub session: String,
    pub file: Option<PathBuf>,
    pub root: Option<PathBuf>,
}

/// Facts of the end of an agent's process.
#[derive(Deserialize)]
struct GoneFacts {
    file_read: Option<u64>,
}

/// The active history of a session.
#[derive(Debug, Default)]
pub(super) struct History {
    pub prompts: Vec<Prompt>,
    /// The points that the user marked, in the order of the log.
    pub marks: Vec<UserMark>,
    /// Offsets of answers and calls.
    turns: Vec<u64>,
    pub facts: Option<SessionFacts>,
    /// True if hooks told the conversation: no session file can be written from it.
    pub is_of_documents: bool,
    /// Number of bytes of the session file that were recorded when its agent had ended.
    pub file_read: Option<u64>,
    /// Number of files in the largest capture.
    captured: u64,
    /// True if there are prompts, here or in a lineage that was left.
    pub has_prompts: bool,
    /// Calls behind which no folder was captured.
    pub open: BTreeSet<String>,
    /// Folders that calls ran in, and that captures of the project do not have.
    elsewhere: BTreeSet<PathBuf>,
    /// Other sessions, calls of which ran at the same time: offset and session.
    shared: Vec<(u64, String)>,
    /// Offsets and times of the marks of calls of the last prompt.
    call_marks: Vec<(u64, u64)>,
}

/// Returns the text of a message: its string, or those of its parts.
fn text_of(message: &Message) -> Option<String> {
    let content = message.content.as_ref()?.value().ok()?;
    let part = |part: &Value| part.get("text")?.as_str().map(str::to_owned);
    let text = match &content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(part).collect::<Vec<_>>().join("\n"),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the offsets of the first and the last mark.
fn span(marks: &[(u64, u64)]) -> Option<(u64, u64)> {
    Some((marks.first()?.0, marks.last()?.0))
}

impl Prompt {
    /// Counts the files that changed within its calls. `None`: the captures are large, or cannot be
    /// compared.
    pub(super) fn files(&self, source: &dyn Backend, task: &TaskForm) -> Option<u64> {
        let Some((first, last)) = self.captures else { return Some(0) };
        if self.captured > CAPTURED_MAX {
            return None;
        }
        let point = |at| source.point(&format!("{}@{at}", words::encode(&task.id)));
        let count = || source.differing_files(&point(first)?, &point(last)?, COUNTED_MAX);
        count().ok().map(|count| count.unwrap_or(0))
    }
}

/// Returns `true` for the mark before a prompt that the user wrote.
pub(super) fn is_prompt(mark: &CheckpointForm) -> bool {
    let facts = mark.metadata.as_ref().map(milepost::Json::text);
    mark.cause == MarkCause::Step && prompt_of(mark.label.as_deref(), facts).is_some()
}

/// Facts in the metadata of a mark.
#[derive(Deserialize, Default)]
#[serde(default)]
struct MarkFacts {
    prompt: Option<String>,
    uncaptured: bool,
    /// True if the call runs on behind the mark.
    running: bool,
    /// The folder that a call ran in, if captures of the project do not have it.
    folder: Option<PathBuf>,
    /// Other sessions, calls of which ran at the same time.
    with: Vec<String>,
}

impl MarkFacts {
    fn of(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

/// Returns the label and the text of a prompt that the user wrote, from the label and the metadata
/// of its mark.
fn prompt_of(label: Option<&str>, facts: Option<&str>) -> Option<(String, String)> {
    let number: u32 = label?.strip_prefix(LABEL)?.parse().ok()?;
    let text = MarkFacts::of(facts).prompt?;
    let is_own = OWN.iter().any(|own| text.starts_with(own));
    (!is_own).then(|| (format!("{LABEL}{number}"), text))
}

impl History {
    /// Reads the events of a task's active history.
    pub fn of(source: &dyn Backend, task: &TaskForm) -> Result<Self> {
        let head = source.point(&words::encode(&task.id))?;
        let mut history = Self::default();
        source.events(&head, 0..head.offset.0, &mut |event| {
            history.add(event.offset.0, event.time_us.0, event.body.as_ref());
            let place = (event.offset.0, event.time_us.0);
            history.follow(place, event.correlation.as_deref(), event.body.as_ref());
            Ok(())
        })?;
        history.has_prompts = !history.prompts.is_empty();
        history.look_elsewhere(source, task)?;
        Ok(history)
    }

    /// Returns the number of prompts before a point.
    pub(super) fn prompts_before(&self, at: u64) -> usize {
        self.prompts.partition_point(|prompt| prompt.at < at)
    }

    /// Returns `true` if a point is within the answer to a prompt: no conversation ends there.
    pub(super) fn is_in_turn(&self, at: u64) -> bool {
        let next = self.prompts.get(self.prompts_before(at)).map_or(u64::MAX, |prompt| prompt.at);
        self.turns.iter().any(|turn| (at..next).contains(turn))
    }

    /// Returns the folders that calls ran in, and that captures of the project do not have.
    pub(super) fn not_covered(&self) -> &BTreeSet<PathBuf> {
        &self.elsewhere
    }

    /// Returns the other sessions, calls of which ran at the same time as one since an offset.
    pub(super) fn at_once(&self, since: u64) -> Vec<String> {
        let sessions = self.shared.iter().filter(|(at, _)| *at >= since);
        let sessions: BTreeSet<&String> = sessions.map(|(_, session)| session).collect();
        sessions.into_iter().cloned().collect()
    }

    /// Finds the facts of the session, and whether it has prompts, in the lineages that it left: a
    /// rewind to before the first prompt leaves both behind.
    fn look_elsewhere(&mut self, source: &dyn Backend, task: &TaskForm) -> Result<()> {
        if self.facts.is_some() && self.has_prompts || task.lineages < 2 {
            return Ok(());
        }
        for lineage in source.lineages(&task.id)?.into_iter().rev() {
            if lineage.id == task.active || self.facts.is_some() && self.has_prompts {
                continue;
            }
            let end = source.point(&format!("{}/{}", words::encode(&task.id), lineage.id))?;
            let mut there = Self::default();
            source.events(&end, 0..end.offset.0, &mut |event| {
                there.add(event.offset.0, event.time_us.0, event.body.as_ref());
                Ok(())
            })?;
            self.facts = self.facts.take().or(there.facts);
            self.has_prompts |= !there.prompts.is_empty();
        }
        Ok(())
    }

    fn add(&mut self, at: u64, time_us: u64, body: Option<&Body>) {
        if matches!(body, Some(Body::ToolCalled(_) | Body::ToolReturned(_))) {
            self.turns.push(at);
        }
        match body {
            Some(Body::CheckpointMarked(mark)) => self.mark(at, time_us, mark),
            Some(Body::ToolCalled(_)) => {
                if let Some(prompt) = self.prompts.last_mut() {
                    prompt.calls += 1;
                }
            }
            Some(Body::WorkspaceCaptured(capture)) => {
                self.captured = self.captured.max(capture.files);
                if let Some(prompt) = self.prompts.last_mut() {
                    prompt.captured = self.captured;
                }
            }
            Some(Body::Message(said)) if said.role == "user" => {
                if let Some(prompt) = self.prompts.last_mut().filter(|it| it.message.is_none()) {
                    prompt.message = text_of(said);
                }
            }
            Some(Body::Message(said)) if said.role == "assistant" => self.turns.push(at),
            Some(Body::Application(said)) if said.name == "agent_documents" => {
                self.is_of_documents = true;
            }
            Some(Body::Application(said)) if said.name == "agent_gone" => {
                if let Data::Json(facts) = &said.data {
                    let gone: Option<GoneFacts> = serde_json::from_str(facts.text()).ok();
                    self.file_read = gone.and_then(|gone| gone.file_read);
                }
            }
            Some(Body::Application(said)) if said.name == "agent_session" => {
                if let Data::Json(facts) = &said.data {
                    self.facts = serde_json::from_str(facts.text()).ok().or(self.facts.take());
                }
            }
            _ => {}
        }
    }

    /// Notes the calls that begin, and those whose files are captured.
    fn follow(&mut self, place: (u64, u64), call: Option<&str>, body: Option<&Body>) {
        let (Some(Body::CheckpointMarked(mark)), Some(call)) = (body, call) else { return };
        self.call_marks.push(place);
        if let Some(prompt) = self.prompts.last_mut() {
            prompt.captures = span(&self.call_marks);
        }
        match mark.cause {
            MarkCause::BeforeTool => _ = self.open.insert(call.to_owned()),
            _ if MarkFacts::of(mark.metadata.as_ref().map(milepost::Json::text)).running => {}
            _ => _ = self.open.remove(call),
        }
    }

    /// Notes a mark of the user. A label is of its last mark.
    fn mark_of_user(&mut self, at: u64, time_us: u64, mark: &CheckpointMarked) {
        let label = mark.label.clone().filter(|_| mark.cause == MarkCause::Manual);
        if let Some(label) = label {
            self.marks.retain(|mark| mark.label != label);
            let at = mark.at.as_ref().map_or(at, |point| point.next);
            self.marks.push(UserMark { label, at, time_us });
        }
    }

    fn mark(&mut self, at: u64, time_us: u64, mark: &CheckpointMarked) {
        self.mark_of_user(at, time_us, mark);
        let facts = mark.metadata.as_ref().map(milepost::Json::text);
        let MarkFacts { uncaptured, folder, with, .. } = MarkFacts::of(facts);
        if let Some(prompt) = self.prompts.last_mut().filter(|_| uncaptured) {
            prompt.late += 1;
        }
        self.elsewhere.extend(folder);
        self.shared.extend(with.into_iter().map(|session| (at, session)));
        let label = mark.label.as_deref().filter(|_| mark.cause == MarkCause::Step);
        let Some((label, text)) = prompt_of(label, facts) else { return };
        // The hook of a call may be faster than the document of the session with the prompt.
        let calls = std::mem::take(&mut self.call_marks);
        let (earlier, own): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|(_, marked_us)| *marked_us < time_us);
        if let Some(prompt) = self.prompts.last_mut() {
            prompt.captures = span(&earlier);
        }
        self.call_marks = own;
        let (captures, captured) = (span(&self.call_marks), self.captured);
        self.prompts.push(Prompt {
            label,
            text,
            message: None,
            at,
            time_us,
            calls: 0,
            late: 0,
            captures,
            captured,
        });
    }
}
