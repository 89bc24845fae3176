//! Conversions of restores.

use milepost::{Engine, Result, Task};
use milepost_api::RestoredForm;
use milepost_workspace::{PathBytes, Plan};
use serde_json::Value;

use super::answers::{lineage, task};

/// Converts the current state of a task.
///
/// # Errors
///
/// Errors of a read.
pub fn restored(engine: &Engine, of: &Task) -> Result<RestoredForm> {
    Ok(RestoredForm {
        task: task(of.info()?),
        lineage: lineage(of.lineage().info()?),
        files_lineage: engine.captures().lineage(of)?,
        files: None,
        kept: None,
        recovered: None,
    })
}

/// Adds the changes to files, and the paths of kept files.
///
/// # Errors
///
/// `Invalid`: the plan cannot be represented as JSON.
pub fn with_files(form: RestoredForm, files: &Plan, kept: Vec<PathBytes>) -> Result<RestoredForm> {
    Ok(RestoredForm { files: Some(files_plan(files)?), kept: Some(kept), ..form })
}

/// Converts a plan of files, or the result of a restore of files. `summary` is its sentence.
///
/// # Errors
///
/// `Invalid`: the plan cannot be represented as JSON.
pub fn files_plan(plan: &Plan) -> Result<Value> {
    let mut value = milepost::Json::from_value(plan)?.value()?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("summary".to_owned(), Value::String(plan.summary()));
    }
    Ok(value)
}

/// Converts a plan of files back: the inverse of [`files_plan`].
///
/// # Errors
///
/// `Invalid`: it is not such a plan.
pub fn plan_of_files(value: Value) -> Result<Plan> {
    let plan = serde_json::from_value(value);
    plan.map_err(|error| milepost::Error::invalid(format!("no plan of files: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_files_is_read_as_it_was_written() {
        let text = r#"{"creates":[{"path":"a","kind":"file","bytes":5},
            {"path":"7","kind":"folder"}],"changes":[],"deletes":[],"modes":[],
            "conflicts":[{"path":"bytes","why":"changed","text":"8"}],"notes":[],
            "left_out":[{"path":"9","reason":"large","change":"gone","bytes":7,"text":"6"}],
            "not_covered":[{"path":"/w","text":"1"}],"late":2,"kept":["5"],"done":true,
            "bytes":5,"needs":9007199254740993,"free":0,"uncompared":3}"#;
        let plan: Plan = serde_json::from_str(text).unwrap();
        let form = files_plan(&plan).unwrap();
        assert_eq!(form["needs"], 9_007_199_254_740_993_u64);
        assert_eq!(form["summary"], plan.summary());
        assert_eq!(plan_of_files(form).unwrap(), plan);
        assert!(plan_of_files(Value::Null).is_err());
    }
}
