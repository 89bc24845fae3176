//! Blame: the event that set a part of a state.

use axum::Extension;
use axum::Json;
use axum::extract::State;
use milepost_api::ReadProblems;
use milepost_service::Seen;
use milepost_service::forms;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::budget::Shares;
use crate::error::ApiError;
use crate::etag::{Known, Tagged};
use crate::extract::{PathName, Query};
use crate::forms::BlamedForm;
use crate::states;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(blame))
}

/// The part to look up, and whether to include its history.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct BlameQuery {
    /// The part, as a JSON pointer (RFC 6901).
    pointer: String,
    /// Return every event that changed the part, not only the last.
    #[serde(default)]
    history: bool,
}

/// Returns the last event that set a part of the state at a point, or all events that changed it.
#[utoipa::path(
    get,
    path = "/v1/points/{address}/blame",
    operation_id = "blame",
    tag = "points",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        BlameQuery,
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (status = 200, body = BlamedForm, headers(("ETag" = String, description = "By the hash \
            there"))),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn blame(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    Extension(shares): Extension<Shares>,
    PathName(address): PathName,
    Query(query): Query<BlameQuery>,
) -> Result<Tagged<Json<BlamedForm>>, ApiError> {
    let at = address.clone();
    let point = app.view(&caller, move |view| Ok(view.point(&at)?)).await?;
    // Reserves the memory of two states: the one before and the one after a change.
    drop(states::two(&app, &shares, &caller, [point.clone(), point]).await?);
    app.long_view(&caller, move |view| {
        let seen = Seen::at(view, &address)?;
        let tag = seen.tag.clone().erased(view.erased(&seen.point)?);
        Tagged::unless(&known, tag, || {
            let blamed = view.blame(&seen.point, &query.pointer, query.history)?;
            Ok(Json(forms::blamed(&seen.point.task, &query.pointer, blamed)))
        })
    })
    .await
}
