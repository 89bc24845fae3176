//! Audit: what was done to which task, for whom, from which control to which. It goes to `tracing`
//! under the target `milepost::audit`, at level info, and nothing is looked up where nobody
//! listens. Payloads are never in it.

use milepost_codec::{Error, LineageId, RunControl, TaskNo};
use tracing::Level;

use super::run_control::{self, RunStatus};
use crate::context;
use crate::handles::engine::Inner;

const TARGET: &str = "milepost::audit";

/// Whether somebody listens.
pub(crate) fn is_heard() -> bool {
    tracing::enabled!(target: TARGET, Level::INFO)
}

/// One thing that was done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AuditEvent<'a> {
    pub(crate) action: &'static str,
    pub(crate) task: TaskNo,
    pub(crate) lineage: LineageId,
    /// The control before; as it is now, where nothing is said.
    pub(crate) before: Option<RunControl>,
    /// Where the caller named somebody; else it is who it is done on behalf of, or the owner.
    pub(crate) user: Option<&'a str>,
    pub(crate) correlation: Option<&'a str>,
}

impl AuditEvent<'_> {
    pub(crate) fn of(action: &'static str, task: TaskNo, lineage: LineageId) -> Self {
        Self { action, task, lineage, before: None, user: None, correlation: None }
    }

    /// Tells it, where somebody listens.
    pub(crate) fn tell(&self, inner: &Inner) {
        if !is_heard() {
            return;
        }
        let (task, user, now, phase) = self.known(inner);
        let before = self.before.map_or(now, RunControl::name);
        tracing::info!(
            target: TARGET,
            correlation_id = self.correlation(),
            user_id = user,
            task_id = task,
            action = self.action,
            prev_state = before,
            new_state = now,
            iteration_state = phase,
            timestamp = inner.now_us(),
        );
    }

    /// Tells that it could not be done.
    pub(crate) fn tell_failed(&self, inner: &Inner, error: &Error) {
        if !tracing::enabled!(target: TARGET, Level::ERROR) {
            return;
        }
        let (task, user, now, phase) = self.known(inner);
        tracing::error!(
            target: TARGET,
            correlation_id = self.correlation(),
            user_id = user,
            task_id = task,
            action = self.action,
            prev_state = now,
            new_state = now,
            iteration_state = phase,
            timestamp = inner.now_us(),
            error = %error,
        );
    }

    fn correlation(&self) -> String {
        let given = self.correlation.map(str::to_owned);
        given.or_else(context::correlation).unwrap_or_default()
    }

    /// Task, user, control and phase. What cannot be read is left empty: an audit fails nothing.
    fn known(&self, inner: &Inner) -> (String, String, &'static str, String) {
        let entry = inner.catalog.task(self.task).ok();
        let (task, owner) = entry.map_or_else(Default::default, |entry| (entry.name, entry.user));
        let user = self.user.map(str::to_owned).or_else(context::user);
        let user = user.unwrap_or(owner);
        let standing = run_control::standing(inner, self.task, self.lineage).unwrap_or_default();
        let RunStatus { control, phase } = standing;
        (task, user, control.name(), phase.unwrap_or_default())
    }
}
