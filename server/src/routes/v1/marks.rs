//! Marking and unmarking checkpoints.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use milepost_api::WriteProblems;
use milepost_service::forms;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::append_task::Target;
use crate::error::ApiError;
use crate::extract::{PathName, Required};
use crate::forms::{CheckpointForm, CheckpointGiven, location};
use crate::write_context::{WriteContext, refused};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(mark))
}

/// Marks a checkpoint.
#[utoipa::path(
    post,
    path = "/v1/tasks/{task}/checkpoints",
    operation_id = "mark",
    tag = "checkpoints",
    params(
        ("task" = String, Path, description = "The task's id"),
        ("If-Match" = Option<String>, Header, description = "The expected head, in quotes"),
        ("Idempotency-Key" = Option<String>, Header, description = "Marked once under this key"),
    ),
    request_body = CheckpointGiven,
    responses(
        (status = 201, body = CheckpointForm, headers(("Location" = String, description = "Its \
            path"))),
        WriteProblems,
        (status = 409, description = "The active lineage changed, or the key was used for \
            something else"),
        (status = 412, description = "The head is elsewhere"),
    ),
)]
async fn mark(
    State(app): State<App>,
    context: WriteContext,
    PathName(task): PathName,
    Required(given): Required<CheckpointGiven>,
) -> Result<impl IntoResponse, ApiError> {
    let caller = context.caller.clone();
    let marked = app.view(&caller, move |view| {
        let task = Target { lineage: given.lineage, ..Target::of(task) }.look_up(view)?;
        let mark = forms::mark_at(given).correlation(context.correlation());
        task.checkpoint(mark.conditions(context.conditions())).map_err(refused)
    });
    let marked = marked.await?;
    let at = location("/v1/checkpoints", &marked.id.to_string());
    let form = forms::checkpoint(marked);
    Ok((StatusCode::CREATED, [(header::LOCATION, at)], Json(form)))
}
