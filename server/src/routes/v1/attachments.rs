//! Data attached to checkpoints by their aliases.

use axum::Json;
use axum::extract::State;
use milepost_api::{AttachAsked, AttachedForm, WriteProblems};
use milepost_service::forms;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{PathName, Required};
use crate::write_context::WriteContext;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(attach))
}

/// Attaches data to the checkpoint that has an alias, whether it is marked already or later. An
/// attachment whose writer and index are there already is left out.
#[utoipa::path(
    post,
    path = "/v1/tasks/{task}/attachments",
    operation_id = "attach",
    tag = "checkpoints",
    params(("task" = String, Path, description = "The task's id")),
    request_body = AttachAsked,
    responses(
        (status = 200, body = AttachedForm),
        WriteProblems,
    ),
)]
async fn attach(
    State(app): State<App>,
    context: WriteContext,
    PathName(task): PathName,
    Required(asked): Required<AttachAsked>,
) -> Result<Json<AttachedForm>, ApiError> {
    let caller = context.unconditional()?.caller;
    app.view(&caller, move |view| {
        let attachments = asked.attachments.into_iter().map(forms::to_attachment);
        let added = view.task(&task)?.attach(&asked.alias, attachments)?;
        Ok(Json(AttachedForm { added }))
    })
    .await
}
