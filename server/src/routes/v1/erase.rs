//! Erasure of an event's body.

use axum::Json;
use axum::extract::State;
use milepost_api::WriteProblems;
use milepost_service::forms;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{OptionalJson, PathName};
use crate::forms::{EraseAsked, ErasedForm};
use crate::write_context::WriteContext;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(erase))
}

/// Erases the body of the event at a point permanently. Kind, time, actor, key and hash are kept.
#[utoipa::path(
    post,
    path = "/v1/points/{address}/erase",
    operation_id = "erase",
    tag = "points",
    params(("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`")),
    request_body = Option<EraseAsked>,
    responses(
        (status = 200, description = "Also where it had been erased before: `was_erased` says \
            so", body = ErasedForm),
        WriteProblems,
        (status = 409, description = "It goes with its lineage only"),
    ),
)]
async fn erase(
    State(app): State<App>,
    context: WriteContext,
    PathName(address): PathName,
    OptionalJson(asked): OptionalJson<EraseAsked>,
) -> Result<Json<ErasedForm>, ApiError> {
    let caller = context.unconditional()?.caller;
    app.view(&caller, move |view| {
        let point = view.point(&address)?;
        let event = forms::event(view.event(&point)?.0);
        let erased = ErasedForm::of(&point.task, event);
        if !erased.was_erased {
            view.erase(&point, asked.reason.as_deref())?;
        }
        Ok(Json(erased))
    })
    .await
}
