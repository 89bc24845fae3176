//! Tasks and their lineages.

use milepost_codec::Json;
use milepost_forms::{LineageForm, Listed, TaskForm};
use reqwest::Method;
use serde::Serialize;

use crate::client::Client;
use crate::conditions::Conditions;
use crate::error::Result;

/// Which tasks are listed.
#[derive(Debug, Clone, Default)]
pub struct TaskQuery {
    /// Whose: for admins; else one's own.
    pub user: Option<String>,
    /// At most so many: 1 to 100, 20 unless given.
    pub limit: Option<u32>,
    /// Go on from here: the `next` of a page.
    pub cursor: Option<String>,
}

/// A task to be started.
///
/// ```
/// use milepost_client::NewTask;
/// use milepost_client::codec::Json;
///
/// let plain = NewTask::new("essay");
/// let state = Json::from_value(&serde_json::json!({"variables": {"tone": "dry"}}))?;
/// let begun = NewTask::new("essay").user("ana").initial(state);
/// # let _ = (plain, begun);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Serialize)]
pub struct NewTask {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial: Option<Json>,
    #[serde(skip)]
    conditions: Conditions,
}

impl NewTask {
    /// Of this id, 1 to 200 bytes.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), user: None, initial: None, conditions: Conditions::default() }
    }

    /// Under an idempotency key, 1 to 256 visible characters of ASCII: with the same key it is
    /// started once, also by another process.
    /// Without, the client draws one.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.conditions.key = Some(key.into());
        self
    }

    /// For somebody else: for admins.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// The state that it begins with.
    #[must_use]
    pub fn initial(mut self, state: Json) -> Self {
        self.initial = Some(state);
        self
    }
}

impl From<&str> for NewTask {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<String> for NewTask {
    fn from(id: String) -> Self {
        Self::new(id)
    }
}

impl Client {
    /// Tasks, newest first: a page of them.
    ///
    /// # Errors
    ///
    /// `Forbidden`: another user's, and one is no admin. See [`ErrorKind`](crate::ErrorKind) for
    /// what every request can meet.
    pub async fn tasks(&self, query: TaskQuery) -> Result<Listed<TaskForm>> {
        let ask = self.get(["v1", "tasks"])?;
        let ask = ask.query("user", query.user).query("limit", query.limit);
        ask.query("cursor", query.cursor).read().await
    }

    /// Starts a task. Done once: see [the crate](crate#asking-again).
    ///
    /// # Errors
    ///
    /// `Conflict`: there is one of this id, whosever it is. `Forbidden`: for another user, and one
    /// is no admin.
    pub async fn start_task(&self, task: impl Into<NewTask>) -> Result<TaskForm> {
        let task = task.into();
        let ask = self.post(["v1", "tasks"], &task)?;
        task.conditions.on(ask)?.read().await
    }

    /// What is known of a task.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub async fn task(&self, task: &str) -> Result<TaskForm> {
        self.get(["v1", "tasks", task])?.read().await
    }

    /// Deletes a task, for good.
    ///
    /// # Errors
    ///
    /// `NotFound`. `Unavailable`: a restore of it has not ended.
    pub async fn delete_task(&self, task: &str) -> Result<()> {
        self.ask(Method::DELETE, ["v1", "tasks", task])?.done().await
    }

    /// The lineages of a task, all of them, in the order in which they were opened.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub async fn lineages(&self, task: &str) -> Result<Listed<LineageForm>> {
        self.get(["v1", "tasks", task, "lineages"])?.read().await
    }
}
