//! Runs jobs on threads of their own.

use std::sync::Arc;

use crate::app::App;
use crate::error::{ApiError, bug};
use crate::jobs::{ApiJobFailure, Job, JobStart};
use crate::request_scope::RequestContext;

impl App {
    /// Starts a job, unless an earlier request with the same key did.
    pub(crate) fn start_job(&self, request: JobStart) -> Result<Arc<Job>, ApiError> {
        let (job, is_new) = self.jobs.add(&request, self.now_us())?;
        if !is_new {
            return Ok(job);
        }
        let JobStart { asked, user, id, .. } = request;
        let (app, started, context) = (self.clone(), Arc::clone(&job), RequestContext::now());
        let work = {
            let (app, job) = (app.clone(), Arc::clone(&job));
            move || {
                let engine = app.engine().with_cancel(&job.cancel);
                let engine = RequestContext::engine(context.as_ref(), &engine);
                milepost_service::jobs::run(&engine, &asked, &user, &*job)
            }
        };
        tokio::spawn(async move {
            let done = tokio::task::spawn_blocking(work).await;
            let done = match done {
                Ok(done) => done.map_err(ApiJobFailure::from),
                Err(panic) => {
                    bug(&id, panic);
                    let (remedy, result) = (None, None);
                    Err(ApiJobFailure { error: ApiError::Bug, is_given_up: false, remedy, result })
                }
            };
            started.end(done, &id, app.now_us());
        });
        Ok(job)
    }
}
