//! The store: verification, retention, what it holds, and whether it answers.

use std::time::Duration;

use milepost_codec::Json;
use milepost_forms::{Big, RetentionForm, StatsForm, StoreForm, UserForm, VerifyForm};
use serde::Serialize;

use crate::client::Client;
use crate::error::{Error, Result};
use crate::retry::RetryRule;

/// Which checkpoints are kept, of which tasks; those that are pinned are.
///
/// ```
/// use std::time::Duration;
/// use milepost_client::Retention;
///
/// let policy = Retention::new().keep(5).younger_than(Duration::from_secs(86_400)).user("ana");
/// # let _ = policy;
/// ```
#[derive(Debug, Clone, Default, Serialize)]
pub struct Retention {
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    younger_than_seconds: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<u32>,
    marks_only: bool,
    drop_lineages: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
}

impl Retention {
    /// A policy for all tasks. [`Retention::keep`] or [`Retention::younger_than`] has to say what
    /// is kept.
    pub fn new() -> Self {
        Self::default()
    }

    /// The newest so many of each task: 0 to 1,000,000.
    #[must_use]
    pub fn keep(mut self, count: u32) -> Self {
        self.keep_count = Some(count);
        self
    }

    /// Those that are younger, in whole seconds; beside those that [`Retention::keep`] names, if it
    /// does.
    #[must_use]
    pub fn younger_than(mut self, age: Duration) -> Self {
        self.younger_than_seconds = Some(Big(age.as_secs()));
        self
    }

    /// What it takes to undo so many of the last restores. 3 unless given.
    #[must_use]
    pub fn undo(mut self, restores: u32) -> Self {
        self.undo = Some(restores);
        self
    }

    /// Marks go, and all events stay.
    #[must_use]
    pub fn marks_only(mut self) -> Self {
        self.marks_only = true;
        self
    }

    /// Lineages that no kept checkpoint and no undo needs go, too. They stay unless this is given.
    #[must_use]
    pub fn drop_lineages(mut self) -> Self {
        self.drop_lineages = true;
        self
    }

    /// Only the tasks of this user. A user or a task, not both.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Only this task.
    #[must_use]
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.task = Some(task.into());
        self
    }
}

/// Whose numbers are asked for.
#[derive(Debug, Clone, Default)]
pub struct StatsQuery {
    /// Of this user's tasks: for admins, who have to name one; else of one's own.
    pub user: Option<String>,
    /// At most so many tasks: 1 to 1,000, 1,000 unless given.
    pub limit: Option<u32>,
    /// Go on from here: the `next` of a page.
    pub cursor: Option<String>,
}

/// What is verified: the whole store, unless a task is named.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Verify {
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    states: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor: Option<Json>,
}

impl Verify {
    /// Every hash, and both copies of every event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Of one task.
    #[must_use]
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.task = Some(task.into());
        self
    }

    /// Every lineage is folded from its beginning, too, and compared with the snapshots.
    #[must_use]
    pub fn states(mut self, states: bool) -> Self {
        self.states = states;
        self
    }

    /// The whole store is compared with what [`Client::anchor`] gave earlier, too.
    #[must_use]
    pub fn anchor(mut self, anchor: Json) -> Self {
        self.anchor = Some(anchor);
        self
    }
}

/// What stands in the errors about numbers that are not those asked for.
const STATS: &str = "GET /v1/stats";

impl Client {
    /// Verifies the store, or one task: every hash, and both copies of every event. For admins. It
    /// is not asked again where it takes longer than a request may.
    ///
    /// # Errors
    ///
    /// `Forbidden`. `NotFound`: there is no such task. `Timeout`. Faults are in what it returns.
    pub async fn verify(&self, verify: &Verify) -> Result<VerifyForm> {
        self.post(["v1", "verify"], verify)?.read().await
    }

    /// The heads of the store, to be kept somewhere else and verified against later. For admins.
    ///
    /// # Errors
    ///
    /// `Forbidden`.
    pub async fn anchor(&self) -> Result<Json> {
        self.get(["v1", "anchor"])?.read().await
    }

    /// What a cleanup would let go of. Nothing is changed. For admins.
    ///
    /// # Errors
    ///
    /// `Forbidden`. `NotFound`: there is no such task. `Invalid`: it names a user and a task.
    pub async fn plan_retention(&self, policy: &Retention) -> Result<RetentionForm> {
        let ask = self.post(["v1", "retention", "plan"], policy)?;
        ask.again(RetryRule::Always).read().await
    }

    /// Lets go of old checkpoints, and of events that nothing needs. For admins. Where a task
    /// fails, the others go on: each says so.
    ///
    /// # Errors
    ///
    /// As [`Client::plan_retention`]. `Timeout`: it goes on.
    pub async fn retain(&self, policy: &Retention) -> Result<RetentionForm> {
        self.post(["v1", "retention"], policy)?.read().await
    }

    /// Numbers of the store for an admin who names no user; else of a user's tasks.
    ///
    /// # Errors
    ///
    /// `Forbidden`: another user's, and one is no admin. `Invalid`: pages of the store.
    pub async fn stats(&self, query: StatsQuery) -> Result<StatsForm> {
        let ask = self.get(["v1", "stats"])?;
        let ask = ask.query("user", query.user).query("limit", query.limit);
        ask.query("cursor", query.cursor).read().await
    }

    /// What the store holds. For admins.
    ///
    /// # Errors
    ///
    /// `Invalid`: one is no admin, who alone gets them.
    pub async fn store_stats(&self) -> Result<StoreForm> {
        match self.stats(StatsQuery::default()).await? {
            StatsForm::Store(store) => Ok(store),
            StatsForm::User(_) => {
                let text = "the numbers of the store are for admins: `user_stats` has one's own";
                Err(Error::invalid(STATS, text))
            }
        }
    }

    /// What the tasks of a user hold.
    ///
    /// # Errors
    ///
    /// `Forbidden`: another user's, and one is no admin. `Invalid`: an admin named none.
    pub async fn user_stats(&self, query: StatsQuery) -> Result<UserForm> {
        match self.stats(query).await? {
            StatsForm::User(user) => Ok(user),
            StatsForm::Store(_) => {
                let text = "an admin says whose numbers: name a user, or ask for `store_stats`";
                Err(Error::invalid(STATS, text))
            }
        }
    }

    /// Whether the service answers. It is asked once.
    ///
    /// # Errors
    ///
    /// It does not.
    pub async fn health(&self) -> Result<()> {
        self.get(["healthz"])?.again(RetryRule::Never).done().await
    }

    /// Whether the store takes appends. It is asked once.
    ///
    /// # Errors
    ///
    /// `Unavailable`: it does not, and [`Error::detail`] says why.
    pub async fn ready(&self) -> Result<()> {
        self.get(["readyz"])?.again(RetryRule::Never).done().await
    }
}
