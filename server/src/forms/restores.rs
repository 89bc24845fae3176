//! Plans of restores.

use milepost::{Result, Scope};
use milepost_forms::files_plan;
use milepost_workspace::Plan;

use super::{ChangesForm, RestorePlanForm};
use crate::view::RestorePlan;

/// Converts a plan of a restore, and its plan of files.
pub(crate) fn planned(
    plan: RestorePlan,
    scope: Scope,
    files: Option<&Plan>,
) -> Result<RestorePlanForm> {
    let ChangesForm { items, more } = plan.changes.into();
    Ok(RestorePlanForm {
        task: plan.to.0.task.clone(),
        scope,
        from: plan.from.into(),
        to: plan.to.into(),
        changes: items,
        more,
        files: files.map(files_plan).transpose()?,
    })
}
