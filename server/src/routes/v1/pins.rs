//! Pinned checkpoints.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use milepost_service::operations;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, ReadProblems, WriteProblems};
use crate::extract::{Nothing, OptionalJson, PathName, Query};
use crate::forms::{Listed, PinAsked, PinForm};
use crate::write_context::WriteContext;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(pins)).routes(routes!(pin, unpin))
}

/// Lists all pinned checkpoints of a task.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/pins",
    operation_id = "pins",
    tag = "checkpoints",
    params(("task" = String, Path, description = "The task's id")),
    responses(
        (status = 200, body = Listed<PinForm>),
        ReadProblems,
    ),
)]
async fn pins(
    State(app): State<App>,
    caller: Caller,
    PathName(task): PathName,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Json<Listed<PinForm>>, ApiError> {
    let items = app.view(&caller, move |view| Ok(operations::pins(view, &task)?)).await?;
    Ok(Json(Listed { items, next: None }))
}

/// Pins a checkpoint: no cleanup removes it or the events it needs.
#[utoipa::path(
    put,
    path = "/v1/checkpoints/{id}/pin",
    operation_id = "pin",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The checkpoint's id, or a unique prefix of 8 or \
        more digits")),
    request_body = Option<PinAsked>,
    responses(
        (status = 200, body = PinForm),
        WriteProblems,
    ),
)]
async fn pin(
    State(app): State<App>,
    context: WriteContext,
    PathName(id): PathName,
    OptionalJson(asked): OptionalJson<PinAsked>,
) -> Result<Json<PinForm>, ApiError> {
    let caller = context.unconditional()?.caller;
    app.view(&caller, move |view| match operations::pin(view, &id, asked.reason.as_deref())? {
        Some(pin) => Ok(Json(pin)),
        None => {
            let id = view.checkpoint(&id)?.id;
            let text = format!("the pin of {id} was removed by another command");
            Err(ApiError::NotFound(text))
        }
    })
    .await
}

/// Removes the pin of a checkpoint, if there is one.
#[utoipa::path(
    delete,
    path = "/v1/checkpoints/{id}/pin",
    operation_id = "unpin",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The checkpoint's id, or a unique prefix of 8 or \
        more digits")),
    responses(
        (status = 204, description = "It is not pinned"),
        ReadProblems,
        (status = 503),
    ),
)]
async fn unpin(
    State(app): State<App>,
    context: WriteContext,
    PathName(id): PathName,
) -> Result<StatusCode, ApiError> {
    let caller = context.unconditional()?.caller;
    app.view(&caller, move |view| Ok(view.unpin(&id)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}
