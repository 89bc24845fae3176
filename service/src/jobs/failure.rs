//! Failures and their remedies.

use milepost::{Detail, Error, ErrorKind};
use milepost_api::{JobResult, Remedy};

/// The result of a part of a job.
pub type Result<T, E = JobFailure> = std::result::Result<T, E>;

/// The failure of a job.
#[derive(Debug)]
pub struct JobFailure {
    /// The error.
    pub error: Error,
    /// The next step, if it adds something to the error.
    pub remedy: Option<Remedy>,
    /// The part of the result that explains the failure, such as a plan with conflicts.
    pub result: Option<Box<JobResult>>,
}

impl JobFailure {
    /// Creates a failure of a kind, with a text for people.
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Error::new(kind, text.into()).into()
    }

    /// Sets the next step.
    #[must_use]
    pub(crate) fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// Adds the part of the result that explains the failure.
    #[must_use]
    pub(crate) fn result(mut self, result: JobResult) -> Self {
        self.result = Some(Box::new(result));
        self
    }
}

impl From<Error> for JobFailure {
    fn from(error: Error) -> Self {
        let remedy = match error.detail() {
            Some(Detail::Pending { task, .. }) => Some(Remedy::Recover { task: task.clone() }),
            _ => None,
        };
        Self { error, remedy, result: None }
    }
}

impl std::fmt::Display for JobFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for JobFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
