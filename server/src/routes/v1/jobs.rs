//! Jobs, for admins.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use milepost_api::{JobForm, JobRequest, ListProblems, ReadProblems, WriteProblems};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{Nothing, PathName, Query, Required};
use crate::forms::{Listed, location};
use crate::jobs::JobStart;
use crate::request_scope::OF_PAGE;
use crate::write_context::WriteContext;

/// Error for callers who are no admins.
const ADMIN: &str = "jobs are for admins";

/// Error for jobs with a folder that come from elsewhere.
const FOLDERS: &str = "a folder belongs to a machine: jobs with one are for programs at the \
    store's own socket";

/// The maximum wait for the end of a job, in seconds.
const WAIT_MAX: u64 = 30;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(jobs, start_job)).routes(routes!(job, cancel_job))
}

/// Returns the running jobs and those that ended lately, newest first.
#[utoipa::path(
    get,
    path = "/v1/jobs",
    operation_id = "jobs",
    tag = "jobs",
    responses((status = 200, body = Listed<JobForm>), ListProblems),
)]
async fn jobs(
    State(app): State<App>,
    caller: Caller,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Json<Listed<JobForm>>, ApiError> {
    caller.is_admin(ADMIN)?;
    Ok(Json(Listed { items: app.jobs.list(app.now_us()), next: None }))
}

/// Starts a job: work that takes long, or that changes a folder. Answers at once.
#[utoipa::path(
    post,
    path = "/v1/jobs",
    operation_id = "start_job",
    tag = "jobs",
    params(("Idempotency-Key" = Option<String>, Header, description = "Started once under this \
        key, for as long as the job is kept")),
    request_body = JobRequest,
    responses(
        (status = 201, body = JobForm, headers(("Location" = String))),
        WriteProblems,
        (status = 403, description = "Jobs are for admins, and those with a folder for programs at \
            the store's socket"),
        (status = 409, description = "The key was used for another job"),
        (status = 429, description = "Too many jobs are running"),
    ),
)]
async fn start_job(
    State(app): State<App>,
    context: WriteContext,
    headers: HeaderMap,
    Required(asked): Required<JobRequest>,
) -> Result<Response, ApiError> {
    let context = context.onto_any_head()?;
    context.caller.is_admin(ADMIN)?;
    if asked.has_folder() && (!app.options.is_at_store || headers.contains_key(OF_PAGE)) {
        return Err(ApiError::Forbidden(FOLDERS));
    }
    let job = app.start_job(JobStart {
        asked,
        user: context.caller.user.clone(),
        id: context.correlation().to_owned(),
        key: context.conditions.key_given().map(str::to_owned),
    })?;
    let form = job.form();
    let location = location("/v1/jobs", &form.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(form)).into_response())
}

/// The wait for the end of a job.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Wait {
    /// Answer once the job has ended, or after this many seconds: at most 30. Default: 0.
    wait: Option<u64>,
}

/// Returns a job, now or once it has ended.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}",
    operation_id = "job",
    tag = "jobs",
    params(("id" = String, Path, description = "The job's id"), Wait),
    responses((status = 200, body = JobForm), ReadProblems),
)]
async fn job(
    State(app): State<App>,
    caller: Caller,
    PathName(id): PathName,
    Query(Wait { wait }): Query<Wait>,
) -> Result<Json<JobForm>, ApiError> {
    caller.is_admin(ADMIN)?;
    let job = app.jobs.find(&id)?;
    let wait = Duration::from_secs(wait.unwrap_or(0).min(WAIT_MAX));
    // The answer has to be there before the request times out.
    let wait = wait.min(app.options.request_timeout / 2);
    let _ = tokio::time::timeout(wait, job.ended()).await;
    Ok(Json(job.form()))
}

/// Asks a job to end. A restore that has begun to change files ends whole.
#[utoipa::path(
    delete,
    path = "/v1/jobs/{id}",
    operation_id = "cancel_job",
    tag = "jobs",
    params(("id" = String, Path, description = "The job's id")),
    responses((status = 202, body = JobForm), ReadProblems),
)]
async fn cancel_job(
    State(app): State<App>,
    context: WriteContext,
    PathName(id): PathName,
) -> Result<(StatusCode, Json<JobForm>), ApiError> {
    context.unconditional()?.caller.is_admin(ADMIN)?;
    let job = app.jobs.find(&id)?;
    job.cancel();
    Ok((StatusCode::ACCEPTED, Json(job.form())))
}
