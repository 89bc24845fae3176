//! Kinds of events that change each field of the state.

use std::collections::BTreeMap;

use milepost_codec::{Body, Error, Json, Result};

use super::apply::RunReducer;
use super::json::FIELDS;
use crate::pointer::first_token;

/// The kinds that are entries of the conversation, and open and answer calls.
const CONVERSATION: &[&str] = &["message", "tool_called", "tool_returned"];

impl RunReducer {
    /// Returns the names of the event kinds that can change the part of the state's JSON form at a
    /// pointer. Folding only these events gives the same part as folding all.
    ///
    /// # Errors
    ///
    /// `Invalid`: the text is not a pointer, or names the whole state or a field that a state does
    /// not have.
    pub fn kinds_for(pointer: &str) -> Result<&'static [&'static str]> {
        let Some((field, _)) = first_token(pointer)? else {
            return Err(Error::invalid(
                "an empty pointer names the whole state: name a field of it, as in \
                 `/variables/best`",
            ));
        };
        Ok(match field.as_str() {
            "control" => &["control_changed"],
            "phase" => &["lineage_opened", "phase_changed"],
            // Its value derives from the previous `phase`.
            "previous_phase" => &["lineage_opened", "phase_changed"],
            "iteration" => &["lineage_opened", "step_started", "phase_changed"],
            "step" => &["step_started", "step_finished", "step_failed"],
            "prompt" => &["lineage_opened", "prompt_changed"],
            "rules" => &["lineage_opened", "rules_changed"],
            "artifacts" => &["lineage_opened", "artifacts_edited"],
            "guidance" | "guidance_count" => &["guidance_given"],
            "variables" => &["lineage_opened", "variables_patched"],
            "context" => &["lineage_opened", "context_changed"],
            "messages" | "message_count" => CONVERSATION,
            "open_calls" | "finished_calls" | "abandoned_calls" => CONVERSATION,
            "workspace" => &["lineage_opened", "workspace_captured"],
            "metrics" => &["step_finished"],
            // Kinds that may not fit the state, and the kinds that decide whether they fit.
            "last_error" => &[
                "lineage_opened",
                "step_failed",
                "control_changed",
                "variables_patched",
                "context_changed",
            ],
            field => {
                let excerpt: String = field.chars().take(80).collect();
                return Err(Error::invalid(format!(
                    "a state has no field {excerpt:?}: its fields are {}",
                    FIELDS.join(", ")
                )));
            }
        })
    }

    /// Returns the iteration that an event sets; `None` if it stays as it was. The fold sets
    /// `iteration` of the state to the same number.
    ///
    /// An event belongs to the iteration of the state right after it: `phase_changed` and
    /// `step_started` with an `iteration` are the first events of theirs, and every other event
    /// belongs to that of the event before it. A run begins in iteration 0, or in that of its
    /// initial state.
    ///
    /// ```
    /// # use milepost_codec::Body;
    /// # use milepost_replay::RunReducer;
    /// let body = Body::from_json(r#"{"kind":"phase_changed","phase":"draft","iteration":4}"#)?;
    /// assert_eq!(RunReducer::iteration_set_by(&body), Some(4));
    /// # Ok::<(), milepost_codec::Error>(())
    /// ```
    pub fn iteration_set_by(body: &Body) -> Option<u64> {
        match body {
            Body::StepStarted(started) => started.iteration,
            Body::PhaseChanged(changed) => Some(changed.iteration),
            Body::LineageOpened(opened) if opened.parent.is_none() => {
                let initial: BTreeMap<String, Json> = opened.initial.as_ref()?.to().ok()?;
                initial.get("iteration")?.to().ok()
            }
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_state_has_its_kinds() {
        for field in FIELDS {
            assert!(!RunReducer::kinds_for(&format!("/{field}/x")).unwrap().is_empty());
        }
        for wrong in ["", "/", "/nothing", "variables"] {
            RunReducer::kinds_for(wrong).unwrap_err();
        }
    }
}
