//! Checkpoints.

use axum::Json;
use axum::extract::State;
use milepost_api::ReadProblems;
use milepost_service::forms;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::etag::{Known, Tag, Tagged};
use crate::extract::{Nothing, PathName, Query};
use crate::forms::CheckpointForm;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(one))
}

/// Returns a checkpoint by its id, or by a unique prefix of 8 or more digits.
#[utoipa::path(
    get,
    path = "/v1/checkpoints/{id}",
    operation_id = "checkpoint",
    tag = "checkpoints",
    params(
        ("id" = String, Path, description = "Its id, or 8 or more digits of its beginning"),
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (status = 200, body = CheckpointForm, headers(("ETag" = String, description = "Its id"))),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn one(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    PathName(id): PathName,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Tagged<Json<CheckpointForm>>, ApiError> {
    app.view(&caller, move |view| {
        let checkpoint = view.checkpoint(&id)?;
        Tagged::unless(&known, Tag::new(checkpoint.id), || Ok(Json(forms::checkpoint(checkpoint))))
    })
    .await
}
