//! Shares: tasks as HTML files.

use milepost_api::{ShareAsked, SharePlanForm};

use crate::client::Client;
use crate::error::Result;
use crate::files::FileBytes;
use crate::request::ApiRequest;

impl Client {
    /// Returns the size of a share of a task, and what it withholds.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such task. `Invalid`: it does not fit, or a regular expression is
    /// none.
    pub async fn share_plan(&self, task: &str, asked: &ShareAsked) -> Result<SharePlanForm> {
        with(self.get(["v1", "tasks", task, "share", "plan"])?, asked).read().await
    }

    /// Returns a share of a task: the bytes of an HTML file, as a stream.
    ///
    /// # Errors
    ///
    /// As [`Client::share_plan`]. `Transport`, from the stream: the answer broke off.
    pub async fn share(&self, task: &str, asked: &ShareAsked) -> Result<FileBytes> {
        let request = with(self.get(["v1", "tasks", task, "share"])?, asked);
        self.bytes(request.accept("application/octet-stream")).await
    }
}

fn with(mut request: ApiRequest, asked: &ShareAsked) -> ApiRequest {
    request = request.query("redact", Some(asked.redact)).query("max", Some(asked.max));
    for pattern in &asked.withhold {
        request = request.query("withhold", Some(pattern));
    }
    request
}
