//! Tasks are started and deleted.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::by::By;
use crate::forms::{Problem, TaskForm, location};
use crate::input::{Named, Required};
use crate::server::App;
use crate::view::View;
use crate::wrong::Wrong;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(start))
        .routes(routes!(delete))
}

/// A task to be started.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TaskGiven {
    /// 1 to 200 bytes, without control characters.
    #[serde(deserialize_with = "crate::read::text")]
    id: String,
    /// Whose it is, 1 to 200 bytes; one's own unless given. For admins where it is another.
    #[serde(default, deserialize_with = "crate::read::some_text")]
    user: Option<String>,
    /// The state that it begins with.
    #[schema(value_type = Option<Object>)]
    initial: Option<milepost::Json>,
}

/// Starts a task.
#[utoipa::path(
    post,
    path = "/v1/tasks",
    operation_id = "start_task",
    tag = "tasks",
    params(("Idempotency-Key" = Option<String>, Header, description = "Started once under this key")),
    request_body = TaskGiven,
    responses(
        (status = 201, body = TaskForm, headers(("Location" = String, description = "Its path"))),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "There is one of this id, whosever it is", body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn start(
    State(app): State<App>,
    by: By,
    Required(given): Required<TaskGiven>,
) -> Result<impl IntoResponse, Wrong> {
    let by = by.onto_any_head()?;
    let who = by.who.clone();
    let user = given.user.unwrap_or_else(|| who.user.to_string());
    if user != *who.user {
        who.is_admin("tasks of others are started by admins: leave `user` out")?;
    }
    let at = location("/v1/tasks", &given.id);
    let start = move |view: &View<'_>| {
        let task = view.start_task(&given.id, &user, given.initial)?;
        Ok(TaskForm::from(task.info()?))
    };
    let form = app
        .work(move |engine| by.during(|| start(&View::of(engine, &who))))
        .await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, at)], Json(form)))
}

/// Deletes a task, for good.
#[utoipa::path(
    delete,
    path = "/v1/tasks/{task}",
    operation_id = "delete_task",
    tag = "tasks",
    params(("task" = String, Path, description = "The task's id")),
    responses(
        (status = 204, description = "It is deleted"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The store cannot answer, or a restore of it has not ended", body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn delete(State(app): State<App>, by: By, Named(task): Named) -> Result<StatusCode, Wrong> {
    let who = by.unconditional()?.who;
    app.work(move |engine| Ok(View::of(engine, &who).delete_task(&task)?))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
