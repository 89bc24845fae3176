//! A search in all tasks.

use axum::Json;
use axum::extract::State;
use milepost_api::ListProblems;
use milepost_service::operations::page_size;
use milepost_service::reader::{EventSearch, HitsAsked};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::Query;
use crate::forms::HitsForm;

/// Default and maximum numbers of hits.
const HITS: (usize, usize) = (100, 1000);

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(search))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct HitsQuery {
    /// A text in the JSON of the event. Case does not count.
    text: Option<String>,
    /// Only events of these kinds, separated by commas: `message,step_finished`. Default: all.
    kind: Option<String>,
    /// Only calls and steps that failed.
    #[serde(default)]
    failed: bool,
    /// The owner of the tasks, for admins. Default: all that the caller may see.
    user: Option<String>,
    /// The maximum number of hits: 1 to 1,000, default 100.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// The `next` of the previous page.
    cursor: Option<String>,
}

/// Searches the events of all tasks, the newest task first. A page may have few hits, or none, and
/// still a `next`: the search stopped to answer.
#[utoipa::path(
    get,
    path = "/v1/search",
    operation_id = "search",
    tag = "readings",
    params(HitsQuery),
    responses((status = 200, body = HitsForm), ListProblems),
)]
async fn search(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<HitsQuery>,
) -> Result<Json<HitsForm>, ApiError> {
    let search = EventSearch::default().kinds(query.kind.as_deref())?;
    let search = search.text(query.text.as_deref()).failed(query.failed);
    if search.takes_all() {
        let text = "a search has a `text`, a `kind`, or `failed=true`";
        return Err(ApiError::Invalid(text.into()));
    }
    let asked = HitsAsked {
        user: caller.asks_about(query.user)?,
        limit: page_size(query.limit, HITS.0, HITS.1)?,
        cursor: query.cursor,
        search,
    };
    let reader = app.reader();
    app.long_view(&caller, move |view| Ok(Json(reader.hits(view, &asked)?))).await
}
