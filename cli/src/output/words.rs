//! Words for stored values, on one line of text.

use milepost::{Body, Json, Offset};

use super::{count, excerpt};

/// Longest excerpt of an event's content, in columns.
const EXCERPT: usize = 100;

/// Summarizes an event on one line.
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
            let (from, to) = (change.from.name(), change.to.name());
            format!("{from} -> {to}{}", reason.unwrap_or_default())
        }
        Body::GuidanceGiven(guidance) => guidance.text.clone(),
        Body::PromptChanged(prompt) => prompt.prompt.clone(),
        Body::RulesChanged(rules) => rules.rules.text().to_owned(),
        Body::ArtifactsEdited(edited) => {
            edited.artifacts.keys().cloned().collect::<Vec<_>>().join(", ")
        }
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
            format!("{} {} {label}", mark.cause.name(), mark.status.name())
        }
        Body::Restored(restored) => {
            let (lineage, offset) = (restored.lineage, restored.offset);
            format!("back to lineage {lineage}@{offset}, from {}@{}", restored.from, restored.head)
        }
        Body::Application(application) => application.name.clone(),
        other => other.to_json().unwrap_or_default(),
    };
    excerpt(&text, EXCERPT)
}

fn opened_summary(opened: &milepost::events::LineageOpened) -> String {
    let mut text = opened.lineage_type.name().to_owned();
    if let Some(parent) = &opened.parent {
        text.push_str(&format!(" from lineage {}@{}", parent.lineage, parent.offset));
    }
    if let Some(description) = &opened.description {
        text.push_str(&format!(": {description}"));
    }
    text
}

fn finished_summary(step: &milepost::events::StepFinished) -> String {
    let mut text = format!("step {}", step.step);
    for (name, value) in &step.metrics {
        text.push_str(&format!(" {name}={}", value.0));
    }
    text
}

/// Returns a JSON string without its quotes, and other JSON unchanged.
fn content(json: &Json) -> String {
    // The caller takes an excerpt, as the text may have megabytes.
    serde_json::from_str(json.text()).unwrap_or_else(|_| json.text().to_owned())
}

/// Returns the address of a point of a lineage, to copy.
pub fn address(task: &str, lineage: impl std::fmt::Display, offset: Offset) -> String {
    format!("{}/{lineage}@{offset}", encode(task))
}

/// Returns a task's id as in an address.
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
