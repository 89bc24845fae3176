//! How tasks, lineages, checkpoints and events look, as JSON and on one line.

use milepost::{
    Body, Checkpoint, CheckpointId, Event, Hash, Json, LineageId, LineageInfo, LineageType,
    MarkCause, MarkStatus, Offset, RunControl, TaskInfo, TaskStats,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::output::{big, count, excerpt, time};

/// How many characters of an event's content stand on its line.
const EXCERPT: usize = 100;

pub fn task(info: &TaskInfo) -> Value {
    json!({
        "id": info.id,
        "user": info.user,
        "created": time(info.created_us),
        "created_us": big(info.created_us),
        "lineages": info.lineages,
        "active": info.active,
        "epoch": big(info.epoch),
        "head": big(info.head),
        "events": big(info.events),
    })
}

/// What a task takes.
pub fn task_stats(stats: &TaskStats) -> Value {
    let mut form = task_totals(stats);
    if let Some(fields) = form.as_object_mut() {
        fields.insert("id".into(), json!(stats.task));
        fields.insert("user".into(), json!(stats.user));
    }
    form
}

/// The same of several tasks.
pub fn task_totals(stats: &TaskStats) -> Value {
    json!({
        "lineages": big(stats.lineages),
        "events": big(stats.events),
        "checkpoints": big(stats.checkpoints),
        "bytes": big(stats.bytes),
        "disk_bytes": big(stats.disk),
    })
}

/// What several tasks take.
pub fn total(tasks: &[TaskStats]) -> TaskStats {
    let mut total = TaskStats::default();
    for task in tasks {
        total.lineages += task.lineages;
        total.events += task.events;
        total.checkpoints += task.checkpoints;
        total.bytes += task.bytes;
        total.disk += task.disk;
    }
    total
}

pub fn lineage(info: &LineageInfo) -> Value {
    let parent = info.parent.as_ref().map(|parent| {
        json!({
            "lineage": parent.lineage,
            "offset": big(parent.offset),
            "hash": parent.hash,
        })
    });
    json!({
        "id": info.id,
        "type": info.lineage_type,
        "description": info.description,
        "parent": parent,
        "opened": time(info.opened_us),
        "opened_us": big(info.opened_us),
        "head": big(info.head.next),
        "hash": info.head.hash,
        "events": big(info.events),
        "active": info.active,
    })
}

/// A checkpoint. Its metadata stays word for word, so this is no [`Value`].
#[derive(Serialize)]
pub struct CheckpointForm<'a> {
    id: CheckpointId,
    task: &'a str,
    lineage: LineageId,
    at: String,
    hash: Hash,
    mark: String,
    parent: Option<CheckpointId>,
    label: Option<&'a str>,
    cause: MarkCause,
    status: MarkStatus,
    time: String,
    time_us: String,
    metadata: Option<&'a Json>,
    aliases: &'a [String],
}

pub fn checkpoint(checkpoint: &Checkpoint) -> CheckpointForm<'_> {
    CheckpointForm {
        id: checkpoint.id,
        task: &checkpoint.task,
        lineage: checkpoint.lineage,
        at: checkpoint.at.to_string(),
        hash: checkpoint.hash,
        mark: checkpoint.mark.to_string(),
        parent: checkpoint.parent,
        label: checkpoint.label.as_deref(),
        cause: checkpoint.cause,
        status: checkpoint.status,
        time: time(checkpoint.time_us),
        time_us: checkpoint.time_us.to_string(),
        metadata: checkpoint.metadata.as_ref(),
        aliases: &checkpoint.aliases,
    }
}

/// An event. Its body stays word for word, so this is no [`Value`]; an erased one is `null`, and
/// its kind stays.
#[derive(Serialize)]
pub struct EventForm<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<&'a str>,
    offset: String,
    lineage: LineageId,
    kind: &'static str,
    time: String,
    time_us: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    body: Option<&'a Body>,
}

pub fn event(event: &Event) -> EventForm<'_> {
    let header = &event.header;
    EventForm {
        task: None,
        offset: event.offset.to_string(),
        lineage: event.lineage,
        kind: kind_name(event),
        time: time(header.time_us),
        time_us: header.time_us.to_string(),
        actor: header.actor.as_deref(),
        user: header.user.as_deref(),
        correlation: header.correlation.as_deref(),
        key: header.key.as_deref(),
        hash: None,
        checkpoint: None,
        body: event.body.as_ref(),
    }
}

/// The name of an event's kind, which stays when its body is erased.
pub fn kind_name(event: &Event) -> &'static str {
    Body::name_of(event.header.kind)
}

/// What an event says, on one line.
pub fn summary(body: Option<&Body>) -> String {
    let Some(body) = body else {
        return "(erased)".into();
    };
    let text = match body {
        Body::LineageOpened(opened) => opened_summary(opened),
        Body::StepStarted(step) => match &step.name {
            Some(name) => format!("step {}: {name}", step.step),
            None => format!("step {}", step.step),
        },
        Body::StepFinished(step) => finished_summary(step),
        Body::StepFailed(step) => format!("step {}: {}", step.step, step.error),
        Body::PhaseChanged(phase) => format!("{} (iteration {})", phase.phase, phase.iteration),
        Body::ControlChanged(change) => {
            let reason = change.reason.as_ref().map(|reason| format!(": {reason}"));
            let (from, to) = (control(change.from), control(change.to));
            format!("{from} -> {to}{}", reason.unwrap_or_default())
        }
        Body::GuidanceGiven(guidance) => guidance.text.clone(),
        Body::PromptChanged(prompt) => prompt.prompt.clone(),
        Body::RulesChanged(rules) => rules.rules.text().to_owned(),
        Body::ArtifactsEdited(edited) => edited
            .artifacts
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(", "),
        Body::VariablesPatched(patched) => patched.patch.text().to_owned(),
        Body::ContextChanged(changed) => changed.patch.text().to_owned(),
        Body::Message(message) => {
            let content = message.content.as_ref().map(content).unwrap_or_default();
            format!("{}: {content}", message.role)
        }
        Body::ToolCalled(call) => format!("{}({})", call.tool, call.arguments.text()),
        Body::ToolReturned(returned) => {
            let outcome = if returned.ok { "" } else { "failed: " };
            let output = returned.output.as_ref().map(content).unwrap_or_default();
            format!("{outcome}{output}")
        }
        Body::WorkspaceCaptured(captured) => count(captured.files, "file"),
        Body::CheckpointMarked(mark) => {
            let label = mark.label.as_deref().unwrap_or_default();
            format!("{} {} {label}", cause(mark.cause), status(mark.status))
        }
        Body::Restored(restored) => {
            let (lineage, offset) = (restored.lineage, restored.offset);
            format!(
                "back to lineage {lineage}@{offset}, from {}@{}",
                restored.from, restored.head
            )
        }
        Body::Application(application) => application.name.clone(),
        other => other.to_json().unwrap_or_default(),
    };
    excerpt(&text, EXCERPT)
}

fn opened_summary(opened: &milepost::LineageOpened) -> String {
    let mut text = lineage_type(opened.lineage_type).to_owned();
    if let Some(parent) = &opened.parent {
        text.push_str(&format!(
            " from lineage {}@{}",
            parent.lineage, parent.offset
        ));
    }
    if let Some(description) = &opened.description {
        text.push_str(&format!(": {description}"));
    }
    text
}

fn finished_summary(step: &milepost::StepFinished) -> String {
    let mut text = format!("step {}", step.step);
    for (name, value) in &step.metrics {
        text.push_str(&format!(" {name}={}", value.0));
    }
    text
}

/// A JSON string without its quotes, other JSON as it is.
fn content(json: &Json) -> String {
    // An excerpt needs no more than the beginning of a text of megabytes.
    serde_json::from_str(json.text()).unwrap_or_else(|_| json.text().to_owned())
}

pub fn lineage_type(lineage_type: LineageType) -> &'static str {
    match lineage_type {
        LineageType::Root => "root",
        LineageType::Automatic => "automatic",
        LineageType::Manual => "manual",
        LineageType::Restore => "restore",
        LineageType::Rollback => "rollback",
        LineageType::Branch => "branch",
    }
}

pub fn cause(cause: MarkCause) -> &'static str {
    match cause {
        MarkCause::Manual => "manual",
        MarkCause::Step => "step",
        MarkCause::Idle => "idle",
        MarkCause::BeforeTool => "before_tool",
        MarkCause::BeforeRestore => "before_restore",
        MarkCause::Imported => "imported",
    }
}

pub fn status(status: MarkStatus) -> &'static str {
    match status {
        MarkStatus::Success => "success",
        MarkStatus::Failure => "failure",
    }
}

fn control(control: RunControl) -> &'static str {
    match control {
        RunControl::Idle => "idle",
        RunControl::Running => "running",
        RunControl::Paused => "paused",
        RunControl::Stopped => "stopped",
    }
}

/// An address of a point of a lineage, for people to copy.
pub fn address(task: &str, lineage: impl std::fmt::Display, offset: Offset) -> String {
    format!("{}/{lineage}@{offset}", encode(task))
}

/// A task's id as it stands in an address.
pub fn encode(task: &str) -> String {
    let mut out = String::with_capacity(task.len());
    for c in task.chars() {
        match c {
            '@' => out.push_str("%40"),
            '~' => out.push_str("%7E"),
            '/' => out.push_str("%2F"),
            '%' => out.push_str("%25"),
            c => out.push(c),
        }
    }
    out
}
