//! Of restores.

use milepost::{Result, Task};
use milepost_workspace::{PathBytes, Plan};
use serde_json::Value;

use crate::RestoredForm;

impl RestoredForm {
    /// Of the task as it is now.
    ///
    /// # Errors
    ///
    /// As of a read.
    pub fn of(task: &Task) -> Result<Self> {
        Ok(Self {
            task: task.info()?.into(),
            lineage: task.lineage().info()?.into(),
            files: None,
            kept: None,
        })
    }

    /// With what was done to files.
    ///
    /// # Errors
    ///
    /// `Invalid` where the plan has no form.
    pub fn with(self, files: &Plan, kept: Vec<PathBytes>) -> Result<Self> {
        Ok(Self { files: Some(files_plan(files)?), kept: Some(kept), ..self })
    }
}

/// A plan of files. All numbers in it count bytes: they are strings.
///
/// # Errors
///
/// `Invalid` where it has no form.
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
