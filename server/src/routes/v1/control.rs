//! Run control, guidance and artifacts.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use milepost::events::{ArtifactsEdited, ControlChanged, RunControl};
use milepost::state::transition;
use milepost::{Appended, ErrorKind, Json, Task};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::append::created;
use crate::app::App;
use crate::append_task::{self, Target};
use crate::error::ApiError;
use crate::extract::{PathName, Required};
use crate::forms::{AppendedForm, ControlAsked, ControlForm, Fields, GuidanceAsked};
use crate::write_context::{WriteContext, answer, refused};
use milepost_api::WriteProblems;
use milepost_service::{View, forms};

/// Maximum tries of a change of control while other requests change it.
const TRIES: usize = 8;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(control))
        .routes(routes!(guidance))
        .routes(routes!(artifacts))
}

/// Begins, pauses, resumes, stops or ends a run.
#[utoipa::path(
    post,
    path = "/v1/tasks/{task}/control",
    operation_id = "control",
    tag = "runs",
    params(
        ("task" = String, Path, description = "The task's id"),
        ("If-Match" = Option<String>, Header, description = "The expected head, as in \"12\""),
        ("Idempotency-Key" = Option<String>, Header, description = "With the same key it is \
            changed once"),
    ),
    request_body = ControlAsked,
    responses(
        (status = 200, body = ControlForm, headers(("ETag" = String, description = "The new head, \
            as `If-Match` takes it"))),
        WriteProblems,
        (status = 409, description = "There is no such change, or the key was used for other \
            events"),
        (status = 412, description = "The head is another one"),
    ),
)]
async fn control(
    State(app): State<App>,
    context: WriteContext,
    PathName(task): PathName,
    Required(given): Required<ControlAsked>,
) -> Result<Response, ApiError> {
    let (control, caller) = (given.to, context.caller.clone());
    let checkpoints = app.options.checkpoints.clone();
    let change = move |view: &View<'_>| {
        let task = view.task(&task)?;
        if let Some(checkpoints) = checkpoints {
            checkpoints.watch(&task);
        }
        change(&task, &context, &given)
    };
    let changed = app.view(&caller, change).await?;
    let repeated = changed.repeated;
    Ok(answer(StatusCode::OK, &changed, ControlForm { control, repeated }))
}

/// Changes the control from its current value, or returns the change already made under the key.
fn change(task: &Task, context: &WriteContext, given: &ControlAsked) -> Result<Appended, ApiError> {
    let append = |from| {
        let (to, reason) = (given.to, given.reason.clone());
        context.append(task, ControlChanged { from, to, reason }.into())
    };
    for _ in 0..TRIES {
        if is_used(task, context)? {
            return repeated(append);
        }
        let from = task.control()?;
        if let Err(error) = transition(from, given.to) {
            // A duplicate of this request may have been first.
            match is_used(task, context)? {
                true => continue,
                false => return Err(ApiError::conflict(error.to_string())),
            }
        }
        match append(from) {
            // Another request changed the control in between: try again.
            Err(error) if error.kind() == ErrorKind::Invalid && task.control()? != from => {}
            done => return done.map_err(refused),
        }
    }
    Err(ApiError::conflict("others change the control all the time: ask again"))
}

/// Returns true if an append with the request's key exists.
fn is_used(task: &Task, context: &WriteContext) -> Result<bool, ApiError> {
    match &context.key {
        Some(key) => Ok(task.lineage().appended_under(key)?.is_some()),
        None => Ok(false),
    }
}

/// Returns the result of the append with the same key. The control before it is unknown, so each
/// value is tried.
fn repeated(
    append: impl Fn(RunControl) -> milepost::Result<Appended>,
) -> Result<Appended, ApiError> {
    use RunControl::{Idle, Paused, Running, Stopped};
    for from in [Idle, Running, Paused] {
        match append(from) {
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            done => return done.map_err(refused),
        }
    }
    append(Stopped).map_err(refused)
}

/// Gives guidance.
#[utoipa::path(
    post,
    path = "/v1/tasks/{task}/guidance",
    operation_id = "guide",
    tag = "runs",
    params(
        ("task" = String, Path, description = "The task's id"),
        ("If-Match" = Option<String>, Header, description = "The expected head, as in \"12\""),
        ("Idempotency-Key" = Option<String>, Header, description = "With the same key it is given \
            once"),
    ),
    request_body = GuidanceAsked,
    responses(
        (status = 200, description = "It had been given before, under the same \
            key", body = AppendedForm),
        (status = 201, body = AppendedForm, headers(("ETag" = String, description = "The new head, \
            as `If-Match` takes it"))),
        WriteProblems,
        (status = 409, description = "The key was used for other events"),
        (status = 412, description = "The head is another one"),
    ),
)]
async fn guidance(
    State(app): State<App>,
    context: WriteContext,
    PathName(task): PathName,
    Required(given): Required<GuidanceAsked>,
) -> Result<Response, ApiError> {
    let size = given.text.len() + given.target.as_ref().map_or(0, String::len);
    let given = move || Ok(forms::guidance(given)?.into());
    let appended =
        append_task::append(&app, context, Target::of(task), size, given).await?.appended;
    let form = forms::appended(&appended);
    Ok(answer(created(&appended), &appended, form))
}

/// Sets artifacts, and removes those whose value is `null`. A value replaces the old one.
#[utoipa::path(
    patch,
    path = "/v1/tasks/{task}/artifacts",
    operation_id = "edit_artifacts",
    tag = "runs",
    params(
        ("task" = String, Path, description = "The task's id"),
        ("If-Match" = Option<String>, Header, description = "The expected head, as in \"12\""),
        ("Idempotency-Key" = Option<String>, Header, description = "With the same key they are \
            edited once"),
    ),
    request_body(content = Object, description = "New values by name"),
    responses(
        (status = 200, body = AppendedForm, headers(("ETag" = String, description = "The new head, \
            as `If-Match` takes it"))),
        WriteProblems,
        (status = 409, description = "The key was used for other events"),
        (status = 412, description = "The head is another one"),
    ),
)]
async fn artifacts(
    State(app): State<App>,
    context: WriteContext,
    PathName(task): PathName,
    Required(Fields(artifacts)): Required<Fields<Json>>,
) -> Result<Response, ApiError> {
    if artifacts.is_empty() {
        return Err(ApiError::Invalid("no artifact is named".into()));
    }
    let size = artifacts.iter().map(|(name, value)| name.len() + value.text().len());
    let size = size.sum();
    let edited = move || Ok(ArtifactsEdited { artifacts }.into());
    let appended =
        append_task::append(&app, context, Target::of(task), size, edited).await?.appended;
    let form = forms::appended(&appended);
    Ok(answer(StatusCode::OK, &appended, form))
}
