//! Conversions of cleanups.

use milepost::retention::{CapturesPlan, RetentionPlan, RetentionReport, TaskPlan, TaskRetained};
use milepost::{Detail, LineageId, Offset, Result};
use milepost_api::{Big, CapturesForm, RetainedForm, RetainedTotal, RetentionForm, TrimmedForm};

/// Converts a plan: what a cleanup would remove. The plan of captures may have failed.
pub fn planned_cleanup(plan: RetentionPlan, captures: Result<CapturesPlan>) -> RetentionForm {
    let tasks: Vec<_> = plan.tasks.into_iter().map(planned).collect();
    let (captures, captures_error) = match captures {
        Ok(captures) => (Some(captures), None),
        Err(error) => (None, Some(error.to_string())),
    };
    RetentionForm {
        total: total(&tasks),
        dry_run: true,
        tasks,
        captures: captures.map(|captures| CapturesForm {
            captures: Big(captures.captures),
            chunks: Big(captures.chunks),
            bytes: Big(captures.bytes),
        }),
        captures_error,
        backup: None,
    }
}

/// Converts a report: the removals that a cleanup made.
pub fn done_cleanup(
    plan: RetentionPlan,
    report: RetentionReport,
    backup: Option<String>,
) -> RetentionForm {
    let tasks = plan.tasks.into_iter().zip(report.tasks);
    let tasks = tasks.map(|(plan, report)| done(plan, report));
    let tasks: Vec<_> = tasks.collect();
    RetentionForm {
        total: total(&tasks),
        dry_run: false,
        tasks,
        captures: None,
        captures_error: None,
        backup,
    }
}

fn planned(plan: TaskPlan) -> RetainedForm {
    let known = plan.error.is_none();
    let go = plan.removed.len() as u64;
    RetainedForm {
        id: plan.task,
        user: plan.user,
        checkpoints: Big(plan.checkpoints),
        go: Big(go),
        stay: Big(plan.checkpoints.saturating_sub(go)),
        pinned: Big(plan.pinned),
        removed: known.then_some(plan.removed),
        trimmed: trimmed(plan.trimmed),
        dropped: plan.dropped,
        events: known.then_some(Big(plan.events)),
        bytes: known.then_some(Big(plan.bytes)),
        error: plan.error,
        held_up: false,
    }
}

fn done(plan: TaskPlan, done: TaskRetained) -> RetainedForm {
    // The figures of the plan equal those of the cleanup only if all of it was done.
    let is_same = |a: &[_], b: &[_]| a.len() == b.len() && a.iter().all(|one| b.contains(one));
    let whole = done.error.is_none()
        && done.removed == plan.removed.len() as u64
        && is_same(&done.trimmed, &plan.trimmed)
        && done.dropped.len() == plan.dropped.len();
    let planned = planned(plan);
    let all = |removed: &Vec<_>| removed.len() as u64 == done.removed;
    RetainedForm {
        removed: planned.removed.filter(all),
        go: Big(done.removed),
        stay: Big(planned.checkpoints.0.saturating_sub(done.removed)),
        trimmed: trimmed(done.trimmed),
        dropped: done.dropped,
        events: planned.events.filter(|_| whole),
        bytes: planned.bytes.filter(|_| whole),
        held_up: matches!(
            done.error.as_ref().and_then(|error| error.detail()),
            Some(Detail::Pending { .. })
        ),
        error: done.error.map(|error| error.to_string()),
        ..planned
    }
}

fn trimmed(trimmed: Vec<(LineageId, Offset)>) -> Vec<TrimmedForm> {
    let form = |(lineage, offset)| TrimmedForm { lineage, offset: Big(offset) };
    trimmed.into_iter().map(form).collect()
}

fn total(tasks: &[RetainedForm]) -> RetainedTotal {
    let sum = |of: fn(&RetainedForm) -> u64| Big(tasks.iter().map(of).sum());
    RetainedTotal {
        tasks: Big(tasks.len() as u64),
        concerned: sum(|task| u64::from(task.is_concerned())),
        go: sum(|task| task.go.0),
        stay: sum(|task| task.stay.0),
        pinned: sum(|task| task.pinned.0),
        events: sum(|task| task.events.map_or(0, |events| events.0)),
        bytes: sum(|task| task.bytes.map_or(0, |bytes| bytes.0)),
    }
}
