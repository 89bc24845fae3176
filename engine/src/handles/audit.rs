//! Audit log: each operation with its task, user, and phase and run control before and after. It
//! goes to `tracing` under the target `milepost::audit`, at level info, and failures at level
//! error. Nothing is looked up without a subscriber. Payloads are never included.

use milepost_codec::{CheckpointId, Error, LineageId, MarkCause, RunControl, TaskNo};
use tracing::Level;

use super::run_control::{self, RunStatus};
use crate::handles::view::View;

const TARGET: &str = "milepost::audit";

/// Returns `true` if a subscriber wants the audit log.
pub(crate) fn is_heard() -> bool {
    tracing::enabled!(target: TARGET, Level::INFO)
}

/// Values at the end of an operation.
struct Known {
    task: String,
    user: String,
    control: &'static str,
    phase: String,
    iteration: u64,
}

/// An operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AuditEvent<'a> {
    pub(crate) action: &'static str,
    pub(crate) task: TaskNo,
    pub(crate) lineage: LineageId,
    /// The control before the operation; `None` if it did not change.
    pub(crate) before: Option<RunControl>,
    /// The phase before the operation; `None` if it did not change.
    pub(crate) phase_before: Option<&'a str>,
    /// The checkpoint that was marked.
    pub(crate) checkpoint: Option<(CheckpointId, MarkCause)>,
    /// The number of checkpoints that a policy keeps, and of those that were removed.
    pub(crate) removed: Option<(Option<u64>, u64)>,
    /// The user named by the caller. Default: the user of the handle's context, or the owner.
    pub(crate) user: Option<&'a str>,
    pub(crate) correlation: Option<&'a str>,
}

impl AuditEvent<'_> {
    pub(crate) fn of(action: &'static str, task: TaskNo, lineage: LineageId) -> Self {
        Self {
            action,
            task,
            lineage,
            before: None,
            phase_before: None,
            checkpoint: None,
            removed: None,
            user: None,
            correlation: None,
        }
    }

    /// Logs the operation, if a subscriber wants it.
    pub(crate) fn tell(&self, view: &View) {
        if !is_heard() {
            return;
        }
        let Known { task, user, control, phase, iteration } = self.known(view);
        tracing::info!(
            target: TARGET,
            correlation_id = self.correlation(view),
            user_id = user,
            task_id = task,
            action = self.action,
            prev_state = self.phase_before.unwrap_or(&phase),
            new_state = phase,
            prev_control = self.before.map_or(control, RunControl::name),
            new_control = control,
            iteration_state = phase,
            iteration,
            checkpoint_id = self.checkpoint.map(|(id, _)| id.to_string()),
            cause = self.checkpoint.map(|(_, cause)| cause.name()),
            keep_count = self.removed.and_then(|(keep, _)| keep),
            deleted_count = self.removed.map(|(_, removed)| removed),
            time_us = view.inner.now_us(),
        );
    }

    /// Logs that the operation failed.
    pub(crate) fn tell_failed(&self, view: &View, error: &Error) {
        if !tracing::enabled!(target: TARGET, Level::ERROR) {
            return;
        }
        let Known { task, user, control, phase, iteration } = self.known(view);
        tracing::error!(
            target: TARGET,
            correlation_id = self.correlation(view),
            user_id = user,
            task_id = task,
            action = self.action,
            prev_state = phase,
            new_state = phase,
            prev_control = control,
            new_control = control,
            iteration_state = phase,
            iteration,
            time_us = view.inner.now_us(),
            error = %error,
        );
    }

    fn correlation<'a>(&'a self, view: &'a View) -> &'a str {
        self.correlation.or(view.context().correlation.as_deref()).unwrap_or("")
    }

    /// Returns the values at the end of the operation. Unreadable ones are left empty, so that an
    /// audit cannot fail.
    fn known(&self, view: &View) -> Known {
        let inner = &view.inner;
        let entry = inner.catalog.task(self.task).ok();
        let (task, owner) = entry.map_or_else(Default::default, |entry| (entry.name, entry.user));
        let user = self.user.or(view.context().user.as_deref());
        let user = user.map_or(owner, str::to_owned);
        let status = run_control::status(inner, self.task, self.lineage);
        let (control, phase, iteration) = match status {
            Ok(RunStatus { control, phase, iteration, .. }) => (control.name(), phase, iteration),
            Err(_) => ("", None, 0),
        };
        Known { task, user, control, phase: or_empty(phase), iteration }
    }
}

/// Returns an empty text for none: an audit has every field.
fn or_empty(text: Option<String>) -> String {
    text.map_or(String::new(), |text| text)
}
