//! Conversions of restores.

use milepost::{Engine, Result, Task};
use milepost_api::{Big, RestoredForm};
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

/// Converts a plan of files, or the result of a restore of files. Numbers are written as a
/// [`milepost_api::Big`] is. `summary` is its sentence.
///
/// # Errors
///
/// `Invalid`: the plan cannot be represented as JSON.
pub fn files_plan(plan: &Plan) -> Result<Value> {
    fn spell(value: &mut Value) {
        match value {
            Value::Number(number) if number.as_u64().is_some_and(|number| number > Big::EXACT) => {
                *value = Value::String(number.to_string());
            }
            Value::Array(items) => items.iter_mut().for_each(spell),
            Value::Object(fields) => fields.values_mut().for_each(spell),
            _ => {}
        }
    }
    let mut value = milepost::Json::from_value(plan)?.value()?;
    spell(&mut value);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("summary".to_owned(), Value::String(plan.summary()));
    }
    Ok(value)
}

/// Names of the numbers in a plan.
const NUMBERS: [&str; 5] = ["bytes", "needs", "free", "uncompared", "late"];

/// Converts a plan of files back: the inverse of [`files_plan`].
///
/// # Errors
///
/// `Invalid`: it is not such a plan.
pub fn plan_of_files(mut value: Value) -> Result<Plan> {
    fn count(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(count),
            Value::Object(fields) => {
                for (name, field) in fields {
                    let text = field.as_str().filter(|_| NUMBERS.contains(&name.as_str()));
                    match text.and_then(|text| text.parse::<u64>().ok()) {
                        Some(number) => *field = number.into(),
                        None => count(field),
                    }
                }
            }
            _ => {}
        }
    }
    count(&mut value);
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
        assert_eq!((&form["needs"], &form["late"]), (&"9007199254740993".into(), &2.into()));
        assert_eq!(form["summary"], plan.summary());
        assert_eq!(plan_of_files(form).unwrap(), plan);
        assert!(plan_of_files(Value::Null).is_err());
    }
}
