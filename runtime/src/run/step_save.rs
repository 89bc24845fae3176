//! A step that is saved in one call: its events, its state and a checkpoint in one commit.

use std::collections::BTreeMap;

use milepost::events::{
    ArtifactsEdited, CheckpointMarked, ContextChanged, MarkCause, MarkStatus, PatchForm,
    StepFailed, StepFinished, StepStarted, VariablesPatched,
};
use milepost::{Append, Body, Checkpoint, Error, Json, Mark, Result};

use super::Run;
use super::held::Saved;

/// The artifact that holds the state of a step, as `milepost import` names it too.
const STATE: &str = "state";

/// A step with the values to restore later, for [`Run::save`]. Values that are `None` stay as they
/// are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepSave {
    /// The number of the step in the execution.
    pub index: u64,
    /// The name of the step, which is the checkpoint's label if it is valid as one.
    pub name: String,
    /// The state, any JSON value. It becomes the artifact `state`.
    pub state: Option<Json>,
    /// The context, in place of the one before.
    pub context: Option<Json>,
    /// The variables, in place of those before.
    pub variables: Option<Json>,
    /// The error of a step that failed. The checkpoint then has the status `failure`.
    pub error: Option<String>,
}

impl Run {
    /// Records a step, its values and a checkpoint in one commit. The checkpoint has the alias
    /// `ckpt-TASK-INDEX`. Returns `None` if it is held in memory: see
    /// [`RunOptions::failover`](super::RunOptions::failover).
    ///
    /// ```
    /// use milepost::{Engine, Json, Options};
    /// use milepost_runtime::run::{Run, RunOptions, StepSave};
    ///
    /// let engine = Engine::in_memory(Options::default())?;
    /// let run = Run::resume_or_start(&engine, "exec-001", "ana", RunOptions::default())?;
    /// run.save(StepSave {
    ///     index: 0,
    ///     name: "load_data".into(),
    ///     state: Some(Json::new(r#"{"rows": 120}"#)?),
    ///     variables: Some(Json::new(r#"{"input": "a.csv"}"#)?),
    ///     ..StepSave::default()
    /// })?;
    /// let saved = engine.point("exec-001@ckpt-exec-001-0")?;
    /// assert_eq!(engine.run_state(&saved)?.artifacts["state"].text(), r#"{"rows": 120}"#);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid`: a document nests too deeply. Otherwise as [`milepost::Lineage::append_marked`].
    pub fn save(&self, step: StepSave) -> Result<Option<Checkpoint>> {
        let index = step.index;
        let alias = format!("ckpt-{}-{index}", self.shared.task.lock().id());
        let label = Some(step.name.clone());
        let is_label = CheckpointMarked { label, ..Default::default() }.check().is_ok();
        let status = match step.error {
            None => MarkStatus::Success,
            Some(_) => MarkStatus::Failure,
        };
        let mut mark = Mark::new().cause(MarkCause::Step).status(status).alias(alias);
        if is_label {
            mark = mark.label(step.name.clone());
        }
        let append = self.shared.in_context(Append::batch(bodies(step)?));
        let saved = self.shared.write_marked(append, mark)?;
        self.shared.position.lock().at(index.saturating_add(1));
        match saved {
            Saved::Marked(checkpoint) => {
                self.shared.saved(&checkpoint);
                Ok(Some(checkpoint))
            }
            Saved::Unmarked(error) => self.shared.not_saved(error).map(|()| None),
            Saved::Held => {
                self.shared.held();
                Ok(None)
            }
        }
    }
}

/// Returns the events of a step.
fn bodies(step: StepSave) -> Result<Vec<Body>> {
    let (index, form) = (step.index, PatchForm::Patch);
    let started = StepStarted { step: index, name: Some(step.name), ..StepStarted::default() };
    let mut bodies = vec![Body::from(started)];
    if let Some(variables) = step.variables {
        bodies.push(VariablesPatched { form, patch: replacement(&variables)? }.into());
    }
    if let Some(context) = step.context {
        bodies.push(ContextChanged { form, patch: replacement(&context)? }.into());
    }
    if let Some(state) = step.state {
        let artifacts = BTreeMap::from([(STATE.to_owned(), state)]);
        bodies.push(ArtifactsEdited { artifacts }.into());
    }
    bodies.push(match step.error {
        None => StepFinished { step: index, ..StepFinished::default() }.into(),
        Some(error) => StepFailed { step: index, error }.into(),
    });
    Ok(bodies)
}

/// Returns the patch that replaces a document. A merge patch could set no nulls in it.
fn replacement(value: &Json) -> Result<Json> {
    let patch = format!(r#"[{{"op":"replace","path":"","value":{value}}}]"#);
    Json::new(patch).map_err(|error| Error::invalid(format!("a document of a step: {error}")))
}
