//! Tasks and their lineages, and tasks as files.

use milepost_api::calls::{self, TaskQuery};
use milepost_api::{ShareAsked, SharePlanForm, SummariesForm, TaskForm, TaskGiven};
use milepost_codec::Json;

use crate::client::Client;
use crate::conditions::Conditions;
use crate::error::Result;
use crate::files::FileBytes;
use crate::request::ApiRequest;

/// Filters and order of a list of summaries.
#[derive(Debug, Clone, Default)]
pub struct SummaryQuery {
    /// The owner, for admins. Default: the caller.
    pub user: Option<String>,
    /// Only tasks whose id begins with this text.
    pub prefix: Option<String>,
    /// Words of the id or the title, and conditions: see [`milepost_api::SummaryFilter`].
    pub q: Option<String>,
    /// The column to sort by, with `-` before it for descending: `-failed`.
    pub sort: Option<String>,
    /// JSON pointers into the last state, without commas.
    pub columns: Vec<String>,
    /// The page size: 1 to 1,000, default 20.
    pub limit: Option<usize>,
    /// The `next` of the previous page.
    pub cursor: Option<String>,
}

impl From<TaskQuery> for SummaryQuery {
    fn from(query: TaskQuery) -> Self {
        let TaskQuery { user, prefix, limit, cursor } = query;
        Self { user, prefix, limit, cursor, ..Self::default() }
    }
}

/// A task to start.
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
#[derive(Debug, Clone)]
pub struct NewTask {
    request: TaskGiven,
    conditions: Conditions,
}

impl NewTask {
    /// Creates a task with an id of 1 to 1024 bytes.
    pub fn new(id: impl Into<String>) -> Self {
        let request = TaskGiven { id: id.into(), user: None, initial: None, copy_of: None };
        Self { request, conditions: Conditions::default() }
    }

    /// Sets an idempotency key, 1 to 256 visible ASCII characters. Requests with the same key start
    /// the task once, also from another process. By default the client generates a key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.conditions.key = Some(key.into());
        self
    }

    /// Sets another user as the owner. For admins.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.request.user = Some(user.into());
        self
    }

    /// Sets the initial state.
    #[must_use]
    pub fn initial(mut self, state: Json) -> Self {
        self.request.initial = Some(state);
        self
    }
}

impl NewTask {
    /// Makes the task a copy of another one: its lineages, events, checkpoints with their aliases,
    /// attached data and pins. It excludes [`NewTask::initial`].
    #[must_use]
    pub fn copy_of(mut self, task: impl Into<String>) -> Self {
        self.request.copy_of = Some(task.into());
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
    /// Returns a page of tasks with what happened in them, newest first, or sorted and searched.
    ///
    /// # Errors
    ///
    /// `Forbidden`: the query names another user, and the caller is not an admin. `Invalid`: a
    /// condition or the column to sort by is not known.
    pub async fn summaries(&self, query: impl Into<SummaryQuery>) -> Result<SummariesForm> {
        let SummaryQuery { user, prefix, q, sort, columns, limit, cursor } = query.into();
        let columns = (!columns.is_empty()).then(|| columns.join(","));
        let request = self.get(["v1", "summaries"])?.query("q", q).query("sort", sort);
        let request = request.query("columns", columns);
        listed(request, TaskQuery { user, prefix, limit, cursor }).read().await
    }

    /// Starts a task. Retries start it once: see [the crate](crate#asking-again).
    ///
    /// # Errors
    ///
    /// `Conflict`: the id is in use, by any user. `Forbidden`: the owner is another user, and the
    /// caller is not an admin.
    pub async fn start_task(&self, task: impl Into<NewTask>) -> Result<TaskForm> {
        let NewTask { request, conditions } = task.into();
        self.call_under(&calls::StartTask::new(request), &conditions).await
    }

    /// Returns the size of a share of a task, and the withheld content.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Invalid`: it does not fit, or a regular expression is
    /// invalid.
    pub async fn share_plan(&self, task: &str, asked: &ShareAsked) -> Result<SharePlanForm> {
        shared(self.get(["v1", "tasks", task, "share", "plan"])?, asked).read().await
    }

    /// Returns a share of a task: the bytes of an HTML file, as a stream.
    ///
    /// # Errors
    ///
    /// As [`Client::share_plan`]. `Transport`, from the stream: the answer broke off.
    pub async fn share(&self, task: &str, asked: &ShareAsked) -> Result<FileBytes> {
        let request = shared(self.get(["v1", "tasks", task, "share"])?, asked);
        self.bytes(request.accept("application/octet-stream")).await
    }
}

fn listed(request: ApiRequest, query: TaskQuery) -> ApiRequest {
    let request = request.query("user", query.user).query("prefix", query.prefix);
    request.query("limit", query.limit).query("cursor", query.cursor)
}

fn shared(mut request: ApiRequest, asked: &ShareAsked) -> ApiRequest {
    request = request.query("redact", Some(asked.redact)).query("max", Some(asked.max));
    for pattern in &asked.withhold {
        request = request.query("withhold", Some(pattern));
    }
    request
}
