//! The state in a checkpoint file, and the events that lead to it.
//!
//! A checkpoint file contains whole documents. A merge patch could not set nulls in them, so a
//! document that differs is replaced as a whole by a JSON patch.

use std::collections::BTreeMap;

use milepost::events::{ArtifactsEdited, ContextChanged, PatchForm, VariablesPatched};
use milepost::{Body, Error, Json, Result, RunState};

/// The artifact of a file's `state`. If the state is `null`, there is no artifact.
pub const STATE: &str = "state";
/// Maximum nesting of a document; a patch adds two levels.
const DEPTH_MAX: u32 = 98;

/// The wanted variables, context and state.
#[derive(Debug, PartialEq)]
pub struct TargetState {
    variables: Json,
    context: Json,
    /// The same values as a run state, for comparison.
    state: RunState,
}

#[derive(Debug, Clone, Copy)]
enum Document {
    Variables,
    Context,
}

impl TargetState {
    /// Returns the target of three JSON values, or an error that names the one that no state can
    /// hold.
    pub fn new(variables: Json, context: Json, state: Json) -> Result<Self, String> {
        let mut target = RunState::default();
        let set = |target: &mut RunState, document, name: &str, value: &Json| {
            replace(target, document, value).map_err(|error| format!("`{name}`: {error}"))
        };
        set(&mut target, Document::Variables, "variables", &variables)?;
        set(&mut target, Document::Context, "context", &context)?;
        if !state.is_null() {
            target.artifacts.insert(STATE.to_owned(), state);
        }
        Ok(Self { variables, context, state: target })
    }

    /// Returns `true` if a run state has these values.
    pub fn is_met_by(&self, now: &RunState) -> bool {
        now.variables == self.state.variables
            && now.context == self.state.context
            && now.artifacts.get(STATE) == self.state.artifacts.get(STATE)
    }

    /// Returns the events that lead from a run state to the target, and applies them to `now`.
    /// After an error, `now` may be in between.
    pub fn reach(&self, now: &mut RunState) -> Result<Vec<Body>> {
        let form = PatchForm::Patch;
        let mut bodies = Vec::new();
        if now.variables != self.state.variables {
            let patch = replace(now, Document::Variables, &self.variables)?;
            bodies.push(VariablesPatched { form, patch }.into());
        }
        if now.context != self.state.context {
            let patch = replace(now, Document::Context, &self.context)?;
            bodies.push(ContextChanged { form, patch }.into());
        }
        let state = self.state.artifacts.get(STATE);
        if now.artifacts.get(STATE) != state {
            let value = state.cloned().unwrap_or_else(Json::null);
            match state {
                Some(_) => now.artifacts.insert(STATE.to_owned(), value.clone()),
                None => now.artifacts.remove(STATE),
            };
            let artifacts = BTreeMap::from([(STATE.to_owned(), value)]);
            bodies.push(ArtifactsEdited { artifacts }.into());
        }
        Ok(bodies)
    }
}

/// Replaces a document by `value`, and returns the patch.
fn replace(state: &mut RunState, document: Document, value: &Json) -> Result<Json> {
    let mut apply = |patch: &Json| match document {
        Document::Variables => state.variables.patch(patch),
        Document::Context => state.context.patch(patch),
    };
    let replacement = format!(r#"{{"op":"replace","path":"","value":{value}}}"#);
    let too_deep = |_| Error::invalid(format!("it nests deeper than {DEPTH_MAX} levels"));
    let patch = Json::new(format!("[{replacement}]")).map_err(too_deep)?;
    if apply(&patch).is_ok() {
        return Ok(patch);
    }
    // During a replacement the old document counts towards the size limit, too. Two heavy documents
    // exceed it, so the old one is set to null first.
    let empty = r#"{"op":"replace","path":"","value":null}"#;
    let patch = Json::new(format!("[{empty},{replacement}]")).map_err(too_deep)?;
    apply(&patch).map(|()| patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(variables: &str, context: &str, state: &str) -> TargetState {
        let json = |text: &str| Json::new(text).unwrap();
        TargetState::new(json(variables), json(context), json(state)).unwrap()
    }

    #[test]
    fn what_is_the_same_already_needs_no_event() {
        let mut now = RunState::default();
        assert!(target("{}", "{}", "null").reach(&mut now).unwrap().is_empty());
        let some = target(r#"{"a":null,"b":1.50}"#, "{}", "[1]");
        assert_eq!(some.reach(&mut now).unwrap().len(), 2);
        assert!(some.is_met_by(&now));
        let other_order = target(r#"{"b":1.50,"a":null}"#, "{}", "[1]");
        assert!(other_order.is_met_by(&now));
        let other_number = target(r#"{"a":null,"b":1.5}"#, "{}", "[1]");
        assert_eq!(other_number.reach(&mut now).unwrap().len(), 1);
    }

    #[test]
    fn a_state_of_null_takes_the_artifact_away() {
        let mut now = RunState::default();
        target("{}", "{}", "{}").reach(&mut now).unwrap();
        assert!(now.artifacts.contains_key(STATE));
        let none = target("{}", "{}", "null");
        assert_eq!(none.reach(&mut now).unwrap().len(), 1);
        assert!(none.is_met_by(&now) && now.artifacts.is_empty());
    }

    #[test]
    fn a_heavy_document_takes_the_place_of_another() {
        // An object weighs hundreds of bytes: 200 MiB of the 256 MiB that a document may have.
        let heavy = |last: u8| {
            let objects = "{},".repeat(320_000);
            target(&format!("[{objects}{last}]"), "{}", "null")
        };
        let mut now = RunState::default();
        for last in [1, 2] {
            let target = heavy(last);
            assert_eq!(target.reach(&mut now).unwrap().len(), 1);
            assert!(target.is_met_by(&now));
        }
    }
}
