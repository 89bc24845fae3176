//! Branches: lineages that open at a point and do not become active.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use milepost_api::service;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::error::{ApiError, WriteProblems};
use crate::extract::{OptionalJson, PathName};
use crate::forms::{BranchAsked, LineageForm};
use crate::write_context::WriteContext;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(branch))
}

/// Opens a new lineage at a point. The active lineage stays the same.
#[utoipa::path(
    post,
    path = "/v1/points/{address}/branch",
    operation_id = "branch",
    tag = "points",
    params(("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`")),
    request_body = Option<BranchAsked>,
    responses(
        (status = 201, description = "The new lineage", body = LineageForm),
        WriteProblems,
        (status = 500, description = "What is before the point is damaged"),
        (status = 503, description = "The store cannot answer, or a restore of the task has not \
            ended"),
    ),
)]
async fn branch(
    State(app): State<App>,
    context: WriteContext,
    PathName(address): PathName,
    OptionalJson(asked): OptionalJson<BranchAsked>,
) -> Result<(StatusCode, Json<LineageForm>), ApiError> {
    let caller = context.unconditional()?.caller;
    app.view(&caller, move |view| {
        let point = view.point(&address)?;
        let opened = service::branch(view, &point, asked.description.as_deref())?;
        Ok((StatusCode::CREATED, Json(opened)))
    })
    .await
}
