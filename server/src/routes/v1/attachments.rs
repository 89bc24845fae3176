//! Data attached to checkpoints by their aliases.

use axum::Json;
use axum::extract::State;
use milepost_api::{AttachAsked, AttachedForm, AttachmentForm, ReadProblems, WriteProblems};
use milepost_service::forms;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{PathName, Query, Required};
use crate::forms::Listed;
use crate::write_context::WriteContext;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(attached, attach))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AliasQuery {
    /// An alias of the checkpoint.
    alias: String,
}

/// Lists the data that is attached by an alias, in the order in which its keys were first used.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/attachments",
    operation_id = "attachments",
    tag = "checkpoints",
    params(("task" = String, Path, description = "The task's id"), AliasQuery),
    responses(
        (status = 200, body = Listed<AttachmentForm>),
        ReadProblems,
    ),
)]
async fn attached(
    State(app): State<App>,
    caller: Caller,
    PathName(task): PathName,
    Query(query): Query<AliasQuery>,
) -> Result<Json<Listed<AttachmentForm>>, ApiError> {
    let attached = app.view(&caller, move |view| Ok(view.task(&task)?.attached(&query.alias)?));
    let items = attached.await?;
    Ok(Json(Listed { items: items.into_iter().map(forms::attachment).collect(), next: None }))
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
