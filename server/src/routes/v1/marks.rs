//! Marking and unmarking checkpoints.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use milepost::Mark;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::append_task::Target;
use crate::error::{ApiError, ReadProblems, WriteProblems};
use crate::extract::{PathName, Required};
use crate::forms::{CheckpointForm, CheckpointGiven, location};
use crate::write_context::{WriteContext, refused};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(mark)).routes(routes!(unmark))
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
        let mark = Mark::from(given).correlation(context.correlation());
        context.during(|| task.checkpoint(mark)).map_err(refused)
    });
    let marked = marked.await?;
    let at = location("/v1/checkpoints", &marked.id.to_string());
    let form = CheckpointForm::from(marked);
    Ok((StatusCode::CREATED, [(header::LOCATION, at)], Json(form)))
}

/// Removes a checkpoint's mark. Its events stay until a cleanup finds them unneeded.
#[utoipa::path(
    delete,
    path = "/v1/checkpoints/{id}",
    operation_id = "unmark",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The checkpoint's id, or a unique prefix of 8 or \
        more digits")),
    responses(
        (status = 204, description = "It is taken away"),
        ReadProblems,
        (status = 409, description = "It is pinned"),
        (status = 503),
    ),
)]
async fn unmark(
    State(app): State<App>,
    context: WriteContext,
    PathName(id): PathName,
) -> Result<StatusCode, ApiError> {
    let caller = context.unconditional()?.caller;
    app.view(&caller, move |view| Ok(view.unmark(&id)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}
