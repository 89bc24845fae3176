//! Application of events to the state of a run.

use std::collections::BTreeMap;

use milepost_codec::{
    ArtifactsEdited, Body, ChunkId, ControlChanged, Error, Json, LineageOpened, Offset, PatchForm,
    PhaseChanged, Result, StepFailed, StepFinished, StepStarted, ToolCalled, bounded,
};
use serde::de::DeserializeOwned;

use super::piece::item_of;
use super::state::{LastError, OpenCall, RunState, Step, StepStatus};
use crate::chunks::Chunks;
use crate::control::transition;
use crate::document::Document;
use crate::event::Event;
use crate::reducer::Reducer;

/// The most open calls that are followed. One more call drops the older half.
const OPEN_CALLS_MAX: usize = 1024;

/// The most bytes of a followed call's id and tool.
const CALL_NAME_MAX: usize = 1 << 10;

/// The most bytes of kept arguments; longer ones are only in the conversation.
const ARGUMENTS_MAX: usize = 16 << 10;

/// The most bytes kept of an error's message; the event has the whole message.
const ERROR_MAX: usize = 4 << 10;

/// The built-in fold: events of an iteration engine to [`RunState`].
///
/// The fold is total. An event that does not fit the state, such as an illegal change of control or
/// a patch that does not apply, changes only `last_error`, to its offset and the reason; later
/// states can always be computed. `apply` fails only if chunks fail.
///
/// - A root's `lineage_opened` sets `prompt`, `rules`, `artifacts`, `variables`, `context`,
///   `phase`, `iteration` and `workspace` from the object `initial`. Other fields, and an `initial`
///   that is not an object, are for other reducers. A field of the wrong type sets `last_error`;
///   the other fields still apply.
/// - A fork's `lineage_opened`, marks, `restored`, application events and unknown kinds change
///   nothing.
/// - An erased message, call or return leaves an erased entry in the conversation; an erased body
///   of another kind changes nothing.
/// - A call is open until a return with its id. At most 1024 are followed: one more drops the older
///   half. A call is also dropped if its id is used again, or if its id and tool are longer than 1
///   KiB; `abandoned_calls` counts dropped calls. Arguments over 16 KiB are not kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunReducer;

impl Reducer for RunReducer {
    type State = RunState;

    fn name(&self) -> &str {
        "milepost.run"
    }

    fn version(&self) -> u32 {
        1
    }

    fn initial(&self) -> RunState {
        RunState::default()
    }

    fn apply(&self, state: &mut RunState, event: &Event, chunks: &dyn Chunks) -> Result<()> {
        match item_of(event) {
            Some((true, item)) => return state.guidance.push_encoded(&item, chunks),
            Some((false, item)) => state.messages.push_encoded(&item, chunks)?,
            None => {}
        }
        if let Some(body) = &event.body
            && let Err(error) = state.change(event.offset, body)
        {
            state.set_error(event.offset, &error.to_string());
        }
        Ok(())
    }

    fn encode(&self, state: &RunState) -> Result<Vec<u8>> {
        Ok(state.encode())
    }

    fn decode(&self, bytes: &[u8]) -> Result<RunState> {
        RunState::decode(bytes)
    }

    fn encode_snapshot(
        &self,
        state: &RunState,
        chunks: &dyn Chunks,
    ) -> Result<(Vec<u8>, Vec<ChunkId>)> {
        state.encode_apart(chunks)
    }

    fn decode_snapshot(&self, bytes: &[u8], chunks: &dyn Chunks) -> Result<RunState> {
        RunState::decode_with(bytes, Some(chunks))
    }

    fn refers(&self, state: &RunState) -> Vec<ChunkId> {
        state.refers()
    }

    fn bytes_in_chunks(&self, state: &RunState) -> u64 {
        state.messages.bytes_in_chunks() + state.guidance.bytes_in_chunks()
    }
}

impl RunState {
    /// Applies an event that changes fields. A part that does not fit changes nothing.
    fn change(&mut self, offset: Offset, body: &Body) -> Result<()> {
        match body {
            Body::LineageOpened(opened) => self.open(opened),
            Body::StepStarted(started) => {
                self.start_step(started);
                Ok(())
            }
            Body::StepFinished(finished) => {
                self.finish_step(finished);
                Ok(())
            }
            Body::StepFailed(failed) => {
                self.fail_step(offset, failed);
                Ok(())
            }
            Body::PhaseChanged(changed) => {
                self.change_phase(changed);
                Ok(())
            }
            Body::ControlChanged(changed) => self.change_control(changed),
            Body::PromptChanged(changed) => {
                self.prompt = Some(changed.prompt.clone());
                Ok(())
            }
            Body::RulesChanged(changed) => {
                self.rules = Some(changed.rules.clone());
                Ok(())
            }
            Body::ArtifactsEdited(edited) => {
                self.edit_artifacts(edited);
                Ok(())
            }
            Body::VariablesPatched(patched) => {
                patch(&mut self.variables, patched.form, &patched.patch)
                    .map_err(|e| e.at("variables"))
            }
            Body::ContextChanged(changed) => {
                patch(&mut self.context, changed.form, &changed.patch).map_err(|e| e.at("context"))
            }
            Body::WorkspaceCaptured(captured) => {
                self.workspace = Some(captured.root);
                Ok(())
            }
            Body::ToolCalled(called) => {
                self.open_call(offset, called);
                Ok(())
            }
            Body::ToolReturned(returned) => {
                let open = self.open_calls.remove(&returned.call).is_some();
                self.finished_calls = self.finished_calls.saturating_add(u64::from(open));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, opened: &LineageOpened) -> Result<()> {
        let Some(initial) = opened.initial.as_ref().filter(|_| opened.parent.is_none()) else {
            return Ok(());
        };
        if !initial.text().trim_start().starts_with('{') {
            return Ok(());
        }
        let mut fields: BTreeMap<String, Json> = read("initial", initial)?;
        let mut first_error = None;
        let mut take = |name: &str| fields.remove(name).filter(|json| !json.is_null());
        set(&mut self.prompt, "prompt", take("prompt"), &mut first_error);
        set(&mut self.phase, "phase", take("phase"), &mut first_error);
        set(&mut self.workspace, "workspace", take("workspace"), &mut first_error);
        let (mut iteration, mut artifacts) = (None, None);
        set(&mut iteration, "iteration", take("iteration"), &mut first_error);
        set(&mut artifacts, "artifacts", take("artifacts"), &mut first_error);
        self.iteration = iteration.unwrap_or(self.iteration);
        self.edit_artifacts(&ArtifactsEdited { artifacts: artifacts.unwrap_or_default() });
        self.rules = take("rules").or(self.rules.take());
        let documents = [(&mut self.variables, "variables"), (&mut self.context, "context")];
        for (document, name) in documents {
            match take(name).as_ref().map(Document::new).transpose() {
                Ok(found) => *document = found.unwrap_or_else(|| std::mem::take(document)),
                Err(error) => first_error = first_error.or(Some(error.at(name))),
            }
        }
        first_error.map_or(Ok(()), |error| Err(error.at("initial")))
    }

    fn start_step(&mut self, started: &StepStarted) {
        let (number, name) = (started.step, started.name.clone());
        self.step = Some(Step { number, name, status: StepStatus::Running });
        self.iteration = started.iteration.unwrap_or(self.iteration);
    }

    /// Sets the status of step `number` and makes it the current step.
    fn end_step(&mut self, number: u64, status: StepStatus) {
        let step = self.step.take().filter(|step| step.number == number);
        self.step = Some(Step { number, name: step.and_then(|step| step.name), status });
    }

    fn finish_step(&mut self, finished: &StepFinished) {
        self.end_step(finished.step, StepStatus::Finished);
        self.metrics = finished.metrics.clone();
    }

    fn fail_step(&mut self, offset: Offset, failed: &StepFailed) {
        self.end_step(failed.step, StepStatus::Failed);
        self.set_error(offset, &failed.error);
    }

    fn change_phase(&mut self, changed: &PhaseChanged) {
        let before = self.phase.replace(changed.phase.clone());
        self.previous_phase = changed.previous.clone().or(before);
        self.iteration = changed.iteration;
    }

    fn change_control(&mut self, changed: &ControlChanged) -> Result<()> {
        if changed.from != self.control {
            let (from, is) = (changed.from.name(), self.control.name());
            return Err(Error::invalid(format!("the run is {is}, not {from}")));
        }
        self.control = transition(changed.from, changed.to)?;
        Ok(())
    }

    fn edit_artifacts(&mut self, edited: &ArtifactsEdited) {
        for (name, value) in &edited.artifacts {
            if value.is_null() {
                self.artifacts.remove(name);
            } else {
                self.artifacts.insert(name.clone(), value.clone());
            }
        }
    }

    fn open_call(&mut self, offset: Offset, called: &ToolCalled) {
        let ToolCalled { call, tool, arguments } = called;
        let mut abandoned = u64::from(self.open_calls.remove(call).is_some());
        if call.len().saturating_add(tool.len()) > CALL_NAME_MAX {
            abandoned += 1;
        } else {
            if self.open_calls.len() >= OPEN_CALLS_MAX {
                let mut offsets: Vec<_> = self.open_calls.values().map(|c| c.offset).collect();
                offsets.sort_unstable();
                let oldest = offsets.get(OPEN_CALLS_MAX / 2).copied().unwrap_or(offset);
                let before = self.open_calls.len();
                self.open_calls.retain(|_, call| call.offset >= oldest);
                abandoned += before.saturating_sub(self.open_calls.len()) as u64;
            }
            let is_short = arguments.text().len() <= ARGUMENTS_MAX;
            let arguments = is_short.then(|| arguments.clone());
            let open = OpenCall { tool: tool.clone(), arguments, offset };
            self.open_calls.insert(call.clone(), open);
        }
        self.abandoned_calls = self.abandoned_calls.saturating_add(abandoned);
    }

    fn set_error(&mut self, offset: Offset, message: &str) {
        let message = bounded(message, ERROR_MAX).to_owned();
        self.last_error = Some(LastError { offset, message });
    }
}

fn patch(document: &mut Document, form: PatchForm, patch: &Json) -> Result<()> {
    match form {
        PatchForm::Merge => document.merge(patch),
        PatchForm::Patch => document.patch(patch),
    }
}

fn read<T: DeserializeOwned>(name: &str, json: &Json) -> Result<T> {
    serde_json::from_str(json.text())
        .map_err(|e| Error::invalid(format!("{name}: {e}")).with_source(e))
}

/// Sets a field from `json`, if present. `first_error` keeps the first type error.
fn set<T: DeserializeOwned>(
    field: &mut Option<T>,
    name: &str,
    json: Option<Json>,
    first_error: &mut Option<Error>,
) {
    match json.map(|json| read(name, &json)).transpose() {
        Ok(Some(value)) => *field = Some(value),
        Ok(None) => {}
        Err(error) => {
            first_error.get_or_insert(error);
        }
    }
}

#[cfg(test)]
mod tests;
