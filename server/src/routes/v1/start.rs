//! Start and deletion of tasks.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use milepost::Engine;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{PathName, Required};
use crate::forms::{TaskForm, TaskGiven, location};
use crate::write_context::WriteContext;
use milepost_api::ListProblems;
use milepost_service::{View, forms};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(start)).routes(routes!(delete))
}

/// Starts a task, or copies one.
#[utoipa::path(
    post,
    path = "/v1/tasks",
    operation_id = "start_task",
    tag = "tasks",
    params(("Idempotency-Key" = Option<String>, Header, description = "Started once under this \
        key")),
    request_body = TaskGiven,
    responses(
        (status = 201, body = TaskForm, headers(("Location" = String, description = "Its path"))),
        ListProblems,
        (status = 404, description = "There is no task to copy"),
        (status = 409, description = "There is one of this id, whosever it is"),
        (status = 413),
        (status = 415),
        (status = 503),
    ),
)]
async fn start(
    State(app): State<App>,
    context: WriteContext,
    Required(given): Required<TaskGiven>,
) -> Result<impl IntoResponse, ApiError> {
    let context = context.onto_any_head()?;
    let caller = context.caller.clone();
    let user = given.user.clone();
    let user = user.unwrap_or_else(|| caller.user.to_string());
    if user != *caller.user {
        caller.is_admin("tasks of others are started by admins: leave `user` out")?;
    }
    if given.copy_of.is_some() && given.initial.is_some() {
        return Err(ApiError::Invalid(
            "a copy has the state of its original, not `initial`".into(),
        ));
    }
    let at = location("/v1/tasks", &given.id);
    let counted = CountedStart::count(&app, &caller, &user).await?;
    let is_copy = given.copy_of.is_some();
    let work = move |view: &View<'_>| {
        // An existing task was started under the same key, or is a conflict.
        let is_new = view.task(&given.id).is_err();
        if is_new && counted.is_none() {
            return Err(ApiError::Forbidden(
                "the user has as many tasks as a user may have (`limits.tasks`): delete some",
            ));
        }
        let view = view.under(context.conditions());
        let task = match &given.copy_of {
            Some(original) => view.copy_task(original, &given.id, &user),
            None => view.start_task(&given.id, &user, given.initial),
        }?;
        // Counted before the task is read: it exists even if the read fails.
        if let Some(counted) = counted.filter(|_| is_new) {
            counted.keep();
        }
        Ok(forms::task(task.info()?))
    };
    let form = match is_copy {
        true => app.long_view(&caller, work).await?,
        false => app.view(&caller, work).await?,
    };
    Ok((StatusCode::CREATED, [(header::LOCATION, at)], Json(form)))
}

/// A counted start of a task. Dropping it uncounts the task unless `keep` was called.
struct CountedStart {
    app: App,
    user: Option<String>,
}

impl CountedStart {
    /// Counts a task that a user starts. Returns `None` if the user has reached the limit. Admins
    /// have no limit, for themselves and for others.
    async fn count(app: &App, caller: &Caller, user: &str) -> Result<Option<Self>, ApiError> {
        let limited = caller.sees().is_some();
        let most = if limited { app.options.tasks } else { u64::MAX };
        let mut fits = app.quotas.starts(user, most);
        if fits.is_none() && limited {
            let of_user = user.to_owned();
            let count = move |engine: &Engine| Ok(engine.query().task_stats(Some(&of_user))?.len());
            let tasks = app.long_work(caller.of_token(), count).await?;
            app.quotas.has(user, tasks as u64);
            fits = app.quotas.starts(user, most);
        }
        if fits == Some(false) {
            return Ok(None);
        }
        let (app, user) = (app.clone(), fits.map(|_| user.to_owned()));
        Ok(Some(Self { app, user }))
    }

    fn keep(mut self) {
        self.user = None;
    }
}

impl Drop for CountedStart {
    fn drop(&mut self) {
        if let Some(user) = &self.user {
            self.app.quotas.ends(user);
        }
    }
}

/// Deletes a task permanently.
#[utoipa::path(
    delete,
    path = "/v1/tasks/{task}",
    operation_id = "delete_task",
    tag = "tasks",
    params(("task" = String, Path, description = "The task's id")),
    responses(
        (status = 204, description = "It is deleted"),
        (status = 401),
        (status = 404),
        (status = 503, description = "The store cannot answer, or a restore of it has not ended"),
    ),
)]
async fn delete(
    State(app): State<App>,
    context: WriteContext,
    PathName(task): PathName,
) -> Result<StatusCode, ApiError> {
    let caller = context.unconditional()?.caller;
    let quotas = app.clone();
    app.view(&caller, move |view| {
        let owner = view.task(&task).map(|task| task.user().to_owned());
        view.delete_task(&task)?;
        owner.iter().for_each(|user| quotas.quotas.ends(user));
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}
