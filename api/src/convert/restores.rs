//! Conversions of restores.

use milepost::{Result, Task};
use milepost_workspace::{PathBytes, Plan};
use serde_json::Value;

use crate::RestoredForm;

impl RestoredForm {
    /// Converts the current state of a task.
    ///
    /// # Errors
    ///
    /// Those of a read.
    pub fn of(task: &Task) -> Result<Self> {
        Ok(Self {
            task: task.info()?.into(),
            lineage: task.lineage().info()?.into(),
            files: None,
            kept: None,
        })
    }

    /// Adds the changes to files, and the paths of kept files.
    ///
    /// # Errors
    ///
    /// `Invalid`: the plan cannot be represented as JSON.
    pub fn with(self, files: &Plan, kept: Vec<PathBytes>) -> Result<Self> {
        Ok(Self { files: Some(files_plan(files)?), kept: Some(kept), ..self })
    }
}

/// Converts a plan of files. All its numbers are byte counts, written as strings.
///
/// # Errors
///
/// `Invalid`: the plan cannot be represented as JSON.
pub fn files_plan(plan: &Plan) -> Result<Value> {
    fn spell(value: &mut Value) {
        match value {
            Value::Number(number) => *value = Value::String(number.to_string()),
            Value::Array(items) => items.iter_mut().for_each(spell),
            Value::Object(fields) => fields.values_mut().for_each(spell),
            _ => {}
        }
    }
    let mut value = milepost::Json::from_value(plan)?.value()?;
    spell(&mut value);
    Ok(value)
}
