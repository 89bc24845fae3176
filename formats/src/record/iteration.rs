//! The state of an iteration engine in a checkpoint, and the events that lead to it.
//!
//! ```text
//! phase, iteration            PhaseChanged
//! prompt                      PromptChanged
//! rule_system                 RulesChanged
//! user_guidance               VariablesPatched: a variable
//! user_guidance               GuidanceGiven, if it is new
//! artifacts                   ArtifactsEdited
//! control                     ControlChanged, by way of `running` if there is no transition
//! ```

use std::collections::BTreeMap;

use milepost::events::{
    ArtifactsEdited, ControlChanged, GuidanceGiven, PatchForm, PhaseChanged, PromptChanged,
    RulesChanged, RunControl, VariablesPatched,
};
use milepost::state::{Document, transition};
use milepost::{Body, Json, RunState};

use super::list_patch::patch;
use crate::error::Converted;
use crate::json_object::{Object, as_text, check_depth, compact, fields_of, value_of};

/// Beginning of the keys of all tasks with checkpoints of an iteration engine.
pub const OWN_KEYS: &str = "checkpoints";
/// The variable of the user's guidance.
pub const USER_GUIDANCE: &str = "user_guidance";
/// The artifact of artifacts that are not an object.
const ARTIFACTS: &str = "artifacts";
/// Fields of guidance that may have its text.
const TEXT_FIELDS: [&str; 5] = ["content", "text", "guidance", "message", "instruction"];

/// The wanted state. A field that is `None` stays unchanged.
#[derive(Debug, Default)]
pub struct IterationTarget {
    pub phase: Option<String>,
    /// The iteration of the phase.
    pub iteration: Option<u64>,
    pub prompt: Option<String>,
    pub rules: Option<Json>,
    /// Variables by name. `None` removes a variable.
    pub variables: Vec<(&'static str, Option<Json>)>,
    /// All artifacts.
    pub artifacts: Option<BTreeMap<String, Json>>,
    pub control: Option<RunControl>,
}

impl IterationTarget {
    /// Returns the events that lead from a state to this one, and applies them to `now`. After an
    /// error, `now` may be in between.
    pub fn reach(&self, now: &mut RunState) -> Converted<Vec<Body>> {
        let mut bodies: Vec<Body> = Vec::new();
        if let Some(phase) = self.phase.clone() {
            let iteration = self.iteration.unwrap_or(now.iteration);
            now.phase = Some(phase.clone());
            now.iteration = iteration;
            bodies.push(PhaseChanged { previous: None, phase, iteration }.into());
        }
        if let Some(prompt) =
            self.prompt.clone().filter(|prompt| now.prompt.as_ref() != Some(prompt))
        {
            now.prompt = Some(prompt.clone());
            bodies.push(PromptChanged { prompt }.into());
        }
        if let Some(rules) = &self.rules
            && !is_same(now.rules.as_ref(), Some(rules))?
        {
            now.rules = Some(rules.clone());
            bodies.push(RulesChanged { rules: rules.clone() }.into());
        }
        let guidance = self.patch_variables(now, &mut bodies)?;
        if let Some(artifacts) = &self.artifacts {
            bodies.extend(edit_artifacts(now, artifacts));
        }
        bodies.extend(guidance.map(Body::from));
        for to in self.control.map(|to| path(now.control, to)).unwrap_or_default() {
            let from = std::mem::replace(&mut now.control, to);
            bodies.push(ControlChanged { from, to, reason: None }.into());
        }
        Ok(bodies)
    }

    /// Patches the variables that differ, and returns new guidance.
    fn patch_variables(
        &self,
        now: &mut RunState,
        bodies: &mut Vec<Body>,
    ) -> Converted<Option<GuidanceGiven>> {
        let before = fields_of(&now.variables.text())
            .ok_or_else(|| "the variables of the task are no object any more".to_owned())?;
        let mut after = before.clone();
        let mut guidance = None;
        for (name, value) in &self.variables {
            let old = before.iter().find(|(known, _)| known == name).map(|(_, old)| old);
            if is_same(old, value.as_ref())? {
                continue;
            }
            after.retain(|(known, _)| known != name);
            after.extend(value.clone().map(|value| ((*name).to_owned(), value)));
            if *name == USER_GUIDANCE {
                guidance = value.as_ref().map(given);
            }
        }
        if let Some(patch) = patch(&before, &after) {
            let (form, patch) = (PatchForm::Patch, patch?);
            now.variables.patch(&patch).map_err(|error| error.to_string())?;
            bodies.push(VariablesPatched { form, patch }.into());
        }
        Ok(guidance)
    }
}

/// Returns `true` if two values are equal. A variable does not keep the order of fields.
fn is_same(old: Option<&Json>, new: Option<&Json>) -> Converted<bool> {
    let (Some(old), Some(new)) = (old, new) else {
        return Ok(old.is_none() && new.is_none());
    };
    let document = |json| Document::new(json).map_err(|error| error.to_string());
    Ok(old == new || document(old)? == document(new)?)
}

/// Returns the event that sets the artifacts which differ, and removes the others.
fn edit_artifacts(now: &mut RunState, target: &BTreeMap<String, Json>) -> Option<Body> {
    let changed = target.iter().filter(|(name, value)| now.artifacts.get(*name) != Some(*value));
    let changed = changed.map(|(name, value)| (name.clone(), value.clone()));
    let gone = now.artifacts.keys().filter(|name| !target.contains_key(*name));
    let gone = gone.map(|name| (name.clone(), Json::null()));
    let artifacts: BTreeMap<String, Json> = changed.chain(gone).collect();
    now.artifacts.clone_from(target);
    (!artifacts.is_empty()).then(|| ArtifactsEdited { artifacts }.into())
}

/// Returns the event of guidance: its text, and the JSON unless that is the text.
fn given(json: &Json) -> GuidanceGiven {
    if let Some(text) = as_text(json) {
        return GuidanceGiven::text(text);
    }
    let text = value_of(json)
        .and_then(|object: Object| TEXT_FIELDS.iter().find_map(|name| object.text(name)));
    let text = text.unwrap_or_else(|| json.text().to_owned());
    GuidanceGiven { text, data: Some(json.clone()) }
}

/// Returns the controls on the way from one to another.
fn path(from: RunControl, to: RunControl) -> Vec<RunControl> {
    if from == to {
        return Vec::new();
    }
    match transition(from, to) {
        Ok(to) => vec![to],
        Err(_) => vec![RunControl::Running, to],
    }
}

/// Returns the control that a word names.
pub fn control(word: &str) -> Option<RunControl> {
    let word = word.trim().trim_matches('"').to_ascii_lowercase();
    let all = [RunControl::Idle, RunControl::Running, RunControl::Paused, RunControl::Stopped];
    all.into_iter().find(|control| control.name() == word)
}

/// Returns JSON without white space between its tokens, or the reason why it is not JSON.
pub fn json(text: &str) -> Converted<Json> {
    check_depth(text)?;
    let whole = Json::new(text).map_err(|error| error.to_string())?;
    Json::new(compact(whole.text())).map_err(|error| error.to_string())
}

/// Returns a phase: the text of a JSON string, otherwise the JSON.
pub fn phase(json: &Json) -> String {
    as_text(json).unwrap_or_else(|| json.text().to_owned())
}

/// Returns the artifacts by name. A field that is `null` is not an artifact.
pub fn artifacts(json: &Json) -> BTreeMap<String, Json> {
    let all = fields_of(json.text()).unwrap_or_else(|| vec![(ARTIFACTS.to_owned(), json.clone())]);
    all.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(target: &IterationTarget, now: &mut RunState) -> Vec<&'static str> {
        let bodies = target.reach(now).unwrap();
        bodies.iter().map(|body| body.kind_name()).collect()
    }

    fn value(text: &str) -> Option<Json> {
        Some(json(text).unwrap())
    }

    #[test]
    fn a_state_that_is_reached_needs_no_event_but_its_phase() {
        let target = IterationTarget {
            phase: Some("layer_1".into()),
            iteration: Some(3),
            prompt: Some("p".into()),
            rules: value(r#"{"rules": [1.50]}"#),
            variables: vec![(USER_GUIDANCE, value(r#"{"id": 1, "content": "shorter"}"#))],
            artifacts: Some(artifacts(&json(r#"{"patterns": [1], "none": null}"#).unwrap())),
            control: Some(RunControl::Paused),
        };
        let mut now = RunState::default();
        let first = kinds(&target, &mut now);
        let expected = [
            "phase_changed",
            "prompt_changed",
            "rules_changed",
            "variables_patched",
            "artifacts_edited",
            "guidance_given",
            "control_changed",
            "control_changed",
        ];
        assert_eq!(first, expected);
        assert_eq!((now.control, now.iteration), (RunControl::Paused, 3));
        assert_eq!(kinds(&target, &mut now), ["phase_changed"]);
        let bare = IterationTarget {
            variables: vec![(USER_GUIDANCE, None)],
            artifacts: Some(BTreeMap::new()),
            ..IterationTarget::default()
        };
        assert_eq!(kinds(&bare, &mut now), ["variables_patched", "artifacts_edited"]);
        assert_eq!(now.rules, value(r#"{"rules": [1.50]}"#));
        assert_eq!(now.variables.text(), "{}");
        assert!(now.artifacts.is_empty());
    }

    #[test]
    fn every_control_is_reached_by_transitions() {
        let all = [RunControl::Idle, RunControl::Running, RunControl::Paused, RunControl::Stopped];
        for (from, to) in all.into_iter().flat_map(|from| all.map(|to| (from, to))) {
            let mut at = from;
            for next in path(from, to) {
                at = transition(at, next).unwrap();
            }
            assert_eq!(at, to);
        }
        assert_eq!(control("\"Paused\""), Some(RunControl::Paused));
        assert_eq!(control("gone"), None);
    }

    #[test]
    fn guidance_has_its_text_in_one_of_several_fields() {
        let text = |text: &str| given(&json(text).unwrap()).text;
        assert_eq!(text(r#""be brief""#), "be brief");
        assert_eq!(text(r#"{"message": "m", "text": "t"}"#), "t");
        assert_eq!(text(r#"{"level": 1}"#), r#"{"level":1}"#);
        assert_eq!(given(&json(r#""be brief""#).unwrap()).data, None);
    }

    #[test]
    fn text_that_is_no_json_is_refused() {
        for text in ["", "{", "1 2", "layer", "\"\u{1}\""] {
            assert!(json(text).is_err(), "{text}");
        }
        assert!(json(&format!("{}1{}", "[".repeat(97), "]".repeat(97))).is_err());
    }
}
