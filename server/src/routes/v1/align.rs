//! Two histories, turn by turn.

use axum::Json;
use axum::extract::State;
use milepost::reading::AlignOptions;
use milepost_api::ReadProblems;
use milepost_service::operations::page_size;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::points::Seen;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::etag::{Known, Tagged};
use crate::extract::{PathName, Query};
use crate::forms::{AlignmentForm, Big};

/// Default and maximum numbers of lines.
const LINES: (usize, usize) = (100, 1000);

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(align))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AlignQuery {
    /// The first line. Default: 0.
    from: Option<Big>,
    /// The maximum number of lines: 1 to 1,000, default 100.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Compare what was said also in turns with calls.
    #[serde(default)]
    texts: bool,
}

/// Aligns the turns of the histories before two points.
#[utoipa::path(
    get,
    path = "/v1/points/{address}/align/{other}",
    operation_id = "align",
    tag = "readings",
    params(
        ("address" = String, Path, description = "An address, as one segment: `essay%2F3@12`"),
        ("other" = String, Path, description = "Another address, of any task"),
        AlignQuery,
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (status = 200, body = AlignmentForm, headers(("ETag" = String, description = "By the \
            hashes of both"))),
        (status = 304, description = "It is known"),
        ReadProblems,
    ),
)]
async fn align(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    PathName((a, b)): PathName<(String, String)>,
    Query(query): Query<AlignQuery>,
) -> Result<Tagged<Json<AlignmentForm>>, ApiError> {
    let limit = page_size(query.limit, LINES.0, LINES.1)?;
    let from = query.from.unwrap_or_default().0;
    let reader = app.reader();
    app.long_view(&caller, move |view| {
        let (a, b) = (Seen::at(view, &a)?, Seen::at(view, &b)?);
        let erased = (view.erased(&a.point)?, view.erased(&b.point)?);
        let tag = a.tag.clone().and(b.hash).and(b.point.lineage);
        let a = (view.task(&a.point.task)?, a.point.clone());
        let b = (view.task(&b.point.task)?, b.point.clone());
        // Turns have the ids of checkpoints, which may be removed.
        let tag = tag.and(a.0.controls()?.hash).and(b.0.controls()?.hash);
        let tag = tag.and(from).and(limit).and(query.texts);
        let tag = tag.erased(erased.0).erased(erased.1);
        Tagged::unless(&known, tag, || {
            let options = AlignOptions { texts: query.texts };
            Ok(Json(reader.align([&a, &b], options, (from, limit))?))
        })
    })
    .await
}
