//! The row of an event.

use milepost_codec::{Application, Body, Data, LineageOpened, StepFinished};
use milepost_replay::Event;

use super::command::result_line;
use super::items::Items;
use super::text::{Line, TEXT_MAX, arguments};

/// The application event with the result of work that is done once.
pub(crate) const ONCE: &str = "milepost.once";

/// The prefix of the idempotency key of such a result.
const ONCE_KEY: &str = "once/";

/// Returns an event on one line, in at most [`TEXT_MAX`](super::TEXT_MAX) characters.
///
/// ```
/// use milepost_codec::{Body, Header, LineageId, Message};
/// use milepost_replay::Event;
/// use milepost_reading::row;
///
/// let body = Some(Body::Message(Message::text("user", "make it\nfaster")));
/// let event = Event { lineage: LineageId(0), offset: 3, header: Header::default(), body };
/// assert_eq!(row(&event), "user: make it faster");
/// ```
pub fn row(event: &Event) -> String {
    row_within(event, TEXT_MAX)
}

/// Returns an event on one line, in at most `max` characters.
pub fn row_within(event: &Event, max: usize) -> String {
    let Some(body) = &event.body else {
        return "(erased)".into();
    };
    let mut line = Line::within(max);
    match body {
        Body::LineageOpened(opened) => opening(&mut line, opened),
        Body::StepStarted(step) => {
            line.add(&format!("step {}", step.step));
            if let Some(name) = &step.name {
                line.add(": ").add(name);
            }
        }
        Body::StepFinished(step) => finished(&mut line, step),
        Body::StepFailed(step) => {
            line.add(&format!("step {}: ", step.step)).add(&step.error);
        }
        Body::Message(message) => {
            line.add(&message.role).add(": ");
            if let Some(content) = &message.content {
                line.add_json(content);
            }
        }
        Body::ToolCalled(call) => {
            line.add(&call.tool).add(" ").add(&arguments(&call.arguments, max));
        }
        Body::ToolReturned(returned) => {
            line.add(if returned.ok { "" } else { "failed: " });
            if let Some(output) = &returned.output {
                line.add(&result_line(output, max));
            }
        }
        Body::WorkspaceCaptured(captured) => {
            let files = if captured.files == 1 { "file" } else { "files" };
            line.add(&format!("{} {files}, {} bytes", captured.files, captured.bytes));
        }
        Body::CheckpointMarked(mark) => {
            line.add(mark.cause.name()).add(" ").add(mark.status.name());
            if let Some(label) = &mark.label {
                line.add(" ").add(label);
            }
        }
        Body::Restored(restored) => {
            let (to, from) = (restored.lineage, restored.from);
            line.add(&format!("to {to}@{} from {from}@{}", restored.offset, restored.head));
        }
        other => {
            let items = Items::of(other);
            if items.bodies.is_empty() {
                state_change(&mut line, other);
            }
            for item in items.bodies {
                line.add(&row_within(&Event { body: Some(item), ..event.clone() }, max)).add("; ");
            }
        }
    }
    line.end()
}

/// Returns the key and the result of work that is done once, in at most `max` characters.
pub(crate) fn once(event: &Event, application: &Application, max: usize) -> String {
    let mut line = Line::within(max);
    if let Some(key) = event.header.key.as_deref().and_then(|key| key.strip_prefix(ONCE_KEY)) {
        line.add(key).add(": ");
    }
    if let Data::Json(result) = &application.data {
        line.add_json(result);
    }
    line.end()
}

/// Adds an event that changes the state, or one of an application.
fn state_change(line: &mut Line, body: &Body) {
    match body {
        Body::Application(event) => {
            line.add(&event.name);
            if let Data::Json(json) = &event.data {
                line.add(" ").add_json(json);
            }
        }
        Body::PhaseChanged(phase) => {
            line.add(&phase.phase).add(&format!(" (iteration {})", phase.iteration));
        }
        Body::ControlChanged(change) => {
            line.add(change.from.name()).add(" -> ").add(change.to.name());
            if let Some(reason) = &change.reason {
                line.add(": ").add(reason);
            }
        }
        Body::GuidanceGiven(guidance) => {
            line.add(&guidance.text);
        }
        Body::PromptChanged(prompt) => {
            line.add(&prompt.prompt);
        }
        Body::RulesChanged(rules) => {
            line.add(rules.rules.text());
        }
        Body::ArtifactsEdited(edited) => {
            for name in edited.artifacts.keys() {
                line.add(name).add(" ");
            }
        }
        Body::VariablesPatched(patched) => {
            line.add(patched.patch.text());
        }
        Body::ContextChanged(changed) => {
            line.add(changed.patch.text());
        }
        other => {
            // A kind that this version does not know has its JSON form.
            line.add(&other.to_json().unwrap_or_else(|_| other.kind_name().to_owned()));
        }
    }
}

fn opening(line: &mut Line, opened: &LineageOpened) {
    line.add(opened.lineage_type.name());
    if let Some(parent) = &opened.parent {
        line.add(&format!(" from {}@{}", parent.lineage, parent.offset));
    }
    if let Some(description) = &opened.description {
        line.add(": ").add(description);
    }
}

fn finished(line: &mut Line, step: &StepFinished) {
    line.add(&format!("step {}", step.step));
    for (name, value) in &step.metrics {
        line.add(&format!(" {name}={}", value.0));
    }
}
