//! Summaries of tasks, and tasks as files.

use milepost_api::calls::TaskQuery;
use milepost_api::{SharePlanForm, ShareRequest, SummariesForm};

use crate::client::Client;
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

    /// Returns the size of a share of a task, and the withheld content.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Invalid`: it does not fit, or a regular expression is
    /// invalid.
    pub async fn share_plan(&self, task: &str, asked: &ShareRequest) -> Result<SharePlanForm> {
        shared(self.get(["v1", "tasks", task, "share", "plan"])?, asked).read().await
    }

    /// Returns a share of a task: the bytes of an HTML file, as a stream.
    ///
    /// # Errors
    ///
    /// As [`Client::share_plan`]. `Transport`, from the stream: the answer broke off.
    pub async fn share(&self, task: &str, asked: &ShareRequest) -> Result<FileBytes> {
        let request = shared(self.get(["v1", "tasks", task, "share"])?, asked);
        self.bytes(request.accept("application/octet-stream")).await
    }

    /// Returns an export of a task: lines of JSON from which another store imports the task, as a
    /// stream. `files` includes the captured files.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Invalid`: it can be exported with its files only.
    /// `Transport`, from the stream: the answer broke off.
    pub async fn export(&self, task: &str, files: bool) -> Result<FileBytes> {
        self.exported(task, "files", files).await
    }

    /// Returns an export of a task as [`Client::export`] does, with each text that resembles a
    /// secret replaced and without files. It is imported as a copy.
    ///
    /// # Errors
    ///
    /// As [`Client::export`]. `Invalid`: the beginning of a lineage was trimmed.
    pub async fn redacted_export(&self, task: &str) -> Result<FileBytes> {
        self.exported(task, "redact", true).await
    }

    async fn exported(&self, task: &str, option: &str, value: bool) -> Result<FileBytes> {
        let request = self.get(["v1", "tasks", task, "export"])?.query(option, Some(value));
        self.bytes(request.accept("application/octet-stream")).await
    }
}

fn listed(request: ApiRequest, query: TaskQuery) -> ApiRequest {
    let request = request.query("user", query.user).query("prefix", query.prefix);
    request.query("limit", query.limit).query("cursor", query.cursor)
}

fn shared(mut request: ApiRequest, asked: &ShareRequest) -> ApiRequest {
    request = request.query("redact", Some(asked.redact)).query("max", Some(asked.max));
    for pattern in &asked.withhold {
        request = request.query("withhold", Some(pattern));
    }
    request
}
