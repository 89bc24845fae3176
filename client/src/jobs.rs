//! Jobs: work that takes long, or that changes a folder of the service's machine.

use std::time::Duration;

use milepost_api::{JobForm, JobRequest, JobState, Listed};
use reqwest::Method;

use crate::client::Client;
use crate::conditions::Conditions;
use crate::error::{Error, Result};
use crate::retry::RetryRule;

impl Client {
    /// Returns the running jobs and those that ended lately, newest first. For admins.
    ///
    /// # Errors
    ///
    /// `Forbidden`: not an admin.
    pub async fn jobs(&self) -> Result<Listed<JobForm>> {
        self.request(Method::GET, ["v1", "jobs"])?.retry(RetryRule::Always).read().await
    }

    /// Starts a job, and returns at once. For admins; jobs with a folder are for programs at the
    /// store's own socket.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use milepost_client::Client;
    /// use milepost_client::api::{CompactRequest, JobRequest};
    ///
    /// # async fn compact(client: &Client) -> milepost_client::Result<()> {
    /// let mut job = client.start_job(&JobRequest::Compact(CompactRequest::default())).await?;
    /// while job.ended.is_none() {
    ///     job = client.job(&job.id, Duration::from_secs(10)).await?;
    /// }
    /// println!("{:?}", client.finished(job)?.result);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Forbidden`: not an admin, or not at the store's socket. `TooMany`: too many jobs are
    /// running.
    pub async fn start_job(&self, asked: &JobRequest) -> Result<JobForm> {
        let request = self.request(Method::POST, ["v1", "jobs"])?.json(asked)?;
        Conditions::default().on(request)?.read().await
    }

    /// Returns a job once it has ended, or after a time: at most 30 s.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such job.
    pub async fn job(&self, id: &str, wait: Duration) -> Result<JobForm> {
        let request = self.request(Method::GET, ["v1", "jobs", id])?;
        let request = request.query("wait", Some(wait.as_secs()));
        request.retry(RetryRule::Always).read().await
    }

    /// Asks a job to end.
    ///
    /// # Errors
    ///
    /// `NotFound`: there is no such job.
    pub async fn cancel_job(&self, id: &str) -> Result<JobForm> {
        let request = self.request(Method::DELETE, ["v1", "jobs", id])?;
        request.retry(RetryRule::Unreached).read().await
    }

    /// Returns an ended job that is done.
    ///
    /// # Errors
    ///
    /// The error of a job that failed or was cancelled.
    pub fn finished(&self, mut job: JobForm) -> Result<JobForm> {
        match (job.state, job.error.take()) {
            (JobState::Failed | JobState::Cancelled, Some(problem)) => {
                Err(Error::of_problem(&format!("job {}", job.id), problem))
            }
            _ => Ok(job),
        }
    }
}
