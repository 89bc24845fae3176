//! Restores.

use milepost::{CheckpointId, Hash, LineageId, Point, Result, Scope, Task};
use milepost_workspace::{PathBytes, Plan};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::changes::ChangesForm;
use super::{Big, ChangeForm, LineageForm, TaskForm};
use crate::view::RestorePlan;

/// A task that went back, or on again.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RestoredForm {
    task: TaskForm,
    /// The lineage that it goes on with.
    lineage: LineageForm,
    /// What was done to the files, as the plan says it; where files went back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    files: Option<Value>,
    /// What was written to meanwhile: it was kept, at these places in the folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    kept: Option<Vec<PathBytes>>,
}

impl RestoredForm {
    pub(crate) fn of(task: &Task) -> Result<Self> {
        Ok(Self {
            task: task.info()?.into(),
            lineage: task.lineage().info()?.into(),
            files: None,
            kept: None,
        })
    }

    /// With what was done to files.
    pub(crate) fn with(self, files: &Plan, kept: Vec<PathBytes>) -> Result<Self> {
        Ok(Self {
            files: Some(shown(files)?),
            kept: Some(kept),
            ..self
        })
    }
}

/// A plan of files. All numbers in it count bytes: they are strings.
fn shown(plan: &Plan) -> Result<Value> {
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

/// What a restore would do.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RestorePlanForm {
    task: String,
    #[schema(value_type = String)]
    scope: Scope,
    /// Where the task stands now.
    from: PlaceForm,
    /// Where it would go on.
    to: PlaceForm,
    /// How its state would change, at most 1,000; fewer where they have more than 16 MiB.
    changes: Vec<ChangeForm>,
    /// Whether there are more.
    more: bool,
    /// What it would do to the files, and what stands in the way; where files would go back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    files: Option<Value>,
}

/// A point.
#[derive(Debug, Serialize, ToSchema)]
struct PlaceForm {
    #[schema(value_type = u32)]
    lineage: LineageId,
    offset: Big,
    /// The chain hash there, 64 hexadecimal digits.
    #[schema(value_type = String)]
    hash: Hash,
    /// The checkpoint that it was named by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    checkpoint: Option<CheckpointId>,
}

impl RestorePlanForm {
    pub(crate) fn of(plan: RestorePlan, scope: Scope, files: Option<&Plan>) -> Result<Self> {
        let ChangesForm { items, more } = plan.changes.into();
        Ok(Self {
            task: plan.to.0.task.clone(),
            scope,
            from: place(plan.from),
            to: place(plan.to),
            changes: items,
            more,
            files: files.map(shown).transpose()?,
        })
    }
}

fn place((point, hash): (Point, Hash)) -> PlaceForm {
    PlaceForm {
        lineage: point.lineage,
        offset: Big(point.offset),
        hash,
        checkpoint: point.checkpoint,
    }
}
