//! Verification and retention, for admins.

use milepost::integrity::Anchor as EngineAnchor;
use milepost::retention::RetentionPlan;
use milepost::{Engine, Error, ErrorKind, Json, Result};
use milepost_api::calls::{Anchor, PlanRetention, Retain, Verify};
use milepost_api::{RetentionForm, VerifyForm};
use milepost_formats::backup;

use crate::error::OperationResult;
use crate::forms;
use crate::serve::Serve;
use crate::view::View;

/// Error for callers who are no admins.
const RETENTION: &str = "retention is for admins";

impl Serve for Anchor {
    fn serve(self, view: &View<'_>) -> OperationResult<Json> {
        let engine = view.whole("anchors are for admins")?;
        Ok(Json::new(engine.integrity().anchor()?.to_json())?)
    }
}

/// Damage is no error, but in the answer.
impl Serve for Verify {
    fn serve(self, view: &View<'_>) -> OperationResult<VerifyForm> {
        let engine = view.whole("verification is for admins")?;
        let (task, anchor) = (self.body.task.as_deref(), self.body.anchor.as_ref());
        let anchor = anchor.map(|anchor| anchor.text().parse::<EngineAnchor>());
        // An invalid anchor is the caller's error, not damage of the store.
        let anchor = anchor.transpose().map_err(|error| Error::invalid(error.to_string()))?;
        if task.is_some() && anchor.is_some() {
            return Err(Error::invalid("an anchor is of the whole store, not of a task").into());
        }
        let integrity = engine.integrity();
        let mut report = integrity.verify(task, &mut |done, all| view.progress(done, all))?;
        if let Some(anchor) = &anchor {
            report.faults.extend(integrity.verify_anchor(anchor)?);
        }
        if self.body.states {
            report.faults.extend(integrity.verify_states(task)?);
        }
        if task.is_none() {
            integrity.note_verified(&report);
        }
        if self.body.acknowledge && !report.repairs.is_empty() {
            integrity.acknowledge_repairs()?;
            let all = integrity.repairs()?;
            let before = all.len().saturating_sub(report.repairs.len());
            report.repairs = all.into_iter().skip(before).collect();
        }
        Ok(forms::verification(report))
    }
}

impl Serve for PlanRetention {
    fn serve(self, view: &View<'_>) -> OperationResult<RetentionForm> {
        let engine = view.whole(RETENTION)?;
        let plan = engine.retention().plan(&forms::policy(self.body, engine)?)?;
        // Unreadable captures do not block the rest of the plan.
        let captures = engine.retention().plan_captures(&plan);
        Ok(forms::planned_cleanup(plan, captures))
    }
}

impl Serve for Retain {
    fn serve(self, view: &View<'_>) -> OperationResult<RetentionForm> {
        let engine = view.whole(RETENTION)?;
        let is_backed_up = self.body.backup;
        let plan = engine.retention().plan(&forms::policy(self.body, engine)?)?;
        let backup = if is_backed_up { back_up(engine, &plan)? } else { None };
        let report = engine.retention().apply(&plan, &mut |done, all| view.progress(done, all))?;
        Ok(forms::done_cleanup(plan, report, backup))
    }
}

/// Exports the tasks that a cleanup changes to the store's folder. Returns the path of the file;
/// `None` if the plan removes nothing.
///
/// # Errors
///
/// `Unavailable`: the export failed.
pub fn back_up(engine: &Engine, plan: &RetentionPlan) -> Result<Option<String>> {
    let made = backup(engine, plan).map_err(|error| {
        let text = format!("nothing was removed, since the backup failed: {error}");
        Error::new(ErrorKind::Unavailable, text)
    })?;
    Ok(made.map(|file| file.display().to_string()))
}
