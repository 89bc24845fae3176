//! The events of a checkpoint and of its writes, and their keys.
//!
//! ```text
//! changes of the channels' values         VariablesPatched
//! metadata's step, source                 StepStarted and StepFinished around it, from step 0 on
//! all other fields of a checkpoint        Application `langgraph`
//! checkpoint_id, metadata, ts             the mark's alias and metadata, the time
//! a row of `writes`                       Application `langgraph_write`, after the mark
//! ```

use milepost::events::{Application, Data, PatchForm, StepFinished, StepStarted, VariablesPatched};
use milepost::{Body, Json};
use serde::Deserialize;

use super::checkpoint::{self, Content};
use super::database::{CheckpointRow, Write};
use crate::json_object::Object;
use crate::record::database::Converted;
use crate::record::list_patch::patch;

/// Prefix of the keys of checkpoints and writes.
pub const KEY: &str = "langgraph:";
/// Names of the application events for other fields and for writes.
const EXTRA_EVENT: &str = "langgraph";
const WRITE: &str = "langgraph_write";

/// Returns the key of a checkpoint.
pub fn checkpoint_key(id: &str) -> String {
    format!("{KEY}checkpoint:{id}")
}

/// Returns the key of a write. It is unique for any characters in the ids.
pub fn write_key(entry: &CheckpointRow, write: &Write) -> String {
    let part = |id: &str| id.replace('%', "%25").replace(':', "%3A");
    let (id, task) = (part(&entry.id), part(&write.task));
    format!("{KEY}write:{id}:{task}:{}", write.index)
}

/// The step in the metadata.
#[derive(Deserialize)]
struct Step {
    step: i64,
    source: Option<String>,
}

impl Step {
    fn of(metadata: &Json) -> Option<Self> {
        serde_json::from_str(metadata.text()).ok()
    }

    /// Returns its number. The input before the first step has none.
    fn number(&self) -> Option<u64> {
        u64::try_from(self.step).ok()
    }
}

/// Returns the events of a checkpoint that follows the values `before`.
pub fn bodies(
    content: &Content,
    before: &[(String, Json)],
    metadata: &Json,
) -> Converted<Vec<Body>> {
    let step = Step::of(metadata);
    let number = step.as_ref().and_then(Step::number);
    let mut bodies: Vec<Body> = Vec::new();
    if let Some(step_number) = number {
        bodies.push(
            StepStarted {
                step: step_number,
                name: step.and_then(|step| step.source),
                ..StepStarted::default()
            }
            .into(),
        );
    }
    if let Some(patch) = patch(before, &content.values) {
        let form = PatchForm::Patch;
        let patch = patch?;
        bodies.push(VariablesPatched { form, patch }.into());
    }
    let mut rest = content.rest.clone();
    if !metadata.is_null() && !checkpoint::is_of_a_mark(metadata) {
        rest.put("metadata", metadata.clone());
    }
    bodies.push(application(EXTRA_EVENT, &rest)?);
    if let Some(step) = number {
        let step = StepFinished { step, ..StepFinished::default() };
        bodies.push(step.into());
    }
    Ok(bodies)
}

/// Returns the event of a write.
pub fn written(checkpoint: &str, write: &Write) -> Converted<Body> {
    let mut fields = Object::default();
    fields.put("checkpoint_id", Json::string(checkpoint));
    fields.put("task_id", Json::string(&write.task));
    let index = Json::from_value(&write.index).map_err(|error| error.to_string())?;
    fields.put("idx", index);
    fields.put("channel", Json::string(&write.channel));
    fields.put("value", write.value.json()?);
    application(WRITE, &fields)
}

fn application(name: &str, fields: &Object) -> Converted<Body> {
    let data = Json::from_value(fields).map_err(|error| error.to_string())?;
    let name = name.to_owned();
    let data = Data::Json(data);
    Ok(Application { name, data }.into())
}
