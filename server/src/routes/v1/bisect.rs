//! Bisect: the first event after which a condition holds.

use axum::Extension;
use axum::Json;
use axum::extract::State;
use milepost::query::Condition;
use milepost_api::ReadProblems;
use milepost_service::Seen;
use milepost_service::operations;
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
use crate::forms::BisectedForm;
use crate::states;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(bisect))
}

/// The condition, and where it does not hold yet.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct BisectQuery {
    /// The condition, as of `milepost bisect --when`: `/variables/score < 0.5`.
    when: String,
    /// The address of a point before, where it does not hold. Default: the beginning of the
    /// history.
    good: Option<String>,
}

/// Searches for the first event after which a condition holds. If it holds at the point, a few
/// states of the history are read, and the event is right if the condition holds from there on;
/// otherwise every event up to the point is looked at.
#[utoipa::path(
    get,
    path = "/v1/points/{address}/bisect",
    operation_id = "bisect",
    tag = "readings",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        BisectQuery,
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (status = 200, body = BisectedForm, headers(("ETag" = String, description = "By the hash \
            there"))),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn bisect(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    Extension(shares): Extension<Shares>,
    PathName(address): PathName,
    Query(query): Query<BisectQuery>,
) -> Result<Tagged<Json<BisectedForm>>, ApiError> {
    let condition = query.when.parse::<Condition>()?;
    let at = address.clone();
    let point = app.view(&caller, move |view| Ok(view.point(&at)?)).await?;
    // Reserves the memory of two states: the one before and the one after the event.
    drop(states::two(&app, &shares, &caller, [point.clone(), point]).await?);
    app.long_view(&caller, move |view| {
        let seen = Seen::at(view, &address)?;
        let good = query.good.as_deref().map(|good| view.point(good)).transpose()?;
        let tag = seen.tag.clone().erased(view.erased(&seen.point)?);
        let tag = tag.and(blake3::hash(query.when.as_bytes()).to_hex());
        let tag = good.iter().fold(tag, |tag, good| tag.and(good.lineage).and(good.offset));
        Tagged::unless(&known, tag, || {
            let bisected = operations::bisect(view, good.as_ref(), &seen.point, &condition)?;
            Ok(Json(bisected))
        })
    })
    .await
}
