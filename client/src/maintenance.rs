//! Maintenance of the store: verification, retention, statistics and health.

use std::time::Duration;

use milepost_api::{Big, RetentionAsked, RetentionForm, VerifyAsked, VerifyForm, calls};
use milepost_codec::{CheckpointId, Json};

use crate::client::Client;
use crate::error::Result;
use crate::retry::RetryRule;

/// A retention policy: the checkpoints to keep, and the tasks concerned. Pinned checkpoints are
/// always kept.
///
/// ```
/// use std::time::Duration;
/// use milepost_client::Retention;
///
/// let policy = Retention::new().keep(5).younger_than(Duration::from_secs(86_400)).user("ana");
/// # let _ = policy;
/// ```
#[derive(Debug, Clone, Default)]
pub struct Retention(RetentionAsked);

impl From<RetentionAsked> for Retention {
    fn from(request: RetentionAsked) -> Self {
        Self(request)
    }
}

impl Retention {
    /// Creates a policy for all tasks. It needs one of [`Retention::keep`],
    /// [`Retention::younger_than`], [`Retention::remove`] and [`Retention::trim_before`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the newest checkpoints of each task, this many: 0 to 1,000,000.
    #[must_use]
    pub fn keep(mut self, count: usize) -> Self {
        self.0.keep_count = Some(count);
        self
    }

    /// Keeps checkpoints younger than this, in whole seconds, in addition to those of
    /// [`Retention::keep`].
    #[must_use]
    pub fn younger_than(mut self, age: Duration) -> Self {
        self.0.younger_than_seconds = Some(Big(age.as_secs()));
        self
    }

    /// Removes these checkpoints of a task and no others, but for those of [`Retention::keep`] and
    /// [`Retention::younger_than`]. At most 100,000. One that the task does not have is ignored.
    #[must_use]
    pub fn remove(
        mut self,
        task: impl Into<String>,
        checkpoints: impl IntoIterator<Item = CheckpointId>,
    ) -> Self {
        self.0.remove = Some(checkpoints.into_iter().collect());
        self.task(task)
    }

    /// Keeps the checkpoints in the history of a point from it on, and those on other lineages, and
    /// removes events before the point that none of them needs. The point is an address, as in
    /// `essay@12`.
    #[must_use]
    pub fn trim_before(mut self, address: impl Into<String>) -> Self {
        self.0.trim_before = Some(address.into());
        self
    }

    /// Keeps the data to undo this many of the last restores. Default: 3.
    #[must_use]
    pub fn undo(mut self, restores: u32) -> Self {
        self.0.undo = Some(restores);
        self
    }

    /// Removes marks only, and keeps all events.
    #[must_use]
    pub fn marks_only(mut self) -> Self {
        self.0.marks_only = true;
        self
    }

    /// Exports the tasks that change to the store's `backups/` first. If that fails, nothing is
    /// removed. [`RetentionForm::backup`] names the file.
    #[must_use]
    pub fn backup(mut self) -> Self {
        self.0.backup = true;
        self
    }

    /// Also removes lineages that no kept checkpoint and no undo needs. They are kept by default.
    #[must_use]
    pub fn drop_lineages(mut self) -> Self {
        self.0.drop_lineages = true;
        self
    }

    /// Limits the policy to the tasks of one user. It excludes [`Retention::task`].
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.0.user = Some(user.into());
        self
    }

    /// Limits the policy to one task.
    #[must_use]
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.0.task = Some(task.into());
        self
    }
}

/// The scope of a verification: the whole store, or one task.
#[derive(Debug, Clone, Default)]
pub struct Verify(VerifyAsked);

impl Verify {
    /// Creates a verification of the whole store: every hash, and both copies of every event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the verification to one task.
    #[must_use]
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.0.task = Some(task.into());
        self
    }

    /// Also folds every lineage from its beginning and compares the result with the snapshots.
    #[must_use]
    pub fn states(mut self, states: bool) -> Self {
        self.0.states = states;
        self
    }

    /// Also acknowledges the repairs in the answer: later verifications do not count them.
    #[must_use]
    pub fn acknowledge(mut self, acknowledge: bool) -> Self {
        self.0.acknowledge = acknowledge;
        self
    }

    /// Also compares the whole store with an earlier result of
    /// [`Anchor`](milepost_api::calls::Anchor).
    #[must_use]
    pub fn anchor(mut self, anchor: Json) -> Self {
        self.0.anchor = Some(anchor);
        self
    }
}

impl Client {
    /// Verifies the store or one task: every hash, and both copies of every event. For admins. A
    /// timeout is not retried. The result lists the faults.
    ///
    /// # Errors
    ///
    /// `Forbidden`: the caller is not an admin. `NotFound`: no such task. `Timeout`: the
    /// verification takes longer than a request may.
    pub async fn verify(&self, verify: &Verify) -> Result<VerifyForm> {
        self.call(&calls::Verify::new(verify.0.clone())).await
    }

    /// Returns the effects of a cleanup without changing anything. For admins.
    ///
    /// # Errors
    ///
    /// `Forbidden`: the caller is not an admin. `NotFound`: no such task. `Invalid`: the policy
    /// names a user and a task.
    pub async fn plan_retention(&self, policy: &Retention) -> Result<RetentionForm> {
        self.call(&calls::PlanRetention::new(policy.0.clone())).await
    }

    /// Removes old checkpoints and the events that become unneeded. For admins. A task that fails
    /// reports its error and does not stop the others.
    ///
    /// # Errors
    ///
    /// As [`Client::plan_retention`]. `Timeout`: the cleanup continues in the service.
    pub async fn retain(&self, policy: &Retention) -> Result<RetentionForm> {
        self.call(&calls::Retain::new(policy.0.clone())).await
    }

    /// Checks that the service answers, without retries.
    ///
    /// # Errors
    ///
    /// Any error: the service does not answer.
    pub async fn health(&self) -> Result<()> {
        self.get(["healthz"])?.retry(RetryRule::Never).finish().await
    }

    /// Checks that the store accepts appends, without retries.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the store does not accept appends; [`Error::detail`] has the reason.
    pub async fn ready(&self) -> Result<()> {
        self.get(["readyz"])?.retry(RetryRule::Never).finish().await
    }
}
